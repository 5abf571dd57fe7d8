"""Commands of other programs that newcomers type, and their equivalents here; loaded for an unknown word."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches

import click

ONE_VERB = (
    "list ls", "show get view cat info", "search find query recall lookup", "new create add make give grant issue",
    "rm remove delete del destroy revoke withdraw", "set edit change", "history log versions", "check validate verify",
)  # fmt: skip
"""Synonymous verbs: a group that has another one of them is suggested with that."""

MEANT = {
    "memory add": "remember, save, store, note, learn, tell, memory remember, memory save, memory store",
    "memory search": "find, query, lookup, memory recall, memory ask",
    "memory list": "ls, show, records, facts, memories, all, memory all",
    "memory list --open": "pending, waiting, queue, inbox, quarantine, memory pending, memory quarantine",
    "memory supersede": "edit, change, replace, correct, memory edit, memory change, memory replace, memory correct",
    "memory get": "memory history, memory log, memory info",
    "memory import": "load, ingest, upload",
    "memory export": "backup, dump, save-all, memory backup, memory dump, export user, export memory",
    "memory consolidate": "compact, summarize, dedupe, memory compact, memory summarize, memory dedupe",
    "memory sweep": "gc, clean, cleanup, prune, memory clean, memory prune, memory gc",
    "consent list": "users, user, who, people",
    "setup": "login, auth, model, models, provider, providers, llm, configure, connect",
    "config show": "settings, preferences, options, whoami, config list, config ls, config get",
    "doctor": "status, info, health, diagnose, diagnostics, doctor fix",
    "fsck": "repair, verify",
    "index rebuild": "reindex, index build",
    "lint": "check, validate",
    "lint --fix": "fix, format",
    "audit": "log, logs, history, events, audit log, audit list, audit show",
    "serve": "server, daemon, up, mcp serve, mcp start, mcp run, serve mcp, serve stdio",
    "serve --http 127.0.0.1:8765": "web, ui, gui, dashboard, browser, open, serve http, serve web",
    "mcp install": "mcp add, mcp setup, mcp configure, mcp connect, install, cursor, claude, codex",
    "gen": "generate, render, scaffold, build, project, agent, agents, template, templates",
    "targets": "sdks, frameworks, targets list, targets ls",
    "init": "new, create, init-store, workspace",
    "demo": "tour, tutorial, quickstart, example, examples, try",
    "chat": "talk, repl, shell, console",
    "chat -p TEXT": "ask, say, prompt",
    "chat --continue": "continue, sessions continue",
    "chat --resume": "resume, sessions resume, sessions open, sessions load, sessions start, chat resume",
    "chat --session NAME": "sessions new, sessions create, sessions add",
    "sessions list": "chats, conversation, conversations, thread, threads",
    "sessions show": "sessions export, sessions print",
    "skill list": "skills", "policy list": "policies", "domain list": "domains", "key list": "keys",
    "token list": "tokens", "plan runs": "plans", "rule": "rules",
    "skill import": "skill add, skill install",
    "evolve": "evolution, optimize",
    "graph show": "relations, entities, visualize, draw, plot, graph draw, graph list",
    "core show": "persona, profile, blocks, core list",
    "core set": "core edit, core add", "config set": "set",
    "trust --show": "trust show, trust list, trust status, tools",
    "trust --revoke": "untrust, trust revoke, trust remove, distrust",
    "git setup": "hooks, git init",
    "--version": "version, about, -v, -V", "--help": "help, man, manual, docs, usage",
}  # fmt: skip
"""The equivalent command → what newcomers type, without ``memkit``."""

TOLD = {
    "'memkit memory forget ID' retires one record, 'memkit memory erase --user USER' removes all that a user has.":
        "delete, remove, rm, clear, wipe, purge, reset, memory delete, memory remove, memory rm, memory del, "
        "memory clear, memory wipe, memory purge, memory reset",
    "'memkit memory restore ID' brings back what was forgotten; a skill, a policy, a domain and core memory have "
    "'rollback', as in 'memkit skill rollback'.": "undo, redo, revert, rollback, memory undo, memory revert",
    "'memkit memory import FILE' restores an export, 'memkit memory restore ID' a forgotten record.": "restore",
    "'memkit chat' talks to the agent, 'memkit serve' serves the store to other programs.": "start, run, launch, go",
    "It is a file: change it in an editor, or take it away with 'git rm', and commit it.":
        "skill edit, skill rm, skill remove, skill delete, policy edit, policy rm, policy remove, policy delete, "
        "policy disable, domain edit, domain rm, domain remove, domain delete",
    "A store is a git repository: after 'memkit git setup', git itself pushes, pulls, clones and merges it.":
        "sync, push, pull, clone, branch, fork",
    "'memkit config set privacy.seal user' seals what is remembered from then on.": "encrypt, seal, lock, encryption",
    "A model's key stays in the environment, 'memkit setup' names its variable; keys that seal text are made by "
    "themselves.": "key new, key create, key add, key set, key generate",
    "'pip install --upgrade memkit-agent' brings a newer memkit, 'memkit migrate' a store to its format.":
        "upgrade, self-update, update-self",
    "'pip uninstall memkit-agent' removes memkit; a store is a folder of yours, and stays.": "uninstall",
    "'memkit lint' checks the files, 'memkit policy test' and 'memkit domain test' what they decide, 'memkit eval' "
    "what memory answers.": "test, tests",
}  # fmt: skip
"""Advice if no single command is equivalent → what newcomers type."""


def meant_by(ctx: click.Context, args: Sequence[str]) -> str:
    """Return `` Did you mean '…'?``, or advice, for words of other programs; an empty string for others.

    Args:
        ctx: The context of the group or command that does not know the first of ``args``.
        args: What was typed after its name.
    """
    for asked, word in (*_turned_round(ctx, args), (ctx, args[0])):
        path = asked.command_path.split()[1:]
        typed = " ".join([*path, word])
        if told := _kept_under(typed, TOLD):
            return f" {told}"
        if command := _kept_under(typed, MEANT) or _by_another_verb(asked, word):
            return f" Did you mean 'memkit {command}'?"
    return ""


def _kept_under(typed: str, table: Mapping[str, str]) -> str:
    return next((answer for answer, words in table.items() if typed in words.split(", ")), "")


def _turned_round(ctx: click.Context, args: Sequence[str]) -> Iterator[tuple[click.Context, str]]:
    """Yield the group and the verb of ``list skills``, which is ``skill list`` here."""
    group = ctx.command
    if ctx.parent is None and isinstance(group, click.Group) and len(args) > 1:
        near = get_close_matches(args[1].lower(), group.list_commands(ctx), n=1, cutoff=0.7)
        inner = group.get_command(ctx, near[0]) if near else None
        if isinstance(inner, click.Group):
            yield click.Context(inner, ctx, near[0]), args[0]


def _by_another_verb(ctx: click.Context, verb: str) -> str:
    """Return the group's command that means ``verb``; that of memory if no group was named."""
    path, group = ctx.command_path.split()[1:], ctx.command
    if not path and isinstance(group, click.Group):
        path, group = ["memory"], group.get_command(ctx, "memory") or group
    if not isinstance(group, click.Group):
        return ""
    alike = next((words.split() for words in ONE_VERB if verb in words.split()), [])
    known = group.list_commands(ctx)
    return next((" ".join([*path, word]) for word in [verb, *alike] if word in known), "")
