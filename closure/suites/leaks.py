"""What one user can learn about another: by searches, by counts and scores, by names and by error messages."""

from __future__ import annotations

from closure.interface import CannotError
from closure.subject import Subject, SystemFailedError
from closure.systems import EVERYTHING, NOTHING
from closure.trial import Case, Suite, Trial, Verdict

USERS = 50
READS = 10_000
SHELVES = ["attic", "barn", "cellar", "den", "eaves", "foyer", "garage", "hall", "icehouse", "jetty", "kitchen", "loft"]


def _told(subject: Subject, trial: Trial) -> list[tuple[str, str, str]]:
    """Let every user state a canary and return (user, canary, name)."""
    chance = trial.chance("canaries")
    told = []
    for number in range(USERS):
        canary = "zq" + "".join(chance.choice("bcdfghjklmnpqrstvwx") for _ in range(12))
        user = f"user{number}"
        text = f"The word of the {chance.choice(SHELVES)} door is {canary}"
        told.append((user, canary, subject.call("remember", user=user, text=text)))
    return told


def read_by_others(trial: Trial) -> Verdict:
    """Ask as each user for what the others stated, in the exact words, and for one's own as the control."""
    chance = trial.chance("reads")
    reads, leaks, misses = trial.count(READS, USERS), 0, 0
    with trial.open() as subject:
        told = _told(subject, trial)
        for number in range(reads):
            user, own, _ = told[number % USERS]
            other, canary, _ = chance.choice([one for one in told if one[0] != user])
            kind = number % 3
            query = (f"The word of the door is {canary}", canary, f"What did {other} tell about {canary}?")[kind]
            found = " ".join(subject.call("recall", user=user, query=query, k=20))
            leaks += any(each in found for _, each, _ in told if each != own)
            if number < USERS:
                misses += own not in " ".join(subject.call("recall", user=user, query=f"The word of the door is {own}"))
    said = f"{leaks} of {reads} reads gave another user's canary"
    return Verdict(not leaks and not misses, said + (f"; {misses} of {USERS} did not find their own" if misses else ""))


def read_by_name(trial: Trial) -> Verdict:
    """Read what others stated by its name: the text must not be returned, neither as an answer nor in an error."""
    leaks = 0
    with trial.open() as subject:
        told = _told(subject, trial)
        for user, canary, name in told:
            if canary not in str(subject.call("get", user=user, name=name)):
                return Verdict(False, f"{user} does not get their own text by its name")
        for (_, canary, name), (other, *_) in zip(told, told[1:] + told[:1], strict=True):
            try:
                said = str(subject.call("get", user=other, name=name))
            except SystemFailedError as refused:
                said = str(refused)
            leaks += canary in said
    return Verdict(not leaks, f"{leaks} of {len(told)} names gave another user the text")


def scores_beside_others(trial: Trial) -> Verdict:
    """Ask the same of two memories, in one of which another user stated a hundred texts of the same words.

    Two, and not one before and after: a memory may well score a text higher because it was asked for.
    """
    question = "the word of the cellar door"
    seen: list[tuple[list[float], list[str]]] = []
    for others in (0, 100):
        with trial.open() as subject:
            for room in SHELVES:
                subject.call("remember", user="ada", text=f"The word of the {room} door is kept in the {room}")
            texts = [f"The word of the cellar door number {number} is cellar {number}" for number in range(others)]
            subject.call("remember_all", user="bob", texts=texts, within=300)
            scores = subject.call("scores", user="ada", query=question)
            seen.append((scores, subject.call("recall", user="ada", query=question)))
    (alone, own), (beside, again) = seen
    if not own:
        return Verdict(False, "it finds nothing, so nothing can change")
    moved = max((abs(one - two) for one, two in zip(alone, beside, strict=False)), default=0.0)
    if len(alone) == len(beside) and own == again and moved < 1e-4:
        return Verdict(True, f"{len(alone)} scores, and the texts in order, are the same with and without the other")
    return Verdict(False, f"scores moved by {moved:.4f}, {len(alone)} became {len(beside)}")


def refused_alike(trial: Trial) -> Verdict:
    """Ask for a name of another user's and for one of nobody's: the answers are alike, so neither says what exists."""
    with trial.open() as subject:
        name = str(subject.call("remember", user="ada", text="The word of the den door is zqfhjkl"))
        if "zqfhjkl" not in str(subject.call("get", user="ada", name=name)):
            return Verdict(False, "the user does not get their own text by its name")
        nobodys = name[:-1] + ("A" if name[-1] != "A" else "B")
        answers = []
        for asked in (name, nobodys):
            try:
                said = str(subject.call("get", user="bob", name=asked))
            except CannotError:
                raise
            except SystemFailedError as refused:
                said = str(refused)
            answers.append(said.replace(asked, "NAME"))
    alike = answers[0] == answers[1]
    return Verdict(alike, "both answers are alike" if alike else f"{answers[0][:90]!r} and {answers[1][:90]!r}")


SUITE = Suite(
    "leaks",
    "What one user can learn of another. Canaries are drawn anew from the seed.",
    (
        Case("reads", "No search of one user gives what another told, and each finds their own.", read_by_others,
             frozenset({NOTHING, EVERYTHING})),
        Case("names", "No name of a text gives it to another user.", read_by_name, frozenset({NOTHING, EVERYTHING})),
        Case("scores", "What others tell moves neither scores nor counts nor order.", scores_beside_others,
             frozenset({NOTHING, EVERYTHING})),
        Case("errors", "An error does not tell whether another user's text exists.", refused_alike,
             frozenset({NOTHING, EVERYTHING})),
    ),
)  # fmt: skip
