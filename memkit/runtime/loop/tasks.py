"""Tasks from start to end: what was done, with what outcome, and the lesson that is kept.

Success is judged from tool results, the user's words, and the steps a task recorded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from .bound import STOPPED, AnsweredErrors
from .interface import JSON, LoopError
from .taint import check_words, excerpt, joined, unfenced, words
from .tiers import DecisionMade, WorkingMemory

SUCCEEDED, FAILED = "succeeded", "failed"
"""Tags of outcome records."""
SHOWN = 160
"""The most characters of a call, and of its result, that an outcome quotes."""


@dataclass(frozen=True)
class TaskOutcome:
    """What was done, how it ended, and what to do next time."""

    action: str
    outcome: str
    lesson: str
    succeeded: bool
    used: tuple[str, ...] = ()
    """Ids of the records that the task relied on."""

    @property
    def text(self) -> str:
        """Return the outcome as one statement."""
        lesson = f" Lesson: {self.lesson}." if self.lesson else ""
        return f"The task “{self.action}” {SUCCEEDED if self.succeeded else FAILED}: {self.outcome}.{lesson}"


@dataclass(frozen=True)
class Attempt:
    """The agent's last action that nobody has judged yet."""

    action: str
    used: Sequence[str] = ()
    """Ids of the records that its answer cited."""
    taint: Sequence[str] = field(default=())
    """Origins that may have steered it."""


# The user's verdict on an attempt: it has to fill the whole sentence, so that a report on anything else is not one.

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
    """Return whether the user says that the attempt worked; None if they say nothing about it.

    >>> said_to_work("That worked, thanks!"), said_to_work("No, it still doesn't work."), said_to_work("Did it work?")
    (True, False, None)
    >>> said_to_work("My sister doesn't work on Mondays.") is said_to_work("It works on Linux only") is None
    True
    """
    verdicts = []
    for sentence in _SENTENCE.findall(said):
        words = sentence.strip()
        if not words.endswith("?"):
            # Compiled on first use (re caches it): few talks need these, and compiling takes longer than loading.
            wordings = ((False, _FAILED), (True, _WORKED))
            verdicts += [verdict for verdict, wording in wordings if re.fullmatch(wording, words, re.IGNORECASE)]
    return None if not verdicts else all(verdicts)


# Tool results.


def outcome_of_calls(calls: Iterable[Mapping[str, JSON]]) -> TaskOutcome | None:
    """Return the outcome of calls of which one failed: either the same tool made up for it later, or not.

    Calls that a policy stopped, or that could not be made at all, did not fail.
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
    spoken = re.sub(r"[\W_]+|(?<=[a-z])(?=[A-Z])", " ", name).strip()  # the words that a question would use
    if unmended:
        return TaskOutcome(call_told(failed), f"{spoken} failed", f"{name} failed with: {error}", False)
    return TaskOutcome(
        call_told(last[name]), f"{spoken} worked", f"{name} worked after it had failed with: {error}", True
    )


def is_failure(call: Mapping[str, JSON]) -> bool:
    """Return whether a tool ran and reported that it could not do what was asked."""
    return bool(call["error"]) and call["decision"] not in STOPPED and str(call["result"]).startswith("Error: ")


def told_by(call: Mapping[str, JSON]) -> str:
    """Return the result of a call in one line."""
    text = unfenced(str(call["result"]).removeprefix("Error: "))
    return excerpt(" ".join(text.split()), SHOWN).rstrip(".")


def call_told(call: Mapping[str, JSON]) -> str:
    """Return a call in readable form.

    >>> call_told({"name": "outbox", "args": {"to": "ann"}})
    'outbox(to="ann")'
    """
    args = call["args"]
    given = args if isinstance(args, str) else ", ".join(f"{key}={_value(value)}" for key, value in args.items())
    return excerpt(f"{call['name']}({given})", SHOWN)


def _value(value: JSON) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


# The outcome of a plan.


def outcome_of_steps(task: str, execution: Mapping[str, JSON]) -> TaskOutcome | None:
    """Return the outcome of a plan's steps; None if it is unknown, or nothing was begun."""
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


ENDED = ("done", "failed")
"""Phases of a finished task."""
EXCERPT = 300
"""The most characters of an action and of its result that an episode keeps."""
MOST_STEPS, MOST_ERRORS, MOST_USED = 100, 20, 200
"""How many of each an episode keeps, the newest ones."""

BESIDE = ("used", "attempt")
"""Keys stored next to working memory."""

Remember = Callable[[TaskOutcome, Sequence[str]], str | None]
"""Offers an outcome, with the origins that may have steered it, to the gate of long-term memory, and adjusts the
confidence of the records it relied on; returns the new record's id, or None."""


