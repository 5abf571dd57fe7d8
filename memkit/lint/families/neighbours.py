"""A skill beside others: examples that another skill matches better, and steps that a policy denies."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memkit.lint.families.skills import OTHER, PLACE, SKILL, code_spans, is_shell_tool
from memkit.lint.interface import Checked, Collection, Finding, Rule
from memkit.runtime.guard.core import Guard
from memkit.runtime.guard.interface import MatchedPolicy, PolicySetError
from memkit.store.yaml import KeyPath

K1, B = 1.5, 0.75
"""The defaults of ``rank_bm25``."""

MARGIN = 1.5
"""The factor by which another skill must match better; less is chance."""

_STOP = frozenset(
    """a an and are as at be by can do does for from how i if in is it its me my of on or our please that the there
    this to was we what when where which who why with you your""".split()  # noqa: SIM905
)


@dataclass(frozen=True)
class Ranked:
    """A skill as search finds it."""

    name: str
    counts: Mapping[str, int]
    length: int


class Ranking:
    """Every skill's words, by word, so that a request examines only skills that share one with it."""

    def __init__(self, skills: Mapping[str, Mapping[str, Any]]) -> None:
        self.skills = [Ranked(name, counts, sum(counts.values())) for name, counts in sorted(_counted(skills))]
        self.mean = sum(skill.length for skill in self.skills) / len(self.skills) if self.skills else 0.0
        self._own = {skill.name: skill for skill in self.skills}
        self._known: dict[str, list[tuple[str, float]]] = {}
        self._having: dict[str, list[int]] = {}
        for place, skill in enumerate(self.skills):
            for word in skill.counts:
                self._having.setdefault(word, []).append(place)

    def shared(self, name: str, request: list[str], own: str) -> int:
        """Return how many words of a request a skill has; one that only its own example has does not count."""
        left_out = Counter(request) if name == own else Counter()
        return sum(self._own[name].counts.get(word, 0) > left_out[word] for word in set(request))

    def scores(self, request: list[str], own: str = "") -> dict[str, float]:
        """Return the score of each skill that shares a word; ``own`` is scored without the request among its words."""
        found: dict[str, float] = {}
        for word in request:
            for name, score in self._scored(word):
                found[name] = found.get(name, 0.0) + score
        if own in found:
            del found[own]
            left_out, skill = Counter(request), self._own[own]
            for word in request:
                count = skill.counts[word] - left_out[word]
                if count > 0:
                    score = self._score(word, count, skill.length - len(request))
                    found[own] = found.get(own, 0.0) + score
        return found

    def _scored(self, word: str) -> list[tuple[str, float]]:
        """Return a word's contribution to each skill that has it; many requests share their words."""
        if word not in self._known:
            having = (self.skills[place] for place in self._having.get(word, ()))
            self._known[word] = [(one.name, self._score(word, one.counts[word], one.length)) for one in having]
        return self._known[word]

    def _score(self, word: str, count: int, length: int) -> float:
        having = len(self._having[word])
        weight = math.log(1 + (len(self.skills) - having + 0.5) / (having + 0.5))
        return weight * count * (K1 + 1) / (count + K1 * (1 - B + B * length / self.mean))


def confused_examples(files: Collection) -> Iterator[Finding]:
    """Yield each example whose input another skill matches better than the example's own."""
    live = {name: file for name, file in files.skills.items() if not file.data.get("deprecated")}
    if len(live) < 2:
        return
    ranking = Ranking({name: file.data for name, file in live.items()})
    for name, file in live.items():
        for number, example in enumerate(file.data.get("examples", ())):
            asked = words(example["input"])
            scores = ranking.scores(asked, name)
            winner = min(scores, key=lambda other: (-round(scores[other], 6), other), default=name)
            if winner != name and _plainly_wins(ranking, winner, name, asked, scores):
                told = f"{scores[winner]:.1f} against {scores.get(name, 0.0):.1f}"
                message = (
                    f"The skill {winner!r} matches this request better ({told}). Say in the description what is "
                    "special here."
                )
                yield file.found("MKS204", message, ("examples", number, "input"))


