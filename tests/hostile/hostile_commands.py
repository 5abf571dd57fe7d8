"""Every command of the command line with arguments that let it do its work on a store that somebody else made."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

import click

from memkit.cli.main import cli, run

COMMANDS: dict[str, list[str]] = {
    "init": ["init {out}/new", "init {out} --adopt"],
    "demo": [],
    "memory add": ["memory add 'Ada plays the cello' --user ada"],
    "memory search": ["memory search tea --user ada", "memory search tea --user ada --at HEAD"],
    "memory list": ["memory list --user ada"],
    "memory get": ["memory get {id}"],
    "memory why": ["memory why {id}"],
    "memory blame": ["memory blame {id}"],
    "memory stats": ["memory stats --user ada"],
    "memory supersede": ["memory supersede {id} 'Ada drinks coffee'"],
    "memory refine": ["memory refine {id} 'add green'"],
    "memory merge": ["memory merge {id} {other}"],
    "memory update": ["memory update {id} --tag drinks"],
    "memory confirm": ["memory confirm {id}"],
    "memory contradict": ["memory contradict {id}"],
    "memory reject": ["memory reject {id}"],
    "memory allow": ["memory allow SYNTH-42-17 --user ada"],
    "memory approve": ["memory approve {id}"],
    "memory resolve": ["memory resolve {id} --holds"],
    "memory forget": ["memory forget {id}"],
    "memory restore": ["memory restore {id}"],
    "memory revoke": ["memory revoke --session {session} --user ada --yes"],
    "memory sweep": ["memory sweep"],
    "memory consolidate": ["memory consolidate --user ada", "memory consolidate --user ada --dry-run"],
    "memory export": ["memory export --user ada", "memory export --user ada --out {out}/export.jsonl"],
    "memory import": ["memory import {offers} --format memkit --user ada"],
    "memory erase": ["memory erase --user ada --dry-run", "memory erase --user ada --yes --out {out}/certificate.json"],
    "memory put": ["memory put color blue --user ada"],
    "memory get-value": ["memory get-value color --user ada"],
    "memory reflect": ["memory reflect --user ada", "memory reflect --user ada --dry-run"],
    "memory snapshot": ["memory snapshot"],
    "graph show": ["graph show --user ada"],
    "graph around": ["graph around Ada --user ada"],
    "graph path": ["graph path Ada tea --user ada"],
    "eval": ["eval {offers}"],
    "export": ["export --agents-md --user ada"],
    "page": ["page --out {out}/page --user ada"],
    "backend status": ["backend status"],
    "backend move": ["backend move --to files --dry-run"],
    "backend migrate": [],
    "core history": ["core history --user ada"],
    "core rollback": ["core rollback human --user ada"],
    "core set": ["core set human 'Ada is a nurse' --user ada"],
    "core show": ["core show --user ada"],
    "consent grant": ["consent grant --user bob"],
    "consent list": ["consent list"],
    "consent withdraw": ["consent withdraw --user ada"],
    "chat": ["chat --user ada -p 'I like green tea' --provider reference", "chat --user ada -p /policy"],
    "sessions list": ["sessions list --user ada"],
    "sessions search": ["sessions search tea --user ada"],
    "sessions show": ["sessions show {session} --user ada"],
    "sessions rename": ["sessions rename {session} tea --user ada"],
    "sessions adopt": ["sessions adopt --yes"],
    "sessions rm": ["sessions rm {session} --user ada --yes"],
    "skill new": ["skill new made-here"],
    "skill list": ["skill list"],
    "skill show": ["skill show hybrid-planner"],
    "skill search": ["skill search deploy"],
    "skill run": ["skill run hybrid-planner --user ada --provider reference"],
    "skill stats": ["skill stats"],
    "skill history": ["skill history hybrid-planner"],
    "skill diff": ["skill diff hybrid-planner"],
    "skill check": ["skill check"],
    "skill commit": ["skill commit write-a-decision-record --bump patch --note Clearer"],
    "skill rollback": ["skill rollback hybrid-planner 1.0.0"],
    "skill propose": ["skill propose --from-session {session} --user ada"],
    "skill scan": ["skill scan skills"],
    "skill import": ["skill import {SKILL.md}"],
    "skill export": ["skill export hybrid-planner"],
    "policy list": ["policy list"],
    "policy show": ["policy show destructive_command_approval"],
    "policy stats": ["policy stats"],
    "policy search": ["policy search delete"],
    "policy new": ["policy new made_here"],
    "policy check": ["policy check --tool bash --arg 'command=rm -rf /srv'"],
    "policy coverage": ["policy coverage"],
    "policy conflicts": ["policy conflicts"],
    "policy diff": ["policy diff", "policy diff HEAD~1..HEAD"],
    "policy test": ["policy test"],
    "policy commit": ["policy commit destructive_command_approval"],
    "policy export": ["policy export --format claude-code --out {out}/claude"],
    "policy history": ["policy history destructive_command_approval"],
    "policy rollback": ["policy rollback destructive_command_approval 1.0.0"],
    "domain new": ["domain new made_here"],
    "domain list": ["domain list"],
    "domain show": ["domain show errands"],
    "domain check": ["domain check"],
    "domain test": ["domain test"],
    "domain graph": ["domain graph errands --svg {out}/graph.svg"],
    "domain commit": ["domain commit errands"],
    "domain history": ["domain history errands"],
    "domain rollback": ["domain rollback errands HEAD~1"],
    "domain convert": ["domain convert errands {out}/converted.hddl"],
    "domain learned": ["domain learned"],
    "domain promote": ["domain promote errands nothing"],
    "domain reject": ["domain reject errands nothing --reason 'Not ours'"],
    "plan": ["plan --problem {problem} --domain errands"],
    "evolve": ["evolve status latest"],
    "lint": ["lint", "lint --fix"],
    "rule": ["rule MKS001"],
    "diff": ["diff", "diff HEAD~1..HEAD"],
    "review": ["review", "review HEAD~1..HEAD"],
    "gen": ["gen --target react --out {out}/project", "gen virtual-memory --target react"],
    "update": ["update ."],
    "eject": ["eject ."],
    "trust": ["trust --show", "trust --revoke"],
    "targets": ["targets"],
    "key destroy": ["key destroy --user ada --yes"],
    "key export": ["key export {out}/keys"],
    "key import": ["key import {offers}"],
    "key list": ["key list"],
    "fsck": ["fsck", "fsck --fix", "fsck --accept --yes", "fsck --heads archive/heads"],
    "index rebuild": ["index rebuild"],
    "index status": ["index status"],
    "git merge-driver": ["git merge-driver {base} {ours} {theirs} archive/2026-01/a.jsonl"],
    "git setup": ["git setup", "git setup --remove"],
    "git textconv": ["git textconv {base}"],
    "commit": ["commit"],
    "migrate": ["migrate"],
    "config set": ["config set user bob"],
    "setup": ["setup --check", "setup --provider reference --user bob"],
    "config unset": ["config unset user"],
    "config show": ["config show"],
    "audit": ["audit"],
    "bench retrieval": ["bench retrieval {turns}"],
    "doctor": ["doctor"],
    "serve": [],
    "token new": ["token new --user ada"],
    "token list": ["token list"],
    "token revoke": ["token revoke nothing --yes"],
    "mcp install": [
        "mcp install --client claude-code --user ada --config {out}/mcp.json",
        "mcp install --client cursor --user ada",
    ],
    "fake-llm": [],
    "completion": ["completion bash"],
}
"""The command lines to try, by command; ``{…}`` stand for what the store of the tests holds.