@dataclass
class Episode:
    """The history of one task: steps with excerpts of their results, decisions, errors with their resolution."""

    task: str
    steps: list[dict[str, JSON]] = field(default_factory=list)
    errors: list[dict[str, JSON]] = field(default_factory=list)
    decisions: list[DecisionMade] = field(default_factory=list)
    """The decisions that working memory keeps of the task, including later ones."""
    used: dict[str, None] = field(default_factory=dict)
    """Ids of the records that were cited or named as used, in that order."""

    def add_step(self, action: str, result: str, *, succeeded: bool) -> None:
        """Add a step once; a later success of a failed action is its resolution."""
        action = action[:EXCERPT]
        step = {"action": action, "result": result[:EXCERPT], "succeeded": succeeded}
        if step in self.steps:
            return
        self.steps = [*self.steps, step][-MOST_STEPS:]
        if not succeeded:
            error: dict[str, JSON] = {"action": action, "error": result[:EXCERPT], "resolution": None}
            self.errors = [*self.errors, error][-MOST_ERRORS:]
            return
        for error in self.errors:
            if error["action"] == action and error["resolution"] is None:
                error["resolution"] = result[:EXCERPT]

    def outcome(self, success: bool, told: str) -> TaskOutcome:
        """Return the outcome, and the lesson of its errors and steps, worded without a model."""
        solved = [error for error in self.errors if error["resolution"] is not None]
        unsolved = [error for error in self.errors if error["resolution"] is None]
        if solved:
            lesson = f"{solved[-1]['action']} worked after it had failed with: {solved[-1]['error']}"
        elif unsolved and not success:
            lesson = f"{unsolved[-1]['action']} failed with: {unsolved[-1]['error']}"
        else:
            steps = ", ".join(str(step["action"]) for step in self.steps if step["succeeded"])
            lesson = f"done by: {excerpt(steps, EXCERPT)}" if steps and success else told
        return TaskOutcome(self.task, told, lesson.rstrip("."), success, tuple(self.used)[-MOST_USED:])


