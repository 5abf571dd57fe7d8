"""``memkit setup``: choose the model that answers, ask it once, and save the choice."""

from __future__ import annotations

import getpass
from collections.abc import Callable
from typing import Any, TypeVar

import click

from memkit.cli.output import (
    Front,
    User,
    diagnostic,
    memkit_command,
    typed_line,
    with_trust,
    yes_or_no,
)
from memkit.errors import MemkitError, NegativeAnswer, UsageError
from memkit.llm.providers import SERVERS, WITHOUT_MODELS, ModelAddress
from memkit.runtime.host.terminal import fitted, one_line
from memkit.use_cases.models import SHOWN, ModelCheck, ModelChoice, asked_once, chosen, models_of, overruling, wanted

WHO = """\
Who is to answer in this store?
  reference   rules instead of a language model: no key, no network
  anthropic   Claude, with a key of Anthropic's
  openai      models of OpenAI, with a key of theirs
{servers}
or the address of another server that speaks Chat Completions, as http://HOST:PORT/v1"""
NONE = "none"
"""Typed to choose none."""
VENDORS_KEYS = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
Answer = TypeVar("Answer")


@memkit_command("setup")
@click.option("--provider", help=f"reference, anthropic, openai, or a server of your own: {', '.join(SERVERS)}.")
@click.option(
    "--base-url", metavar="URL", help="Its address (default: the vendor's, or the usual one of such a server)."
)
@click.option("--key-variable", metavar="NAME", help="The NAME of the variable that holds the key, or none.")
@click.option("--model", help="The model's name.")
@click.option("--user", type=User(), help="The user when none is named.")
@click.option("--consent/--no-consent", default=None, help="Whether this user's words may be remembered.")
@click.option("--check", is_flag=True, help="Ask the present choice, and write nothing.")
@click.option("--no-call", is_flag=True, help="Write without asking the model first.")
def setup(
    front: Front, /, user: str | None, consent: bool | None, check: bool, no_call: bool, **given: str | None
) -> None:
    """Choose the model that answers in this store, ask it once, and write memkit.yaml in one commit; comments stay.

    On a terminal it asks for whatever no option gives. --check asks the present choice, or that of the options, and
    writes nothing: exit 1 if the server says no, 3 if nobody answers.
    """
    if check and no_call:
        raise UsageError("--check makes the call: leave out --no-call.")
    workspace = front.workspace
    asks = front.interactive and not check
    if not (check or asks or user or consent is not None or any(given.values())):
        raise UsageError("Cannot ask questions here. Name a model: memkit setup --provider ollama --model qwen3")
    choice = _questions(front, given) if asks else with_trust(front, lambda: wanted(workspace, **given))
    choice = _with_model(front, choice, asks=asks)
    owner = user or workspace.settings["user"]
    if asks and user is None:
        owner = _typed("Your name, used when no user is given", owner or getpass.getuser(), _named)
    if asks and owner and consent is None and workspace.archive.consent(owner) is None:
        consent = yes_or_no(f"May what {one_line(owner, 60)} says be remembered, as text in this store?")
    if consent is not None and not owner:
        raise UsageError("Whose consent? Add --user.")
    found = None if no_call else asked_once(workspace, choice)
    data = {
        "provider": choice.provider,
        "model": found.model if found else choice.model,
        "key": found.key if found else choice.address.key_variable,
        "reachable": None if found is None else found.fault is None or found.refused,
        "user": owner,
    }
    if check and found is not None:
        _answer_check(front, data, found)
    fault = found.error(setting=True) if found else None
    if found and fault and not (asks and _goes_on(front, found)):
        raise fault
    commit = chosen(workspace, choice, user=owner, consent=consent)
    notes = [f"{name} in the environment takes precedence." for name in overruling(workspace)]
    who = found.told if found and found.fault is None else one_line(f"{choice.provider} {choice.model or ''}").strip()
    talk = f"Talk: memkit chat{'' if owner else ' --user YOU'}"
    findings = [diagnostic("overruled", note, severity="warning") for note in notes]
    front.answer({**data, "commit": commit}, [f"{who} now answers here.", *notes, talk], diagnostics=findings)


