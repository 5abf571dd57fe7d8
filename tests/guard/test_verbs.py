# ruff: noqa: E501 (one case a row reads better than wrapped rows)
"""What a command is told to do: a verb holds for every program, and what only looks like one is none."""

from __future__ import annotations

import pytest

from memkit.runtime.guard.core import Guard

POLICY = {
    "name": "deletes", "description": "d", "rule": "r", "enforcement": "hard", "effect": "ask",
    "match": {"tool": "bash", "args.command": {"shell": {"verb": ["delete", "*-delete"]}}},
}  # fmt: skip


def decided(command: str, **match: object) -> str:
    """Return what the policy decides, with the clause in place of its own."""
    shell = {"verb": ["delete", "*-delete"], **match}
    return (
        Guard([POLICY | {"match": {"tool": "bash", "args.command": {"shell": shell}}}])
        .decide("bash", {"command": command}, {})
        .decision
    )


@pytest.mark.parametrize(
    "command",
    [
        "frobnicate delete x", "cloud sql instances delete x", "cloud -q sql instances delete x", "tool --verbose delete x", "tool DELETE x",
        "tool user-delete bob", "sudo tool -n delete x", "sh -c 'tool delete x'", "tool --project=p a delete", "git delete x", "xargs tool delete",
        "python3 -m tool delete x", "doppler run -- tool delete x",
    ],
)  # fmt: skip
def test_a_verb_is_found_in_any_program(command: str) -> None:
    """Behind options, in any case, through wrappers."""
    assert decided(command) == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "echo delete x", "grep delete x", "cat delete", "tool list --label delete", "tool a b c delete", "git checkout delete", "npm run delete",
        "tool --mode=delete x", "tool deleted x", "redis-cli set k delete", "pytest -k delete", "cp delete x", "python3 tool.py delete",
    ],
)  # fmt: skip
def test_what_looks_like_a_verb_is_none(command: str) -> None:
    """The words of texts and files, values of options, names behind the verb of a known program."""
    assert decided(command) == "allow"


def test_a_verb_that_the_shell_makes_is_unknown() -> None:
    """A hard policy then asks."""
    assert decided("tool $VERB x") == "ask"
    assert decided("tool list $NAME") == "ask"


def test_program_and_verb_belong_to_one_command() -> None:
    """Neither alone, nor each in another command."""
    assert decided("cloud delete x", program=["cloud"]) == "ask"
    assert decided("cloud list && tool delete x", program=["cloud"]) == "allow"


@pytest.mark.parametrize("verb", [[], [""], {"any_of": ["a"]}, 3])
def test_a_verb_that_is_no_list_of_words_is_said(verb: object) -> None:
    """In one line, with its place."""
    with pytest.raises(Exception, match="verb") as caught:
        decided("x", verb=verb)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("args", "decision"),
    [
        (["delete", "pod", "x"], "ask"), ("delete pod x", "ask"), (["get", "pods"], "allow"),
        ({"flags": ["delete"]}, "allow"),
    ],
)  # fmt: skip
def test_a_tool_that_is_called_like_a_program_is_given_its_arguments_alone(args: object, decision: str) -> None:
    """As a line, as a list, or in a form that is no command; one of them changes nothing for the next."""
    match = {"tool_kind": ["shell"], "args.command": {"shell": {"program": ["kubectl"], "args": ["delete"]}}}
    guard = Guard([POLICY | {"match": match}])

    assert [guard.decide("kubectl", {"args": args}, {}).decision for _ in range(2)] == [decision] * 2