def _plainly_wins(ranking: Ranking, winner: str, own: str, asked: list[str], scores: Mapping[str, float]) -> bool:
    """Return whether the win is plain to a person: a much better match, by two words and a third of all more."""
    shared = ranking.shared(winner, asked, own)
    more = shared - ranking.shared(own, asked, own)
    return scores[winner] >= MARGIN * scores.get(own, 0.0) and more >= 2 and shared * 3 >= len(set(asked))


def words(text: str) -> list[str]:
    """Return the words of a text that distinguish skills; a number alone does not count."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return [word for word in re.findall(r"[^\W_]+", plain) if word not in _STOP and not word.isnumeric()]


def _counted(skills: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, Counter[str]]]:
    for name, data in skills.items():
        when = data.get("when_to_use", ())
        examples = [example["input"] for example in data.get("examples", ())]
        parts = [
            name,
            name,
            data["description"],
            *([when] if isinstance(when, str) else when),
            *examples,
            *data["steps"],
        ]
        yield name, Counter(words(" ".join(parts)))


_CALL = re.compile(r"\b([A-Za-z_][\w.-]{1,63})\(([^()\n]*)\)")
_ARGUMENT = re.compile(r"\s*([A-Za-z_]\w*)\s*[=:]\s*(\"[^\"]*\"|'[^']*'|[^,]*?)\s*(?:,|$)")
_SAID = re.compile(r"\b(?:call|use|invoke|run|with)\s+`?([A-Za-z_]\w{1,63})`?\s+with\s+([^.\n]+)", re.IGNORECASE)
_PAIR = re.compile(r"\b([A-Za-z_]\w*)\s*(?:=|:|set to|is)\s*(\"[^\"]*\"|'[^']*'|`[^`]*`|[\w./:-]+)")

_ORDER = re.compile(
    r"(?:^|[.:;]\s+|\b(?:then|and)\s+)(?:run|execute|type|enter)\s+(?=[a-z./~])([^\n`]+)", re.IGNORECASE
)

_SQL = re.compile(
    r"\s*(?:select|insert|update|delete|drop|alter|truncate|create|grant|revoke|merge|with)\b", re.IGNORECASE
)

_SHELLS = ("bash", "shell")
_DATABASES = ("sql_query",)
Call = tuple[str, Mapping[str, Any]]


def denied_steps(files: Collection) -> Iterator[Finding]:
    """Yield each step, or required tool, that a hard policy denies unless an exception holds."""
    guard = _hard_guard(files)
    if guard is None:
        return
    for file in files.skills.values():
        if not file.data.get("deprecated"):
            yield from _in_skill(file, guard)


def _hard_guard(files: Collection) -> Guard | None:
    """Return the guard of the hard policies that deny; None if there are none or they do not compile together."""
    data = [file.data for file in files.policies.values()]
    denying = [
        each for each in data if each["enforcement"] == "hard" and each.get("effect") == "deny" and "match" in each
    ]
    try:
        return Guard(denying) if denying else None
    except PolicySetError:
        return None


def _in_skill(file: Checked, guard: Guard) -> Iterator[Finding]:
    tools = [tool for tool in file.data.get("required_tools", ()) if isinstance(tool, str)]
    for number, tool in enumerate(tools):
        verdict = _denial(guard, [(tool, {})])
        if verdict:
            message = f"The hard policy {verdict.name!r} denies every call of {tool!r}."
            yield file.found("MKS501", message, ("required_tools", number))
    for number, step in enumerate(file.data["steps"]):
        told = 0
        for start, end, calls in sorted(_calls(step, tools), key=lambda call: call[:2]):
            verdict = _denial(guard, calls) if start >= told else None
            if verdict:
                told = end
                message = f"The hard policy {verdict.name!r} denies this: {verdict.reason}."
                yield file.found("MKS501", message, ("steps", number), part=(start, end))
    for number, check in enumerate(file.data.get("checks", ())):
        path: KeyPath = ("checks", number, "run")
        # A check without a command states itself what the policies shall decide, and 'skill check' asks them.
        command = check.get("run")
        verdict = _denial(guard, [(tool, {"command": command}) for tool in _shells(tools)]) if command else None
        if verdict:
            yield file.found("MKS501", f"The hard policy {verdict.name!r} denies this: {verdict.reason}.", path)


def _denial(guard: Guard, calls: Sequence[Call]) -> MatchedPolicy | None:
    """Return a certain denial of one of the calls: prose that no shell could parse is not a command."""
    for tool, args in calls:
        for finding in guard.decide(tool, args, {}).policies:
            if finding.effect == "deny" and not finding.opaque and "failed" not in finding.reason:
                return finding
    return None


def _calls(step: str, tools: Sequence[str]) -> Iterator[tuple[int, int, list[Call]]]:
    taken: list[tuple[int, int]] = []
    for start, end in code_spans(step):
        taken.append((start, end))
        code = step[start:end].strip()
        yield start, end, [*_named_calls(code), *_commands(code, tools)]
    for match in _CALL.finditer(step):
        if not _inside(match.span(), taken):
            yield *match.span(), list(_named_calls(match[0]))
    for match in _SAID.finditer(step):
        args = {key: value.strip("\"'`") for key, value in _PAIR.findall(match[2])}
        if args:
            yield *match.span(), [(match[1], args)]
    for match in _ORDER.finditer(step):
        if not _inside(match.span(1), taken):
            yield *match.span(1), list(_commands(match[1].rstrip(" .,;"), tools))


def _named_calls(code: str) -> Iterator[Call]:
    for name, inner in _CALL.findall(code):
        yield name, {key: value.strip("\"'") for key, value in _ARGUMENT.findall(inner)}


def _commands(code: str, tools: Sequence[str]) -> Iterator[Call]:
    for tool in _shells(tools):
        yield tool, {"command": code}
    if _SQL.match(code):
        for tool in [tool for tool in tools if "sql" in tool or "query" in tool or "db" in tool] or _DATABASES:
            yield tool, {"query": code}


def _shells(tools: Sequence[str]) -> Sequence[str]:
    return [tool for tool in tools if is_shell_tool(tool)] or _SHELLS


def _inside(span: tuple[int, int], others: Sequence[tuple[int, int]]) -> bool:
    return any(start <= span[0] and span[1] <= end for start, end in others)


RULES = (
    Rule(
        "MKS204",
        "confused-example",
        "Another skill fits the input of an example better than the example's own skill.",
        "A request in these words leads an agent to the wrong skill. Skills are ranked by BM25; the example itself "
        "does not count for its own skill.",
        SKILL + "examples: [{input: Swim with the dog in the lake., approach: Takes the towel.}]\n",
        SKILL + "examples: [{input: Walk the dog to the door., approach: Takes the lead.}]\n",
        PLACE,
        extra={"skills/swim.yaml": OTHER},
        severity="warning",
        together=confused_examples,
    ),
    Rule(
        "MKS501",
        "denied-step",
        "A step of a skill does what an active hard policy denies.",
        "The agent would try it, be stopped, and not know why. Commands in backticks, calls such as "
        "`deploy(to=prod)` and the required tools are judged by the engine that judges the agent, with an empty "
        "context. If an exception of the policy is meant to apply, say so in the step and suppress the finding with "
        "that reason.",
        SKILL.replace("Find the lead.", "Run `rm -rf ~/walks`.") + "safety_checks: [Ask first.]\n",
        SKILL.replace("Find the lead.", "Run `ls ~/walks`.") + "safety_checks: [Ask first.]\n",
        PLACE,
        extra={
            "policies/no_deletes.yaml": "name: no_deletes\ndescription: Keeps files.\nrule: Delete nothing.\n"
            "enforcement: hard\neffect: deny\nmatch: {tool: bash, args.command: {shell: {program: rm}}}\n"
            "tests: [{name: stops rm, call: {tool: bash, args: {command: rm x}}, expect: deny}]\n"
        },
        together=denied_steps,
    ),
)
