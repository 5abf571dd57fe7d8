# ruff: noqa: E501 - tables of spellings read best when they are dense
"""A command rewritten in an equivalent spelling gets the same verdict, and what bash runs the guard has seen."""

from __future__ import annotations

import random
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memkit.runtime.guard.core import Guard


def policy(name: str, condition: object) -> dict[str, object]:
    """Return a hard policy on the command of the shell tool."""
    match = {"tool": "bash", "args.command": condition}
    return {
        "name": name,
        "description": "d",
        "rule": "r",
        "enforcement": "hard",
        "effect": "ask",
        "match": match,
    }


GUARD = Guard(
    [
        policy("forced", {"shell": {"program": "rm", "flags": {"all_of": ["-r", "-f"]}}}),
        policy("system", {"shell": {"program": ["rm", "cp"], "args": ["/etc/*"]}}),
        policy("push", {"shell": {"program": "git", "args": "push", "flags": ["--force"]}}),
        policy("cluster", {"shell": {"program": "kubectl", "args": {"all_of": ["apply", "prod"]}}}),
        policy("tables", {"sql": {"statement": ["drop", "delete"]}}),
    ]
)
ONLY_RM = Guard([policy("rm", {"shell": {"program": "rm"}})])

COMMANDS = [
    ["rm", "-r", "-f", "/srv"],
    ["rm", "-r", "/srv"],
    ["rm", "-f", "/etc/passwd"],
    ["cp", "a", "/etc/hosts"],
    ["cp", "/etc-old/a", "b"],
    ["git", "push", "--force", "origin"],
    ["git", "push", "origin"],
    ["git", "commit", "--message", "push --force"],
    ["kubectl", "apply", "--namespace=prod"],
    ["kubectl", "apply", "--namespace=staging"],
    ["kubectl", "get", "--namespace=prod"],
    ["psql", "-c", "drop table x"],
    ["psql", "-c", "select 1"],
    ["echo", "rm -rf /etc/passwd"],
    ["ls", "-rf", "/etc/passwd"],
]


def found(command: object) -> set[str]:
    """Return the policies that match a command."""
    return {finding.name for finding in GUARD.decide("bash", {"command": command}, {}).policies}


def quoted(draw: st.DrawFn, word: str) -> str:
    """Spell one word with quotes and escapes of every kind."""
    style = draw(st.sampled_from(["single", "double", "ansi", "hex", "letters", "parts"]))
    if style == "single":
        return f"'{word}'"
    if style == "double":
        return f'"{word}"'
    if style == "ansi":
        return f"$'{word}'"
    if style == "hex":
        return "$'" + "".join(f"\\x{ord(letter):02x}" for letter in word) + "'"
    if style == "letters":
        return "".join(f"\\{letter}" for letter in word)
    cut = draw(st.integers(0, len(word)))
    return f"'{word[:cut]}'\"{word[cut:]}\""


def respelled(draw: st.DrawFn, words: list[str]) -> list[str]:
    """Change what a program reads in the same way: flags joined and moved, values with ``=``, roundabout paths."""
    words = list(words)
    if words[1:3] == ["-r", "-f"]:
        flags = draw(st.sampled_from([["-rf"], ["-fr"], ["-f", "-r"], ["--recursive", "--force"], ["-R", "--forc"]]))
        words[1:3] = draw(st.permutations([*flags, "-v"]))
        words = draw(st.sampled_from([words, [words[0], words[-1], *words[1:-1]]]))
    words = [
        word.replace("/etc/", draw(st.sampled_from(["/etc/", "//etc/", "/etc/./", "/x/../etc/"]))) for word in words
    ]
    if words[-1].startswith("--namespace="):
        value = words.pop().partition("=")[2]
        words += draw(
            st.sampled_from([[f"--namespace={value}"], ["--namespace", value], ["-n", value], [f"-n{value}"]])
        )
    return words