A new command is not forgotten: one that does not stand here fails the tests. ``demo`` and ``fake-llm`` open no store:
the one makes its own elsewhere, the other serves a script until it ends. ``serve`` has a test of its own, and so has
``backend migrate``, which only speaks with a server.
"""

WRITING = [
    line
    for name in (
        "memory add", "memory consolidate", "memory import", "memory erase", "memory reflect",
        "memory snapshot", "export", "page", "core set", "chat", "sessions rename",
        "sessions rm", "skill new", "skill run", "skill commit", "skill import", "skill export", "policy new",
        "domain new", "domain reject", "lint", "gen", "fsck", "index rebuild", "git setup", "commit", "config set",
        "doctor", "mcp install",
    )
    for line in COMMANDS[name]
]  # fmt: skip
"""The lines that write in all the ways in which memkit writes, and two that only look."""
NOTHING_TO_DO = {
    "skill check", "update .", "eject .", "key import {offers}", "eval {offers}", "backend move --to files --dry-run"
}  # fmt: skip
"""Lines that end with 2 or 3 in an honest store too: no checks, no project of ``gen``, nowhere to move to."""


def words_of(line: str, names: Mapping[str, str]) -> list[str]:
    """Return the words of a command line, with what ``{…}`` stand for."""
    return [re.sub(r"{(.+?)}", lambda place: names[place[1]], word) for word in shlex.split(line)]


def answered(*words: str) -> Any:
    """Run a command line and return the data of its envelope."""
    printed = StringIO()
    with redirect_stdout(printed):
        code = run([*words, "--json"])
    assert code == 0, (words, printed.getvalue())
    return json.loads(printed.getvalue())["data"]


def all_commands() -> Iterator[str]:
    """Yield every command of the command line, as it is found by asking click."""
    yield from _below(cli, click.Context(cli), [])


def _below(command: click.Command, context: click.Context, words: list[str]) -> Iterator[str]:
    if not isinstance(command, click.Group):
        yield " ".join(words)
        return
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        assert inner is not None
        yield from _below(inner, click.Context(inner, parent=context, info_name=name), [*words, name])
