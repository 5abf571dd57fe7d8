"""Write the page of the forty turns.

``python -m tests.written.forty_turns`` plays them on the reference agent and rewrites ``docs/forty-turns.md``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memkit.equivalence.interface import Account
from memkit.equivalence.run import reference_accounts
from memkit.equivalence.transcript import FORTY_TURNS

from . import CHECKOUT

HEAD = """# Forty turns

A model that writes as real ones do talks with Vera, a nurse in Lisbon: it uses its own words, states several facts at
once and under labels, learns of mistakes late, calls tools that fail, and believes what a page says. It gives arguments
other systems' names and forms, repeats itself, quotes text that is not there, and cites ids that it made up.
[The script](../memkit/equivalence/transcript.yaml) is one part of the transcript that [every target](matrix.md) plays
against its vendor's protocol, with equal results; each turn is a separate process. This page is written from a run
(`python -m tests.written.forty_turns`), and a test checks that a run still shows it. `«…»` is the id of a text that
begins so.
"""
NOTES = {
    1: "A label before the user's own words leaves them theirs.",
    2: "Two facts told at once are two records, so turn 26 corrects one and leaves the other. Tags in one line are\n"
    "    a list, and what no agent may set (how sure it is) is ignored.",
    3: "What a model writes twice becomes one record.",
    4: "The store declares this section (`core.sections`); the agent may write it in its own words.",
    5: "An id that no record has is not a citation.",
    7: "The archive refuses what holds for one session only; working memory keeps it for a day.",
    11: "A late correction supersedes; the record before stays in the history.",
    16: "The failure is a step of the running task, and is in the prompt of the next turn.",
    19: "The task is judged once, with the lesson of its failed and repaired step.",
    21: "What the page steered is held back from core memory, and is a tainted candidate in the archive.",
    22: "The page left the prompt, but what was composed under it did not: the turn is still tainted.",
    23: "A search shows tainted records, and taints; the answer's sources name the page.",
    24: "So the policies ask for a person, and there is none.",
    26: "Only the id of a record can be superseded, not its words.",
    29: "The user's verdict on the last action is an outcome.",
    33: "It also moves the confidence of the record that the answer cited.",
    36: "What was taken back stays out, however it is stated again.",
    37: "A failing tool leaves an outcome, tainted by the tool's words that it quotes.",
    38: "If the old words are not there, nothing changes.",
}


def page_of(account: Account) -> str:
    """Return the page that one run of the forty turns shows."""
    return "\n".join([HEAD, *_turns(account), *_end(account)]) + "\n"


def _turns(account: Account) -> Iterator[str]:
    session = None
    for number, (turn, seen) in enumerate(zip(FORTY_TURNS.turns, account.turns, strict=True), 1):
        if turn.session != session:
            session = turn.session
            yield f"## {str(session).removeprefix('forty-').capitalize()}\n"
        yield f"{number}. **{_plain(turn.text)}**"
        for call in seen["tool_calls"]:
            told = ", ".join(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in call["args"].items())
            state = call["decision"] if call["decision"] in ("ask", "deny") else "failed" if call["error"] else ""
            yield f"    - `{call['name']}({told})`" + (f" ({state})" if state else "")
        reply = _plain(str(seen["message"]).replace("\n", " "))
        yield f"    - {reply}" + (" *(untrusted)*" if seen["trust"] == "untrusted" else "")
        if number in NOTES:
            yield f"\n    {NOTES[number]}"
        yield ""


def _end(account: Account) -> Iterator[str]:
    memory = account.memory
    yield "## What is left\n\nCore memory:\n"
    yield from (f"- {section}: {text}" for section, text in memory["core"]["vera"].items())
    yield "\n| record | type | state | trust | confidence | taint |\n|---|---|---|---|---|---|"
    for record in sorted(memory["records"], key=lambda one: (one["type"] == "outcome", one["status"], one["text"])):
        if record["type"] != "outcome":
            taint = ", ".join(record.get("taint", ())) or "none"
            cells = (record["text"], record["type"], record["status"], record["trust"], record["confidence"], taint)
            yield "| " + " | ".join(_plain(str(cell)) for cell in cells) + " |"
    yield "\n| action | outcome | lesson | taint |\n|---|---|---|---|"
    for record in memory["records"]:
        if record["type"] == "outcome":
            cells = (
                record["action"],
                record["outcome"],
                record["lesson"],
                ", ".join(record.get("taint", ())) or "none",
            )
            yield "| " + " | ".join(map(_plain, cells)) + " |"
    cited = [citation for seen in account.turns for citation in seen["citations"]]
    yield "\nCited: " + "; ".join(dict.fromkeys(cited)) + "."
    sources = {one["source_url"] for seen in account.turns for one in _sources(seen) if one["source_url"]}
    yield f"\nPages that answers name as their source: {', '.join(sorted(sources))}."
    yield f"\nMessages sent: {len(memory['outbox'])}."


def _sources(seen: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return list(seen["sources"])


def _plain(text: str) -> str:
    return re.sub(r"([|<>*_])", r"\\\1", text)


def write_forty_turns(out: Path) -> Path:
    """Play the turns, write the page and return its path."""
    path = out / "forty-turns.md"
    path.write_text(page_of(reference_accounts((FORTY_TURNS,))[FORTY_TURNS.name]), encoding="utf-8")
    return path


if __name__ == "__main__":
    write_forty_turns(CHECKOUT / "docs")