def _answer_check(front: Front, data: dict[str, Any], found: ModelCheck) -> None:
    fault = found.error(setting=False)
    if fault is None:
        front.answer(data, f"{found.told} answers.")
    elif not front.json:
        raise fault
    else:
        front.answer(data, ok=False, diagnostics=[diagnostic(fault.code, str(fault))], code=fault.exit_code)


def _goes_on(front: Front, found: ModelCheck) -> bool:
    front.note(fitted(f"memkit: {found.told}"))
    return yes_or_no("Write it anyway?")


# The questions, for whatever no option gives.


def _questions(front: Front, given: dict[str, str | None]) -> ModelChoice:
    """Return the person's choice; each impossible answer is rejected with a message and asked for again."""
    settings = front.workspace.settings
    provider, base_url, key_variable = given["provider"], given["base_url"], given["key_variable"]
    if provider is None and base_url is None:
        servers = "\n".join(f"  {name:<11} a server on this machine, {url}" for name, url in SERVERS.items())
        front.note(fitted(WHO.format(servers=servers)))
        provider = _typed("Who", str(settings["provider"]), _chosen_provider)
        if "://" in provider:
            provider, base_url = "openai", provider
    provider = provider or "openai"

    def address(text: str) -> str:
        _settled(provider, base_url=text)
        return text

    def variable(text: str) -> str:
        _settled(provider, key_variable=text)
        return text

    if provider in SERVERS and base_url is None:
        base_url = _typed("Where does it listen", SERVERS[provider], address)
    if provider.partition(":")[0] not in WITHOUT_MODELS and key_variable is None:
        front.note(fitted("The key stays in your environment; the store only names its variable."))
        key_variable = _typed("Which variable holds it", NONE if base_url else VENDORS_KEYS[provider], variable)
    return wanted(front.workspace, provider, given["model"], base_url, key_variable)


def _chosen_provider(text: str) -> str:
    _settled("openai", base_url=text) if "://" in text else _settled(text)
    return text


def _settled(provider: str, base_url: str | None = None, key_variable: str | None = None) -> ModelChoice:
    named = None if key_variable == NONE else key_variable
    return ModelChoice(provider, None, ModelAddress(base_url, named)).settled()


def _with_model(front: Front, choice: ModelChoice, *, asks: bool) -> ModelChoice:
    """Return the choice with a model: a vendor has a default, one's own server may have just one."""
    is_own = choice.address.base_url is not None
    if choice.model or choice.provider.partition(":")[0] in WITHOUT_MODELS or not (asks or is_own):
        return choice
    served: list[str] = []
    try:
        served = models_of(front.workspace, choice)
    except MemkitError as error:
        if not asks:
            raise
        front.note(fitted(f"memkit: {error}"))
    if is_own and len(served) == 1 and not asks:
        return choice._replace(model=served[0])
    listed = ", ".join(one_line(name, 60) for name in served[:SHOWN]) + (" and more" if len(served) > SHOWN else "")
    if not asks:
        raise UsageError(f"Which model? Name one with --model{f': {listed}' if listed else ''}.")
    if listed:
        front.note(fitted(f"It has {listed}."))
    usual = (served[0] if served else "") if is_own else "its own choice"
    name = _typed("Which model", usual, _named)
    return choice if name == "its own choice" else choice._replace(model=name)


def _named(text: str) -> str:
    if not text.strip():
        raise UsageError("The name is empty.")
    return text.strip()


def _typed(question: str, usual: str, check: Callable[[str], Answer]) -> Answer:
    """Return what a person types, or the value in brackets if they type nothing."""
    while True:
        try:
            text = typed_line(f"{question}{f' [{one_line(usual, 60)}]' if usual else ''}: ").strip() or usual
        except EOFError:
            raise NegativeAnswer("Nothing was changed.") from None
        try:
            return check(text)
        except UsageError as error:
            click.echo(fitted(f"memkit: {error}"), err=True)
