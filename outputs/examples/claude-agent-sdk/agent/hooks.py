"""Hooks around a tool: the policies before it, core memory and the window limit after it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from claude_agent_sdk import HookContext, HookInput, HookMatcher
from claude_agent_sdk.types import HookEvent, SyncHookJSONOutput

from agent.exchange import Call, text_of
from agent.tools import PREFIX, own_name

if TYPE_CHECKING:
    from agent.claude_actor import ClaudeActor

TOO_MANY = "Not run: too many calls in one turn. Answer without tools."
A_DAY = 24 * 60 * 60.0
"""Seconds that a person may think about a question; by default the command line waits one minute and continues."""


def hooks_of(actor: ClaudeActor) -> dict[HookEvent, list[HookMatcher]]:
    """Return the hooks of a conversation."""

    async def before(data: HookInput, call_id: str | None, context: HookContext) -> SyncHookJSONOutput:
        """Ask the policies; the body of a call that they stop never runs, and the model is told why."""
        asked: Mapping[str, Any] = {**data}
        actor.patience.rest()
        return _gate(actor, await actor.exchange.seen(call_id, asked["tool_name"], asked["tool_input"]))

    async def after(data: HookInput, call_id: str | None, context: HookContext) -> SyncHookJSONOutput:
        """Show changed core memory, and end the run if the window is full."""
        done: Mapping[str, Any] = {**data}
        call = await actor.exchange.seen(call_id, done["tool_name"], done["tool_input"])
        call.ran = True
        return _refresh(actor, text_of(done["tool_response"]))

    every = f"{PREFIX}.*"
    return {
        "PreToolUse": [HookMatcher(matcher=every, hooks=[before], timeout=A_DAY)],
        "PostToolUse": [HookMatcher(matcher=every, hooks=[after])],
    }


def _gate(actor: ClaudeActor, call: Call) -> SyncHookJSONOutput:
    """Return whether a call may run; nothing is awaited in here, so calls are judged one after another."""
    name = own_name(call.name)
    actor.window.gather(call.given)
    if actor.number_call() > actor.most_calls:
        return _denied(call, TOO_MANY)
    if not isinstance(call.given, Mapping):
        # No server accepts such a call back, so the answer is not sent as it is.
        actor.begin_anew = True
        return {**_denied(call, actor.toolbox.call(name, str(call.given)).text), "continue_": False}
    objection = actor.toolbox.objection(name, call.given)
    if objection is not None:
        return _denied(call, objection)
    call.passed = True
    given = actor.toolbox.given(name, call.given)
    if given is None or given == call.given:
        return {}
    # Judged as it will run: the SDK checks arguments against the schema before the tool interprets them.
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "allow",
            "updatedInput": given,
        }
    }


def _denied(call: Call, reason: str) -> SyncHookJSONOutput:
    call.refusal = reason
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        }
    }


def _refresh(actor: ClaudeActor, result: str) -> SyncHookJSONOutput:
    actor.window.gather(result)
    if actor.window.is_full():
        actor.begin_anew = True
        return {"continue_": False, "stopReason": "The window is full."}
    core = actor.window.changed_core()
    if core is None:
        return {}
    context = f"Core memory has changed. It is now:\n{core}"
    return {"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": context}}