class TaskMemory:
    """Tracks tasks in working memory: starts one, records its steps, and ends it with a lasting outcome.

    >>> tasks = TaskMemory(WorkingMemory(), remember=print)
    >>> _ = tasks.start_task("deliver the book")
    >>> tasks.record_step("go to the shop", "it is closed", succeeded=False)
    >>> tasks.working.done_lines()
    ['go to the shop (failed): it is closed']
    """

    def __init__(
        self,
        working: WorkingMemory,
        remember: Remember | None = None,
        *,
        steered: Callable[[], Sequence[str]] = lambda: (),
    ) -> None:
        """Track tasks in ``working``; ``steered`` returns the origins that may steer what is recorded now."""
        self.working = working
        self._steered = steered
        self.episode: Episode | None = None
        self.attempt: Attempt | None = None
        """The attempt that a user may still say worked, or did not."""
        self.on_change: Callable[[], None] = lambda: None
        """Called when a task begins, completes a step, or ends."""
        self._remember = remember
        self._ended: tuple[bool, str] | None = None
        """How the model says that the running task ended; judged at the end of its turn."""

    @property
    def at_hand(self) -> str:
        """Return the running task in its original words; empty if there is none."""
        return self.working.task or "" if self.working.current_phase not in ENDED else ""

    @property
    def tags(self) -> tuple[str, ...]:
        """Return the tags that records of the current task may carry: its words."""
        return tuple(sorted(words(self.at_hand)))

    def start_task(self, task: str) -> Episode:
        """Begin ``task``; the record of another unfinished one is dropped. Raise LoopError if it has no words."""
        if not isinstance(task, str) or not task.strip():
            raise LoopError(f"{task!r:.60} is not a task. Describe in words what to do.")
        self.working.start(task)
        self._note_taint()
        self.episode = Episode(task, decisions=self.working.decisions)
        self.on_change()
        return self.episode

    def use(self, ids: Iterable[str]) -> None:
        """Note that the running task relies on records; without a task there is no outcome to learn from."""
        if self.episode is not None:
            self.episode.used.update(dict.fromkeys(ids))

    def forget_used(self) -> None:
        """Drop the noted records: the outcome of the running task says nothing about them."""
        self._running().used.clear()

    def record_step(self, action: str, result: str = "", *, succeeded: bool = True, used: Iterable[str] = ()) -> None:
        """Record a step of the running task and the records it relied on."""
        check_words(action, "the action of a step")
        check_words(result, "the result of a step")
        self._running().used.update(dict.fromkeys(used))
        self._running().add_step(action, result, succeeded=succeeded)
        self.working.record_step(action, result[:EXCERPT], succeeded=succeeded)
        self._note_taint()
        self.on_change()

    def end_task(self, success: bool, outcome: str) -> str | None:
        """End the task, learn from its outcome, and return the id of its record; None if nothing is remembered.

        A refusal by the gate is raised after the task has ended, and LoopError if ``success`` is not a bool.
        """
        if not isinstance(success, bool):
            raise LoopError(f"success {success!r:.60} is neither True nor False.")
        judged = self._running().outcome(success, outcome)
        self._note_taint()
        self.working.current_phase = ENDED[not success]
        self.episode, self.attempt, self._ended = None, None, None
        self.on_change()
        return self._conclude(judged, self.working.taint)

    def note_end(self, success: bool, told: str) -> None:
        """Note that the model says the running task is over; its outcome is judged at the end of the turn."""
        self.working.current_phase = ENDED[not success]
        self._ended = (success, told)

    def judge_turn(
        self,
        asked: str | None,
        said: str | None,
        calls: Sequence[Mapping[str, JSON]],
        cited: Sequence[str],
        *,
        is_judged: bool = False,
    ) -> None:
        """Judge, once, what a turn shows: an ended task, the user's verdict on an attempt, a failed tool.

        Args:
            asked: What the turn was about.
            said: What the user said in it; None if nobody spoke.
            calls: The turn's calls that act outside of memory.
            cited: Ids of the records that its answer cites.
            is_judged: Whether the calls are judged already, like those of a plan.
        """
        self.use(cited)
        something_tried = self.episode is not None or self.attempt is not None
        verdict = said_to_work(said) if said and something_tried else None
        if self.episode is not None and said is not None:
            self._note_calls(calls)
        with AnsweredErrors():  # without the user's consent, or past the session's quota, nothing is kept
            if self._judge_task(verdict, said or ""):
                return
            if self.attempt is not None and verdict is not None and self.episode is None:
                tried, self.attempt = self.attempt, None
                worked = "worked" if verdict else "did not work"
                told = f"the user said that it {worked}"
                lesson = f"this way it {worked}"
                self._conclude(TaskOutcome(tried.action, told, lesson, verdict, tuple(tried.used)), tried.taint)
            failed = outcome_of_calls(calls) if self.episode is None else None
            if failed is not None:
                self.attempt = None
                if not is_judged:
                    self._conclude(failed, self._steered())
            elif calls or cited:
                done = ", ".join(map(call_told, calls))
                request = " ".join((asked or "").split()).rstrip(" .!")
                action = excerpt(f"{request}: {done}" if request and done else request or done, SHOWN * 2)
                self.attempt = Attempt(action, tuple(cited), tuple(self._steered()))

    def _judge_task(self, verdict: bool | None, said: str) -> bool:
        """End the running task if its model or its user says that it is over; return whether it ended.

        A task without recorded steps has no outcome, whatever is said about it.
        """
        if self.episode is None:
            return False
        if self._ended is not None:
            success, told = self._ended
            if success and not any(step["succeeded"] for step in self.episode.steps):
                self.episode, self._ended = None, None
            else:
                self.end_task(success, told)
            return True
        if verdict is None or not self.episode.steps:
            return False
        is_open = bool(self.working.pending_actions) or any(goal.status == "open" for goal in self.working.goals)
        if is_open and not verdict:
            self.record_step(str(self.episode.steps[-1]["action"]), excerpt(said, SHOWN), succeeded=False)
        elif not is_open:
            self.end_task(verdict, f"the user said that it {'worked' if verdict else 'did not work'}")
        return not is_open

    def _note_calls(self, calls: Sequence[Mapping[str, JSON]]) -> None:
        """Record the running task's failed calls, and those that made up for such a failure."""
        failed = {error["action"] for error in self._running().errors if error["resolution"] is None}
        for call in calls:
            name = str(call["name"])
            if is_failure(call) or (name in failed and not call["error"]):
                self.record_step(name, told_by(call), succeeded=not call["error"])
                failed.add(name)

    def conclude(self, outcome: TaskOutcome) -> str | None:
        """Remember the outcome of something that is not a task of working memory; what the gate refuses is not kept."""
        with AnsweredErrors():
            return self._conclude(outcome, self._steered())
        return None

    def _conclude(self, outcome: TaskOutcome, taint: Sequence[str]) -> str | None:
        return None if self._remember is None else self._remember(outcome, tuple(taint))

    def _note_taint(self) -> None:
        self.working.taint = list(joined(self.working.taint, self._steered()))

    def to_data(self) -> dict[str, JSON] | None:
        """Return working memory as JSON types, None if it is empty."""
        used = [] if self.episode is None else list(self.episode.used)
        empty = self.working == WorkingMemory(max_items=self.working.max_items) and self.attempt is None
        tried = None if self.attempt is None else asdict(self.attempt)
        return None if empty else {**self.working.to_data(), "used": used, "attempt": tried}

    def restore(self, data: Mapping[str, JSON]) -> None:
        """Restore what ``to_data`` returned in an earlier process; a running task continues."""
        working = WorkingMemory.from_data({key: value for key, value in data.items() if key not in BESIDE})
        self.attempt = Attempt(**data["attempt"]) if data.get("attempt") else None
        working.max_items = self.working.max_items
        self.working.__dict__.update(working.__dict__)
        self.working.trim()
        if working.task is None or working.current_phase in ENDED:
            return
        used = dict.fromkeys(data.get("used", ()))
        self.episode = Episode(working.task, decisions=self.working.decisions, used=used)
        for step in working.completed_steps:
            self.episode.add_step(step.action, step.result, succeeded=step.succeeded)

    def _running(self) -> Episode:
        if self.episode is None:
            raise LoopError("No task is running. Start one with start_task(task).")
        return self.episode
