"""The slash commands on what the agent works with: ``/context``, ``/skills`` and ``/policy``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from memkit.cli.chat.conversation import Conversation
from memkit.cli.output import suggestion
from memkit.errors import NotFound
from memkit.terminal import one_line

BAR = 30
APART = "summary_"
"""How the counts of what summaries cost begin."""


def show_context(conversation: Conversation, _argument: str) -> str:
    """Return how many tokens of the prompt each tier takes, as bars, and what the session cost."""
    working = conversation.agent.tasks.working.lines()
    usage = conversation.agent.context_usage()
    budget, tiers = usage["budget"], [("in all", usage["used"]), *usage["tiers"].items()]
    return "\n".join(
        [
            f"The prompt may have {budget:,} tokens.",
            *(meter(name, tokens, budget) for name, tokens in tiers),
            cost(conversation.agent.spent),
            *(["The task at hand:"] if working else []),
            *(f"  {one_line(line, 120)}" for line in working),
        ]
    )


def meter(name: str, tokens: int, budget: int) -> str:
    """Return a line with a bar; whatever is there at all is seen.

    >>> meter("core", 2000, 8000)
    '  core        ████████······················   2,000  25 %'
    """
    share = tokens / budget if budget else 0.0
    full = min(BAR, max(round(share * BAR), 1 if tokens else 0))
    return f"  {name:<10}  {'█' * full:·<{BAR}} {tokens:>7,} {share:>4.0%}".replace("%", " %")


def cost(usage: Mapping[str, int]) -> str:
    """Return what a session cost, and how much of that is a guess.

    >>> cost({"input": 1200, "output": 30, "requests": 4, "cached": 800, "estimated": 1})
    'The model was asked 4 times: 1,200 tokens in (800 from its cache), 30 out. Of 1 answer they are estimated.'
    """
    summaries = {key.removeprefix(APART): count for key, count in usage.items() if key.startswith(APART)}
    apart = "\n" + _cost("For summaries a model", {"input": 0, "output": 0, **summaries}) if summaries else ""
    return _cost("The model", usage) + apart


def _cost(who: str, usage: Mapping[str, int]) -> str:
    again = f" ({usage['retries']} more after a fault)" if usage.get("retries") else ""
    cached = f" ({usage['cached']:,} from its cache)" if usage.get("cached") else ""
    said = f"{who} was asked {_times(usage['requests'])}{again}: {usage['input']:,} tokens in{cached}, "
    guessed = usage.get("estimated", 0)
    of = f" Of {guessed} answer{'' if guessed == 1 else 's'} they are estimated." if guessed else ""
    return f"{said}{usage['output']:,} out.{of}"


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number:,} times"


def show_skills(conversation: Conversation, argument: str) -> str:
    """Return the store's skills, or the steps of one."""
    skills = conversation.workspace.skills
    if not argument:
        return "\n".join(f"{one.name}: {one_line(one.description, 100)}" for one in skills.values()) or "No skills."
    if argument not in skills:
        raise NotFound(f"There is no skill {one_line(argument, 60)}.{suggestion(argument, skills)}")
    skill = skills[argument]
    steps = [f"  {number}. {one_line(step)}" for number, step in enumerate(skill.steps, 1)]
    checks = [f"  check: {one_line(check)}" for check in skill.safety_checks]
    return "\n".join([f"{skill.name}: {one_line(skill.description)}", *steps, *checks])


def skills_of(conversation: Conversation) -> Iterable[tuple[str, str]]:
    """Return the store's skills by name."""
    return ((skill.name, skill.description) for skill in conversation.workspace.skills.values())


def show_policy(conversation: Conversation, argument: str) -> str:
    """Return the rules that judge every action, or one of them in full."""
    guard = conversation.workspace.live_guard
    rules = {rule.name: rule.rule for rule in guard.advice()}
    if guard.fault is not None:
        return f"The policies do not load, so every tool call is denied: {guard.fault}"
    if not argument:
        return "\n".join(f"{name}: {one_line(rule, 160)}" for name, rule in rules.items()) or "No policies."
    if argument not in rules:
        raise NotFound(f"There is no policy {one_line(argument, 60)}.{suggestion(argument, rules)}")
    return f"{argument}: {one_line(rules[argument])}\nAll of it: memkit policy show {argument}"


def policies_of(conversation: Conversation) -> Iterable[tuple[str, str]]:
    """Return the policies by name."""
    return ((rule.name, rule.rule) for rule in conversation.workspace.live_guard.advice())