PREFIXES = [
    "sudo {}",
    "sudo -u root -- {}",
    "env -i A=1 {}",
    "A=1 {}",
    "nice -n 5 {}",
    "timeout -s KILL 5 {}",
    "nohup {}",
    "command {}",
    "exec {}",
    ">out {}",
    "choom -n 0 -- {}",
    "torify {}",
]
HANDED_ON = [
    "sh -c {}", "bash -euo pipefail -c {}", "eval {}", "ssh -t host {}", "ssh host bash <<< {}", "su - ada -c {}", "sh -c sh <<< {}",
    "docker exec -i web sh -c {}", "find . -exec sh -c {} ';'", "xargs -n 1 sh -c {}", "watch -n 1 {}",
]  # fmt: skip
"""What takes a whole command as one word of text."""
AROUND = [
    "{}", "  {}  ", "{} # rest\n", "{} &\n", "ls; {}", "true && {} || true", "{{ {}; }}", "( {} )", "! {}", "if true; then {}; fi", "for i in 1; do {}; done",
    "while true; do {}; done", "case a in a) {} ;; esac", "f() {{ {}; }}; f", "function g {{ {}; }}", "echo $( {} )", 'echo "$( {} )"', "echo hi\n{}\n",
    "cat <<E\n$( {} )\nE\n", "{} 2>&1 | cat", "time {}", "cat <( {} )", "{}\r\n",
]  # fmt: skip


@given(st.sampled_from(COMMANDS), st.data())
def test_an_equivalent_spelling_never_changes_the_verdict(words: list[str], data: st.DataObject) -> None:
    """Quotes, escapes, blanks, flag order, values, paths, wrappers and surroundings leave what matches as it was."""
    draw = data.draw
    spelt = [quoted(draw, word) if draw(st.booleans()) or " " in word else word for word in respelled(draw, words)]
    spelt[0] = draw(st.sampled_from([spelt[0], f"/usr/bin/{spelt[0]}", f"\\{words[0]}"]))
    text = "".join(word + draw(st.sampled_from([" ", "  ", "\t", " \\\n "])) for word in spelt).strip(" \t\\\n")
    before = draw(st.lists(st.sampled_from(PREFIXES), max_size=2))
    for around in [*before, *draw(st.lists(st.sampled_from(AROUND), max_size=3, unique=True))]:
        text = around.format(text)

    assert found(text) == found(shlex.join(words))


@settings(max_examples=300)
@given(st.sampled_from(COMMANDS), st.lists(st.sampled_from(HANDED_ON), min_size=1, max_size=3), st.sampled_from(AROUND))
def test_a_command_handed_on_as_text_is_the_same_command(words: list[str], shells: list[str], around: str) -> None:
    """Whoever is given a command as text, in how many layers of quotes, runs that command."""
    text = around.format(shlex.join(words))
    for shell in shells:
        text = shell.format(shlex.quote(text))

    assert found(text) == found(shlex.join(words))


PIECES = [
    "rm", "rm x", "r", "m", " ", " ", "x", "ls", ";", "&&", "||", "|", "&", "'", '"', "$(", ")", "(", "`", "{ ", "}", "; }", "\n", "#", "\\",
    "\\\n", "<<E", "<<'E'", "\nE\n", "case a in ", "a)", ";;", " esac", "[[ ", " ]]", "((", "))", "for i in a; do ", "; done", "if true; then ",
    "; fi", "f() ", "function f ", "a=", "$'", "eval ", "env ", "exec ", "command ", "!", "time ", "${x:-", "}", "<(", "<<<", ">f", "2>&1", "$((",
    "$IFS", "*", "[r]", "coproc ", "-- ", "sh -c ", "xargs ", "nohup ", "{a,b}", "true ", "echo ", ": ", "\t", "\r", "x=(", "<<-E", "\n\tE\n",
    "export ", "set -- ", '"$@"', "trap ", "EXIT", "alias ", "a|b)", "else ", "|&", "&>f", "==", "a[",
]  # fmt: skip


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_what_bash_runs_the_guard_has_seen(tmp_path: Path) -> None:
    """Of commands put together at random, bash runs none of the program that the guard lets pass."""
    programs, work, log = tmp_path / "bin", tmp_path / "work", tmp_path / "log"
    programs.mkdir()
    work.mkdir()
    (programs / "rm").write_text(f"#!/bin/sh\necho ran >> '{log}'\n")
    (programs / "rm").chmod(0o755)
    for name in ("env", "xargs", "nohup", "sh", "cat"):
        (programs / name).symlink_to(str(shutil.which(name)))
    chance = random.Random(4)
    allowed = 0
    while allowed < 80:
        command = "".join(chance.choice(PIECES) for _ in range(chance.randint(2, 12))) + chance.choice(["rm", "\nrm x"])
        if ONLY_RM.decide("bash", {"command": command}, {}).decision != "allow":
            continue
        allowed += 1
        subprocess.run(
            [str(shutil.which("bash")), "--norc", "-c", command],
            cwd=work,
            env={"PATH": str(programs), "HOME": str(work)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=900,
            check=False,
        )
        assert not log.exists(), command
