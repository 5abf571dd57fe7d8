"""Cases written as steps in a file: what is stated, what is asked, what the answer must or must not contain."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from closure.interface import CannotError
from closure.servers import looked_after
from closure.subject import Subject, SystemFailedError
from closure.systems import EVERYTHING, NOTHING
from closure.traces import traces
from closure.trial import Case, Suite, Trial, Verdict

MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]?[\d:.+Z]*")
Step = Mapping[str, Any]
CONTROLS = {"nothing": NOTHING, "everything": EVERYTHING}


class SuiteFaultError(Exception):
    """A case that is itself wrong; the words say where. It proves nothing about a system."""


class _WrongAnswerError(Exception):
    """The system's answer is not what the rule requires."""


def load_steps(name: str) -> Suite:
    """Return the suite of the file ``name.yaml`` beside this one."""
    described = yaml.safe_load(Path(__file__).with_name(f"{name}.yaml").read_text(encoding="utf-8"))
    return Suite(name, described["about"], tuple(_case(one) for one in described["cases"]))


def _case(described: Mapping[str, Any]) -> Case:
    steps: list[Step] = described["steps"]
    unknown = {kind for step in steps for kind in step if kind not in _STEPS}
    if unknown:
        raise SuiteFaultError(f"case {described['id']}: nobody knows the step {', '.join(sorted(unknown))}")

    def ask(trial: Trial) -> Verdict:
        with trial.open() as subject:
            return play(subject, steps)

    failed_by = frozenset(CONTROLS[word] for word in described["failed_by"])
    return Case(described["id"], described["rule"], ask, failed_by, frozenset(described.get("only", ())))


def play(subject: Subject, steps: list[Step]) -> Verdict:
    """Return whether every answer was right; the first wrong one ends the case."""
    names: dict[str, str] = {}
    said = ""
    for number, step in enumerate(steps, 1):
        ((kind, given),) = step.items()
        try:
            said = _STEPS[kind](subject, given, names) or said
        except _WrongAnswerError as wrong:
            return Verdict(False, f"step {number}, {kind}: {wrong}")
    return Verdict(True, said or "as it should be")


def _user(given: Step) -> str:
    return str(given.get("user", "ada"))


def _remember(subject: Subject, given: Step, names: dict[str, str]) -> None:
    for number in range(given.get("times", 1)):
        text = str(given["text"]).replace("{n}", str(number))
        told = {"user": _user(given), "text": text}
        if "until" in given:
            name = subject.call("remember_until", day=given["until"], **told)
        else:
            name = subject.call("remember", **told, via=given.get("via", "user"))
        names[given.get("as", "it")] = name


def _named(call: str) -> Callable[[Subject, Step, dict[str, str]], None]:
    def step(subject: Subject, given: Step, names: dict[str, str]) -> None:
        more = {"text": given["text"]} if call == "correct" else {}
        name = subject.call(call, user=_user(given), name=names[given.get("ref", "it")], **more)
        if call == "correct":
            names[given.get("as", "it")] = name

    return step


def _recall(subject: Subject, given: Step, names: dict[str, str]) -> str:
    asked = {"user": _user(given), "query": given["query"]}
    if "day" in given:
        return _held(subject.call("as_of", day=given["day"], **asked), given)
    return _held(subject.call("recall", k=given.get("k", 5), **asked), given)


def _held(texts: list[str], given: Step) -> str:
    """Return what was found, or raise if something is missing, too much, or repeated too often."""
    folded = [text.casefold() for text in texts]
    for wanted in given.get("finds", ()):
        if not any(wanted.casefold() in text for text in folded):
            raise _WrongAnswerError(f"no {wanted!r} in {_short(texts)}")
    for unwanted in given.get("lacks", ()):
        if any(unwanted.casefold() in text for text in folded):
            raise _WrongAnswerError(f"there is {unwanted!r} in {_short(texts)}")
    for word, times in given.get("times", {}).items():
        found = sum(word.casefold() in text for text in folded)
        if found != times:
            raise _WrongAnswerError(f"{word!r} is there {found} times, not {times}")
    return f"found {_short(texts)}" if texts else ""


def _short(texts: list[str]) -> str:
    return f"{texts[:3]}{' …' if len(texts) > 3 else ''}"[:160]


def _export(subject: Subject, given: Step, names: dict[str, str]) -> str:
    return _held(subject.call("export", user=_user(given)), given)


def _provenance(subject: Subject, given: Step, names: dict[str, str]) -> str:
    said = subject.call("provenance", user=_user(given), name=names[given.get("ref", "it")])
    if not said:
        raise _WrongAnswerError("it does not say where the text is from")
    return f"it says {MOMENT.sub('…', said)[:80]!r}"


def _consent(subject: Subject, given: Step, names: dict[str, str]) -> None:
    subject.call("consent", user=_user(given), granted=given["granted"])


def _infer(subject: Subject, given: Step, names: dict[str, str]) -> str:
    texts = [str(given["text"]).replace("{n}", word) for word in given["words"].split()]
    kept = subject.call("infer", user=_user(given), texts=texts)
    if not given.get("least", 0) <= kept <= given["most"]:
        raise _WrongAnswerError(f"it kept {kept} of {len(texts)}")
    return f"it kept {kept} of {len(texts)}"


def _restart(subject: Subject, given: Step, names: dict[str, str]) -> None:
    subject.restart()


def _refuses(subject: Subject, given: Step, names: dict[str, str]) -> str:
    """Read a text by its name as another user: an error and an empty answer are right, the text is not."""
    try:
        said = subject.call("get", user=_user(given), name=names[given.get("ref", "it")])
    except CannotError:
        raise
    except SystemFailedError as refused:
        said = str(refused)
    for unwanted in given["lacks"]:
        if unwanted.casefold() in str(said).casefold():
            raise _WrongAnswerError(f"it gave {str(said)[:120]!r}")
    return ""


def _scan(subject: Subject, given: Step, names: dict[str, str]) -> str:
    """Search everything on the disk; on a server first as it is, then after its operator's part."""
    if not subject.call("keeps_files"):
        raise CannotError("it keeps nothing on a disk")
    subject.restart()
    found = traces(subject.folder, given["word"])
    if subject.server:
        found += traces(_folder_of_server(subject), given["word"])
    if given["finds"] == "some" and not found:
        raise _WrongAnswerError("the text is nowhere on the disk, so it cannot be seen to go")
    said = f"{len(found)} traces on the disk"
    if given["finds"] == "none" and subject.server:
        said = f"{len(found)} traces in its files and the server's"
        looked_after(subject.variables)
        found = [*traces(subject.folder, given["word"]), *traces(_folder_of_server(subject), given["word"])]
        said += f", and {len(found)} after its operator's VACUUM FULL and the end of old log"
    if given["finds"] == "none" and found:
        raise _WrongAnswerError(f"{said}, such as {found[0]}")
    return said


def _folder_of_server(subject: Subject) -> Path:
    return Path(subject.variables["CLOSURE_POSTGRES_DATA"])


_STEPS: dict[str, Callable[[Subject, Step, dict[str, str]], str | None]] = {
    "remember": _remember,
    "recall": _recall,
    "export": _export,
    "correct": _named("correct"),
    "forget": _named("forget"),
    "reject": _named("reject"),
    "erase": lambda subject, given, names: subject.call("erase", user=_user(given), within=300),
    "restart": _restart,
    "refuses": _refuses,
    "provenance": _provenance,
    "consent": _consent,
    "infer": _infer,
    "scan": _scan,
}
