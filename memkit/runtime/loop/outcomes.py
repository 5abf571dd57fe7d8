"""What became of what was tried: judged from what tools returned, what the user says, and what a task recorded."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from .bound import STOPPED
from .interface import JSON
from .taint import excerpt, unfenced

SUCCEEDED, FAILED = "succeeded", "failed"
"""Tags of outcome records."""
SHOWN = 160
"""Characters of a call, and of what it returned, that an outcome tells."""


@dataclass(frozen=True)
class TaskOutcome:
    """What was done, what came of it, and what to do the next time."""

    action: str
    outcome: str
    lesson: str
    succeeded: bool
    used: tuple[str, ...] = ()
    """Ids of the records that it relied on."""

    @property
    def text(self) -> str:
        """Return it as one statement."""
        lesson = f" Lesson: {self.lesson}." if self.lesson else ""
        return f"The task “{self.action}” {SUCCEEDED if self.succeeded else FAILED}: {self.outcome}.{lesson}"


@dataclass(frozen=True)
class Attempt:
    """What the agent did last and nobody has judged yet."""

    action: str
    used: Sequence[str] = ()
    """Ids of the records that it cited."""
    taint: Sequence[str] = field(default=())
    """What may have steered it."""


# What the user says of what was tried: the whole sentence says it, so that a report about anything else does not.

_OPENING = (
    r"(?:(?:yes|yep|yeah|no|nope|great|perfect|nice|cool|super|wow|ok|okay|thanks|thank you|sorry|well|hm+|oh)\b"
    r"[\s,.!:;–—-]*)*"
)
_THAT = (
    r"(?:(?:and|but|so)\s+)?(?:(?:that|this|it|everything|all of it)\s+)?"
    r"(?:(?:has|have|just|now|really|finally|still|all|unfortunately)\s+)*"
)
_END = (
    r"(?:[\s,–—-]*(?:now|again|today|either|at all|yet|for me|here|too|well|fine|great|perfectly|nicely|like a charm"
    r"|as expected|thanks|thank you))*"
)
_WORKED = (
    rf"{_OPENING}(?:{_THAT}(?:works?|worked|did the trick|(?:fixed|solved|did) it|is (?:fixed|solved)|helped"
    r"|went through)"
    r"|(?:das |es )?(?:hat )?(?:funktioniert|geklappt|klappt|geht jetzt)|(?:ça|cela) (?:marche|a marché|fonctionne)"
    rf"|(?:ya )?funcion[aó]){_END}[\s.!]*"
)
_FAILED = (
    rf"{_OPENING}(?:{_THAT}(?:(?:does|did|do|is|has|was|won)(?: not|n't|n’t)\s+(?:seem to\s+)?"
    r"(?:work(?:ing|ed)?|help(?:ed)?|fix(?:ed)? it|go(?:ne)? through|fixed|solved)"
    r"|fail(?:s|ed)(?: again)?|broke|crash(?:es|ed)|(?:is |was )?(?:broken|failing|not working))|no luck"
    r"|(?:das |es )?(?:hat |funktioniert |geht |klappt )?(?:leider )?nicht(?: funktioniert| geklappt)?"
    rf"|(?:ça|cela) ne (?:marche|fonctionne) pas|(?:ça )?n'a pas (?:marché|fonctionné)|no funcion[aó]){_END}[\s.!]*"
)
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")


def said_to_work(said: str) -> bool | None:
    """Return whether the user says that what was tried worked; None where they say nothing of it.

    >>> said_to_work("That worked, thanks!"), said_to_work("No, it still doesn't work."), said_to_work("Did it work?")
    (True, False, None)
    >>> said_to_work("My sister doesn't work on Mondays.") is said_to_work("It works on Linux only") is None
    True
    """
    verdicts = []
    for sentence in _SENTENCE.findall(said):
        words = sentence.strip()
        if not words.endswith("?"):
            # Compiled where somebody asks (re keeps it): few talks do, and these take longer to compile than to load.
            wordings = ((False, _FAILED), (True, _WORKED))
            verdicts += [verdict for verdict, wording in wordings if re.fullmatch(wording, words, re.IGNORECASE)]
    return None if not verdicts else all(verdicts)


# What tools returned.


def outcome_of_calls(calls: Iterable[Mapping[str, JSON]]) -> TaskOutcome | None:
    """Return what calls come to of which one failed: it was made good by the same tool later, or it was not.

    Calls that a policy stopped did not fail, and neither did those that could not be made at all.
    """
    made = list(calls)
    broken = [call for call in made if is_failure(call)]
    if not broken:
        return None
    last = {str(call["name"]): call for call in made}
    unmended = [call for call in broken if last[str(call["name"])]["error"]]
    failed = (unmended or broken)[-1]
    name = str(failed["name"])
    error = told_by(failed).removeprefix(f"{name} failed with ")
    if unmended:
        return TaskOutcome(call_told(failed), f"{name} failed", f"{name} failed with: {error}", False)
    return TaskOutcome(
        call_told(last[name]), f"{name} worked", f"{name} worked after it had failed with: {error}", True
    )


def is_failure(call: Mapping[str, JSON]) -> bool:
    """Return whether a tool ran and said that it could not do what it was asked."""
    return bool(call["error"]) and call["decision"] not in STOPPED and str(call["result"]).startswith("Error: ")


def told_by(call: Mapping[str, JSON]) -> str:
    """Return in a line what a call returned."""
    text = unfenced(str(call["result"]).removeprefix("Error: "))
    return excerpt(" ".join(text.split()), SHOWN).rstrip(".")


def call_told(call: Mapping[str, JSON]) -> str:
    """Return a call as a person reads it.

    >>> call_told({"name": "outbox", "args": {"to": "ann"}})
    'outbox(to="ann")'
    """
    args = call["args"]
    given = args if isinstance(args, str) else ", ".join(f"{key}={_value(value)}" for key, value in args.items())
    return excerpt(f"{call['name']}({given})", SHOWN)


def _value(value: JSON) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


# What carrying a plan out came to.


def outcome_of_steps(task: str, execution: Mapping[str, JSON]) -> TaskOutcome | None:
    """Return what the account of a plan's steps comes to; None where nobody knows, or nothing was begun."""
    steps = [step for step in execution["steps"] if step["status"] in ("done", "failed", "denied")]
    if not steps or execution["outcome"] == "unknown":
        return None
    done = [_step(step) for step in steps if step["status"] == "done"]
    failed = [step for step in steps if step["status"] != "done"]
    if execution["outcome"] == "done":
        lesson = f"{_step(failed[-1])} {failed[-1]['status']}, and another way led there" if failed else ""
        lesson = lesson or f"done by: {excerpt(', '.join(done), SHOWN * 2)}"
        return TaskOutcome(task, f"all {len(done)} steps were carried out", lesson, True)
    last = failed[-1] if failed else steps[-1]
    error = excerpt(" ".join(str(last["reason"] or last["result"]).split()), SHOWN)
    lesson = f"{_step(last)} {last['status']}" + (f" with: {error}" if error else "")
    return TaskOutcome(task, f"{_step(last)} {last['status']} after {len(done)} steps", lesson.rstrip("."), False)


def _step(step: Mapping[str, JSON]) -> str:
    return " ".join(map(str, (step["name"], *step["args"])))
