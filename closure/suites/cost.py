"""The cost: time of a call, bytes on the disk, and what goes into the prompt for a right answer."""

from __future__ import annotations

import statistics
import time
from pathlib import Path

from closure.suites.recall import FIRST, tell
from closure.systems import NOTHING
from closure.trial import Case, Suite, Trial, Verdict

ROUGHLY = 4
"""Characters per token: the same rough measure for all, so that no vendor's tokenizer is needed."""


def injected(trial: Trial) -> Verdict:
    """Measure the prompt size of the first five texts, over the questions that they answer."""
    with trial.open() as subject:
        asked = tell(subject, trial, "same-words", 32, 64)
        given = [(text, subject.call("recall", user="ada", query=question, k=FIRST)) for question, text in asked]
    right = sum(text in texts for text, texts in given)
    if not right:
        return Verdict(False, "0 right answers, so there is nothing to divide by")
    tokens = sum(len(text) for _, texts in given for text in texts) / ROUGHLY / right
    return Verdict(
        True, f"{tokens:.0f} tokens (four characters each) for a right answer, {right} of {len(asked)} right"
    )


def stored(trial: Trial) -> Verdict:
    """Measure the folder before and after a hundred texts."""
    with trial.open() as subject:
        subject.call("remember", user="ada", text="Ada keeps a base in the barn")
        subject.restart()
        before = _bytes(subject.folder)
        texts = [f"Shelf s{number} holds crate c{number} of the cellar" for number in range(100)]
        subject.call("remember_all", user="ada", texts=texts, within=600)
        held = len(subject.call("export", user="ada"))
        subject.restart()
        grown = (_bytes(subject.folder) - before) / len(texts)
    return Verdict(held >= len(texts), f"{grown:.0f} bytes on the disk a text of 40 characters, of {held} held")


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def timed_write(trial: Trial) -> Verdict:
    """Time thirty calls that remember; the median."""
    return _timed(trial, lambda number: ("remember", {"text": f"Shelf t{number} holds crate c{number}"}))


def timed_read(trial: Trial) -> Verdict:
    """Time thirty calls that recall among a hundred texts; the median."""
    return _timed(trial, lambda number: ("recall", {"query": f"What does shelf b{number} hold?"}))


def _timed(trial: Trial, call: object) -> Verdict:
    assert callable(call)
    times = []
    with trial.open() as subject:
        texts = [f"Shelf b{number} holds crate c{number} of the cellar" for number in range(100)]
        subject.call("remember_all", user="ada", texts=texts, within=600)
        for number in range(30):
            name, given = call(number)
            began = time.perf_counter()
            subject.call(name, user="ada", **given)
            times.append(time.perf_counter() - began)
        held = len(subject.call("export", user="ada"))
    return Verdict(
        held >= len(texts), f"{1000 * statistics.median(times):.1f} ms, the median of 30 calls from another process"
    )


LOSES = frozenset({NOTHING})
SUITE = Suite(
    "cost",
    "Nobody passes or fails by a figure, only by losing what was told; the figures differ from machine to machine and "
    "from run to run, and so only compare columns of one report.",
    (
        Case("injected", "What stands in the prompt for a right answer, in tokens.", injected, LOSES),
        Case("stored", "What a text takes on the disk, in bytes.", stored, LOSES),
        Case("write", "How long a text takes to be remembered, in milliseconds.", timed_write, LOSES),
        Case("read", "How long a question takes, in milliseconds.", timed_read, LOSES),
    ),
)
