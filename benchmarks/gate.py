"""Time the write gate and count its false positives in ordinary sentences.

Two sorts of sentences: generated chat, with numbers, digests, addresses and dates in it, and human text from the
standard library's docstrings and the licences on this machine. The peers run on the same sentences: detect-secrets
(if installed, else a filter that takes words of high entropy for secrets) and a word list of attacks.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import re
import sysconfig
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path

from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.gate.contradictions import contradict
from memkit.runtime.memory.gate.credentials import entropy
from memkit.runtime.memory.gate.gate import WriteGate
from memkit.runtime.memory.gate.hostile import suspicions
from memkit.runtime.memory.gate.secrets import find_secrets
from memkit.runtime.memory.record.record import Draft, Origin

PEOPLE = "Alice Bob Mia Jonas Priya Chen Fatima Oleg Ines Tomás".split()  # noqa: SIM905
FRAMES = (
    "{who} prefers {thing} over {other}.",
    "{who} follows the instructions of the {thing} to the letter.",
    "The password for the {thing} is kept in the safe.",
    "{who} asked for the rules of the {thing} again.",
    "Commit {sha} fixed the {thing}.",
    "The ticket {uuid} is about the {thing}.",
    "See https://example.org/{thing}/{sha} for the {other}.",
    "Please ignore the {thing} in the {other}.",
    "The policy on {thing} changed on {date}.",
    "{who} wants the {thing} before {date}.",
    "Never put the {thing} next to the {other}.",
    "The key to the {thing} hangs beside the {other}.",
    "{who}'s order {number} of a {thing} arrived.",
    "The system shows {number} errors in the {thing}.",
    "Run the {thing} checks before the release of {thing}-{version}-py3-none-any.whl.",
    "{who} forgot the {thing} at the {other}.",
    "The token for the {thing} has the shape of a {other}.",
    "Do not move the {thing} without asking {who}.",
    "From now on the {thing} is in the {other}.",
    "The model of the {thing} weighs {number} grams.",
)
THINGS = "harbour lighthouse espresso kettle garden report invoice sail museum tram bridge workshop archive recipe"
HOSTILE_WORDS = re.compile(r"(?i)\b(ignore|instructions?|password|system|rules?|policy|never|from now on|do not)\b")


def sentences(count: int, seed: int = 1) -> Iterator[str]:
    """Yield ordinary sentences, with numbers, digests, addresses and dates in them; the same for the same seed."""
    chance = random.Random(seed)
    things = THINGS.split()
    for number in range(count):
        thing, other = chance.sample(things, 2)
        yield FRAMES[number % len(FRAMES)].format(
            who=chance.choice(PEOPLE),
            thing=thing,
            other=other,
            sha=f"{chance.getrandbits(160):040x}",
            uuid="-".join(f"{chance.getrandbits(4 * size):0{size}x}" for size in (8, 4, 4, 4, 12)),
            date=f"202{chance.randrange(10)}-{chance.randrange(1, 13):02}-{chance.randrange(1, 29):02}",
            number=chance.randrange(10**12),
            version=f"{chance.randrange(9)}.{chance.randrange(30)}.{chance.randrange(9)}",
        )


def written_sentences(most: int) -> list[str]:
    """Return sentences of the standard library's docstrings and of the licences on this machine, each once."""
    library = Path(sysconfig.get_paths()["stdlib"])
    paragraphs = [text for path in sorted(library.glob("*.py")) for text in _docstrings(path)]
    licences = sorted(Path("/usr/share/common-licenses").glob("*"))
    paragraphs += [text for path in licences for text in path.read_text(errors="ignore").split("\n\n")]
    found = dict.fromkeys(part for text in paragraphs for part in re.split(r"(?<=[.!?])\s+", " ".join(text.split())))
    ordinary = [part for part in found if 4 <= len(part.split()) <= 40]
    return random.Random(1).sample(ordinary, min(most, len(ordinary)))


