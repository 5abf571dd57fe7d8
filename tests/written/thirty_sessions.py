"""Write the page of thirty sessions.

``python -m tests.written.thirty_sessions`` plays them with a scripted model and rewrites ``docs/thirty-sessions.md``.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from memkit.cli.main import run

from . import CHECKOUT

HEAD = """# Thirty sessions

Ada talks about her family and a project, in her own words, over thirty conversations; one of them is in German.
Lasting facts are drawn as each ends, by a scripted model that stands in for a real one ([rules](reference-model.md)
understand fewer wordings, and only English); rules read [relations](knowledge.md) from these facts, or the model states
them if the text is not English. Then she asks, corrects, looks, lets memory reflect on a branch, reviews and merges,
and erases one person. This page is written from a run (`python -m tests.written.thirty_sessions`), and a test checks
that a run still shows it. `…` stands for ids and times.
"""
Relations = Sequence[Mapping[str, str]]
Piece = str | tuple[str, Relations]
SAID: tuple[tuple[str, tuple[Piece, ...]], ...] = (
    ("Morning! My sister Anna called. She was born in Graz, you know, like our mother Helga.",
     ("My sister Anna was born in Graz", "My mother Helga was born in Graz")),
    ("I'm writing down my years: from 2014 to 2018 I lived in Lisbon, best time of my life.",
     ("I lived in Lisbon from 2014 to 2018",)),
    ("Anna worked for Galp back then, from 2013 to 2018 if I remember right.",
     ("Anna worked for Galp from 2013 to 2018",)),
    ("Galp makes fuel, so she drove for free, more or less.", ("Galp makes fuel",)),
    ("And in 2019 I moved to Ghent. Ghent is in Belgium, in case anybody asks.",
     ("I moved to Ghent in 2019", "Ghent is in Belgium")),
    ("Anna joined Solvay in 2019 as well, what a year.", ("Anna joined Solvay in 2019",)),
    ("Solvay makes soda ash. Sounds dull, pays well.", ("Solvay makes soda ash",)),
    ("My sister Anna is married to Paul, by the way, since the spring.", ("My sister Anna is married to Paul",)),
    ("Paul is the director of Teatro Azul and never at home.", ("Paul is the director of Teatro Azul",)),
    ("Teatro Azul is in Porto, right at the river.", ("Teatro Azul is in Porto",)),
    ("Meine Tante Ruth wohnt in Lyon, und sie leitet dort das Café Lumen.",
     (("Meine Tante Ruth wohnt in Lyon", (
         {"subject": "Ruth", "predicate": "is the aunt of", "object": "I"},
         {"subject": "Ruth", "predicate": "lives in", "object": "Lyon"})),
      ("Ruth leitet das Café Lumen", ({"subject": "Ruth", "predicate": "leads", "object": "Café Lumen"},)))),
    ("My brother Tom lives in Oslo. He works for Equinor these days, our Tom.",
     ("My brother Tom lives in Oslo", "Tom works for Equinor")),
    ("Tom's wife Eva teaches at Nordberg, a school up the hill.", ("Tom's wife Eva teaches at Nordberg",)),
    ("What a walk, along the river all afternoon!", ()),
    ("Oh, and my daughter Lea plays for Rapid Linz now.", ("My daughter Lea plays for Rapid Linz",)),
    ("Work, then. Carla leads Atlas, and Atlas is written in Go.", ("Carla leads Atlas", "Atlas is written in Go")),
    ("Atlas depends on the ledger service, which worries me.", ("Atlas depends on the ledger service",)),
    ("The ledger service is maintained by Bogdan, and nobody else knows it.",
     ("The ledger service is maintained by Bogdan",)),
    ("Bogdan lives in Cluj, two hours ahead of me.", ("Bogdan lives in Cluj",)),
    ("For the record: the ledger service runs on PostgreSQL.", ("The ledger service runs on PostgreSQL",)),
    ("Priya reports to Carla and works on Beacon.", ("Priya reports to Carla", "Priya works on Beacon")),
    ("Beacon is part of Atlas, strictly speaking.", ("Beacon is part of Atlas",)),
    ("Beacon replaced Lantern in 2024, good riddance.", ("Beacon replaced Lantern in 2024",)),
    ("We're called something else now: Acme was renamed to Globex in 2023. Carla works for Acme, I mean Globex.",
     ("Acme was renamed to Globex in 2023", "Carla works for Acme")),
    ("Globex is based in Austin, so the calls are late.", ("Globex is based in Austin",)),
    ("Our designer is called Mika. Mika lives in Tampere.", ("Our designer is called Mika", "Mika lives in Tampere")),
    ("Is the standup still at nine?", ()),
    ("Noor works on Atlas too; she studied at Lund.", ("Noor works on Atlas", "Noor studied at Lund")),
    ("Gavin is the CEO of Globex, hands in everything.", ("Gavin is the CEO of Globex",)),
    ("Gavin lives in Boulder and flies in on Mondays.", ("Gavin lives in Boulder",)),
)  # fmt: skip
ASKED = {
    "who did my sister work for when I lived in Lisbon?": "Anna worked for Galp from 2013 to 2018",
    "what does my sister's employer make?": "Solvay makes soda ash",
    "in which city is the theatre that my sister's husband runs?": "Teatro Azul is in Porto",
    "where does my brother's wife teach?": "Tom's wife Eva teaches at Nordberg",
    "which café does my aunt lead?": "Ruth leitet das Café Lumen",
    "who maintains what Atlas depends on?": "The ledger service is maintained by Bogdan",
    "where does the maintainer of the ledger service live?": "Bogdan lives in Cluj",
    "which project does Priya's boss lead?": "Carla leads Atlas",
    "where is the company based that Carla works for?": "Globex is based in Austin",
    "where does the CEO of Acme live?": "Gavin lives in Boulder",
}
MASKED = re.compile(r"\b[0-9A-HJKMNP-TV-Z]{26}\b|\b[0-9a-f]{7,40}\b|\d{4}-\d\d-\d\d(?=  ada)")


class Told:
    """A store in which it is played; collects the page as it goes."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.store = folder, folder / "notes"
        self.page = [HEAD]
        self.memkit("init", str(self.store), shown=False)

    def memkit(self, *words: str, shown: bool = True, given: str = "", code: int = 0) -> str:
        """Run a command, put it and what it prints on the page, and return what it printed."""
        printed, said = io.StringIO(), io.StringIO()
        where = [] if words[0] == "init" else ["--store", str(self.store)]
        before, sys.stdin = sys.stdin, io.StringIO(given)
        try:
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said):
                ended = run([*words, *where])
        finally:
            sys.stdin = before
        assert ended == code, (words, printed.getvalue(), said.getvalue())
        text = printed.getvalue() + (f"{said.getvalue()}[{code}]\n" if code else "")
        if shown:
            quoted = " ".join(f'"{word}"' if " " in word else word for word in words)
            self.show("\n".join([f"$ memkit {quoted}", *text.splitlines()]))
        return text

    def data(self, *words: str, code: int = 0) -> Any:
        """Return the data of a command, and show nothing."""
        return json.loads(self.memkit(*words, "--json", shown=False, code=code))["data"]

    def show(self, text: str, kind: str = "text") -> None:
        """Put a block on the page."""
        lines = "\n".join(
            MASKED.sub("…", line).rstrip() for line in text.replace(str(self.store), "notes").splitlines()
        )
        self.page.append(f"```{kind}\n{lines}\n```\n")

    def say(self, text: str) -> None:
        """Put words on the page."""
        self.page.append(f"{text}\n")

    def session(self, number: int, said: str, pieces: Sequence[Piece]) -> list[str]:
        """Talk once, and return what was kept of it."""
        drawn = []
        for piece in pieces:
            text, relations = (piece, ()) if isinstance(piece, str) else piece
            drawn.append({"text": text, "turns": [1]} | ({"relations": [*relations]} if relations else {}))
        answers = {"answer.json": "Noted.", "side.json": json.dumps({"pieces": drawn}, ensure_ascii=False)}
        for name, answer in answers.items():
            (self.folder / name).write_text(json.dumps([{"text": answer}]), encoding="utf-8")
        os.environ["MEMKIT_CONTEXT_SUMMARY_MODEL"] = f"scripted:{self.folder / 'side.json'}"
        known = {one["id"] for one in self.data("memory", "list", "--user", "ada")["records"]}
        self.memkit(
            "chat", "--user", "ada", "--session", f"s{number}", "--provider", f"scripted:{self.folder / 'answer.json'}",
            "--jsonl", "--consent", given=f"{said}\n", shown=False,
        )  # fmt: skip
        del os.environ["MEMKIT_CONTEXT_SUMMARY_MODEL"]
        records = self.data("memory", "list", "--user", "ada")["records"]
        return [one["text"] for one in records if one["id"] not in known]

    def found(self, question: str) -> list[str]:
        """Return the first five that a search finds."""
        return [hit["text"] for hit in self.data("memory", "search", question, "--user", "ada")["results"]]

    def id_of(self, text: str) -> str:
        """Return the id of the live record that says this."""
        records = self.data("memory", "list", "--user", "ada")["records"]
        return next(str(one["id"]) for one in records if one["text"] == text)


