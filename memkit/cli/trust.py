"""``memkit trust``: allow a store to run and contact what it names; and the question where that is needed."""

from __future__ import annotations

from typing import Any

import click

from memkit.cli.output import Front, agrees, diagnostic, listed, memkit_command, named
from memkit.errors import NegativeAnswer, UsageError
from memkit.runtime.host.terminal import counted
from memkit.store.allowances import Demands
from memkit.store.layout import find_store
from memkit.store.trust import Trust

STRANGERS = "Other clones wrote into this memory: recall leaves that out, and a search marks it, until 'memkit trust'."
_WRITTEN = "Trusted: what other clones wrote into this memory is now recalled, and what of it waited takes effect."
_NOTHING = "This store names nothing to run or to ask, so there is nothing to allow."


@memkit_command("trust")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--show", is_flag=True, help="Show what it would allow and whether it is allowed (exit 1 if not).")
@click.option("--digest", metavar="D", help="Trust it if what it would allow has this digest, and do not ask.")
@click.option("--revoke", is_flag=True, help="Withdraw the trust.")
def trust(front: Front, yes: bool, show: bool, digest: str | None, revoke: bool) -> None:
    """Let this store run its tools and checks and contact its provider, as they are now; any change needs new trust.

    The decision is kept outside the store, on this machine alone. Without it every command still reads, lints, reviews
    and adds memory. Where nobody can be asked, give the digest that --show prints: --digest, or MEMKIT_TRUST.
    """
    if show + revoke + (digest is not None) > 1 or (yes and (show or revoke)):
        raise UsageError("Give one of --yes, --show, --digest and --revoke.")
    trust = Trust(find_store(front.store))
    if revoke:
        _revoke(front, trust)
    demands = trust.demands()
    if show:
        _show(front, trust, demands)
    from memkit.cli.output import require_person

    require_person("'memkit trust'")
    if digest is not None and digest.strip().lower() != demands.digest:
        raise NegativeAnswer(
            f"What this store would run or ask has another digest: {demands.digest}. Nothing was trusted; look with "
            "'memkit trust --show'."
        )
    has_strangers = _has_strangers(front, trust)
    if demands.allows or has_strangers:
        _confirm(front, trust, demands, is_answered=yes or digest is not None)
        trust.give(demands)
    things = counted(len(demands.allows), "thing")
    told = [f"Trusted: {things}. You will be asked again after any change to it."] if demands.allows else []
    told += [_WRITTEN] if has_strangers else []
    front.answer(_data(demands, trusted=True), told or _NOTHING)


def _has_strangers(front: Front, trust: Trust) -> bool:
    """Return whether other clones wrote into the memory; a server is not contacted before the store is trusted."""
    return front.workspace.settings["backends.archive"] == "files" and front.workspace.has_strangers()


def _revoke(front: Front, trust: Trust) -> None:
    was_kept = trust.take_back()
    demands = trust.demands()
    told = "This store is no longer trusted." if was_kept else "This store was not trusted here."
    front.answer(_data(demands, trusted=trust.holds(demands)), told)


def _show(front: Front, trust: Trust, demands: Demands) -> None:
    has_strangers = _has_strangers(front, trust)
    trusted, changed = trust.holds(demands) and not has_strangers, trust.changed(demands)
    lines = [_NOTHING] if not demands.allows else [f"This store {'may' if trusted else 'would'}:", *listed(demands)]
    lines = [STRANGERS, *(lines if demands.allows else [])] if has_strangers else lines
    if not trusted:
        lines.append("It is not trusted here." if not changed else f"Changed since it was trusted: {named(changed)}.")
    lines.append(f"digest: {demands.digest}")
    findings = [diagnostic("changed", f"Changed since it was trusted: {name}") for name in changed]
    front.answer(_data(demands, trusted=trusted), lines, ok=trusted, diagnostics=findings)


def _confirm(front: Front, trust: Trust, demands: Demands, *, is_answered: bool) -> None:
    if is_answered:
        return
    if not front.interactive:
        raise UsageError(
            "Cannot ask for confirmation here. 'memkit trust --show' says what it would allow; then add --yes or "
            "--digest D."
        )
    if not agrees(trust, demands):
        raise NegativeAnswer("Not trusted. Nothing was changed.")


def _data(demands: Demands, *, trusted: bool) -> dict[str, Any]:
    return {
        "digest": demands.digest,
        "trusted": trusted,
        "allows": [allowance.to_data() for allowance in demands.allows],
    }