def _docstrings(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8", errors="ignore"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            yield from (ast.get_docstring(node) or "").split("\n\n")


def by_detect_secrets(text: str) -> bool:
    """Return whether a plugin of detect-secrets finds a secret on a line."""
    from detect_secrets.core.scan import scan_line

    return any(scan_line(text))


@contextmanager
def without_entropy() -> Iterator[None]:
    """Run detect-secrets without the plugins that take a random word for a secret: they flag nearly every line."""
    from detect_secrets.settings import default_settings

    with default_settings() as settings:
        settings.disable_plugins("Base64HighEntropyString", "HexHighEntropyString")
        yield


def secret_peer() -> tuple[str, Callable[[str], object], Callable[[], AbstractContextManager[object]]]:
    """Return the name of the peer for secrets, its function, and its settings."""
    if find_spec("detect_secrets") is None:
        return "entropy", by_entropy, nullcontext
    return "detect-secrets without entropy", by_detect_secrets, without_entropy


def by_entropy(text: str) -> bool:
    """Return whether a long word of ``text`` looks random, as a filter without context does."""
    return any(len(word) >= 20 and entropy(word) > 3.6 for word in text.split())


def per_second(work: Callable[[str], object], texts: list[str]) -> float:
    """Return how many of ``texts`` are processed per second."""
    started = time.perf_counter()
    for text in texts:
        work(text)
    return len(texts) / (time.perf_counter() - started)


def speed_row(case: str, ours: Callable[[str], object], peer: Callable[[str], object], texts: list[str]) -> object:
    """Return how many sentences per second two filters process."""
    rates = [round(per_second(judge, texts)) for judge in (ours, peer)]
    return {
        "case": f"sentences per second: {case}",
        "ours": rates[0],
        "peer": rates[1],
        "ratio": round(rates[0] / rates[1], 2),
    }


def speed_rows(texts: list[str], held: int) -> Iterator[dict[str, object]]:
    """Yield the gate's decisions per second, with an empty archive and with one that holds records."""
    for records in (0, held):
        with ArchivalStore() as archive:
            origin = Origin(actor="person", user_id="alice")
            list(archive.import_many((Draft(text=text), origin) for text in sentences(records, seed=2)))
            gate, view = WriteGate(), archive.view
            rate = per_second(lambda text: gate.judge(Draft(text=text), origin, view), texts)  # noqa: B023
        case = f"decisions per second, {records:,} records held"
        yield {"case": case, "ours": round(rate), "peer": None, "ratio": None}


def suspicion_row(case: str, ours: Callable[[str], object], peer: Callable[[str], object], texts: list[str]) -> object:
    """Return how many of a thousand ordinary sentences each of two filters suspects."""
    found = [round(1000 * sum(bool(judge(text)) for text in texts) / len(texts), 1) for judge in (ours, peer)]
    ratio = round(found[0] / found[1], 3) if found[1] else None
    return {"case": f"false positives per 1,000 sentences: {case}", "ours": found[0], "peer": found[1], "ratio": ratio}


def contradiction_row(texts: list[str]) -> object:
    """Return how many of a thousand pairs of neighbouring sentences are reported as contradictory."""
    near = sorted(texts, key=str.casefold)
    pairs = [pair for start in range(0, len(near) - 4, 5) for pair in combinations(near[start : start + 5], 2)]
    found = round(1000 * sum(contradict(*pair) for pair in pairs) / len(pairs), 2)
    return {
        "case": f"contradictions per 1,000 pairs of prose, {len(pairs):,} pairs",
        "ours": found,
        "peer": None,
        "ratio": None,
    }


def main() -> None:
    """Print decisions per second and false positives per 1,000 ordinary sentences."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--records", type=int, default=2000)
    options = parser.parse_args()
    chat, prose = list(sentences(options.sentences)), written_sentences(options.sentences)
    peer, asked, settings = secret_peer()
    rows = [*speed_rows(chat, options.records), contradiction_row(prose)]
    with settings():
        for name, texts in (("chat", chat), ("prose", prose)):
            size = f"{len(texts):,} of {name}"
            rows += [
                speed_row(f"secrets, {size} (peer: {peer})", find_secrets, asked, texts),
                suspicion_row(f"secrets, {size} (peer: {peer})", find_secrets, asked, texts),
                suspicion_row(f"orders, {size} (peer: word list)", suspicions, HOSTILE_WORDS.search, texts),
            ]
    print(json.dumps(rows, indent=1) if options.json else "\n".join(map(str, rows)))


if __name__ == "__main__":
    main()
