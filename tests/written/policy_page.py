"""Write what the shipped policies say to the shipped corpus into their page.

``python -m tests.written.policy_page`` rewrites the table in ``docs/starter-policies.md`` of the checkout.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from memkit.policies.files import load_policies
from memkit.resources import resource
from memkit.runtime.guard.core import Guard
from memkit.use_cases.policy_proofs import cover_calls

from . import CHECKOUT

PAGE = CHECKOUT / "docs/starter-policies.md"
BEGIN, END = "<!-- coverage: begin -->", "<!-- coverage: end -->"


def coverage_table() -> str:
    """Return what is decided about the calls of each category, from a run."""
    guard = Guard([policy.data for policy in load_policies(resource("policies"))])
    decided: dict[str, Counter[str]] = {}
    opaque: Counter[str] = Counter()
    for call in cover_calls(guard):
        decided.setdefault(call.category, Counter())[call.decision] += 1
        opaque[call.category] += call.opaque
    return "\n".join(_rows(decided, opaque))


def _rows(decided: dict[str, Counter[str]], opaque: Counter[str]) -> Iterator[str]:
    yield "| calls | in all | stopped (deny, ask) | of these opaque | let pass |"
    yield "|---|---|---|---|---|"
    for kind in ("destructive", "ordinary", "disguised", "not seen"):
        named = {name: counts for name, counts in sorted(decided.items()) if name.split(":")[0] == kind}
        for name, counts in named.items():
            yield _row(name, counts, opaque[name])
        if len(named) > 1:
            yield _row(f"**{kind}, all**", sum(named.values(), Counter()), sum(opaque[name] for name in named))


def _row(name: str, counts: Counter[str], opaque: int) -> str:
    stopped = counts["deny"] + counts["ask"]
    return f"| {name} | {counts.total()} | {stopped} | {opaque} | {counts.total() - stopped} |"


def page(text: str) -> str:
    """Return the page with the table of this run."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{coverage_table()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