def play(folder: Path) -> str:
    """Play the sessions in ``folder`` and return their page; what is promised of them is held on the way."""
    told = Told(folder)
    told.say("## What is told, and what is kept of it\n\n| | said | kept |\n|--:|---|---|")
    rows = []
    for number, (said, pieces) in enumerate(SAID, 1):
        kept = told.session(number, said, pieces)
        assert kept == [piece if isinstance(piece, str) else piece[0] for piece in pieces], (said, kept)
        rows.append(f"| {number} | {said} | {'; '.join(kept) or '–'} |")
    told.page[-1] = told.page[-1].rstrip("\n") + "\n" + "\n".join(rows) + "\n"
    told.say("## Asked across steps and time\n\n| asked | found among the first five |\n|---|---|")
    for question, answer in ASKED.items():
        assert answer in told.found(question), (question, told.found(question))
    rows = [f"| {question} | {answer} |" for question, answer in ASKED.items()]
    told.page[-1] = told.page[-1].rstrip("\n") + "\n" + "\n".join(rows) + "\n"
    told.say("## Drawn")
    told.show(told.memkit("graph", "around", "my sister", "--user", "ada", "--mermaid", shown=False), "mermaid")
    told.say("## Corrected\n\nSomebody else maintains the ledger service now; both answers change accordingly.")
    told.memkit("memory", "supersede", told.id_of("The ledger service is maintained by Bogdan"),
                "The ledger service is maintained by Ioana")  # fmt: skip
    told.memkit("memory", "add", "Ioana lives in Iasi", "--user", "ada")
    told.memkit("graph", "path", "Atlas", "Iasi", "--user", "ada")
    assert "Ioana lives in Iasi" in told.found("where does the maintainer of the ledger service live?")
    told.say("## Reflected on a branch, reviewed, merged")
    told.memkit("commit", shown=False)
    told.memkit("memory", "reflect", "--user", "ada", "--branch", "think")
    told.memkit("review", "HEAD..think")
    subprocess.run(["git", "merge", "-q", "--no-edit", "think"], cwd=told.store, check=True, capture_output=True)
    conclusions = told.data("memory", "list", "--user", "ada", "--type", "summary")["records"]
    assert any("Tom" in one["text"] for one in conclusions)
    told.say(
        "## One person erased\n\n"
        "Tom is erased, with every conclusion that rests on him; the next reflection draws the others anew."
    )
    told.memkit("memory", "erase", "--user", "ada", "--about", "Tom", "--dry-run")
    told.memkit("memory", "erase", "--user", "ada", "--about", "Tom", "--yes", shown=False)
    told.memkit("memory", "reflect", "--user", "ada", "--branch", "anew", shown=False)
    subprocess.run(["git", "merge", "-q", "--no-edit", "anew"], cwd=told.store, check=True, capture_output=True)
    told.memkit("memory", "list", "--user", "ada", "--type", "summary")
    assert not any("Tom" in text for text in told.found("where does my brother live?"))
    told.memkit("graph", "around", "my brother", "--user", "ada", code=1)
    return "\n".join(told.page)


def write_thirty_sessions(out: Path) -> Path:
    """Play the sessions, write the page and return its path."""
    path, before = out / "thirty-sessions.md", dict(os.environ)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        os.environ.update(HOME=str(folder), GIT_CONFIG_NOSYSTEM="1", NO_COLOR="1", COLUMNS="120")
        for role in ("AUTHOR", "COMMITTER"):
            os.environ.update({f"GIT_{role}_NAME": "Ada", f"GIT_{role}_EMAIL": "ada@example.org"})
        try:
            path.write_text(play(folder), encoding="utf-8")
        finally:
            os.environ.clear()
            os.environ.update(before)
    return path


if __name__ == "__main__":
    write_thirty_sessions(CHECKOUT / "docs")
