"""One tool: what a model sees of it, which arguments it accepts, how it runs, and how a verdict affects a call."""

from __future__ import annotations

import importlib
import json
import os
import re
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout
from contextvars import ContextVar, copy_context
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .interface import JSON, DeclaredTool, LoopError, PolicyFinding, ToolDeclarationError, ToolSpec, Verdict
from .reply import TimeIsUp, within

if TYPE_CHECKING:
    import subprocess

# A tool with the function that runs it, and how its errors become answers to the model.


class BoundTool(NamedTuple):
    """A tool that a toolbox can run."""

    spec: ToolSpec
    run: Callable[[Mapping[str, JSON]], str]
    checked: bool = True
    """Whether the toolbox checks the arguments against the schema; the memory tools check their own."""
    foreign: bool = False
    """Whether the result comes from outside: such a result is fenced and truncated."""
    open_world: bool = True
    """Whether a foreign result may hold text written by strangers, and so taints the turn."""
    serial: bool = True
    """Whether calls must wait for one another."""
    idempotent: bool = True
    """Whether a call whose outcome is unknown may simply be repeated."""
    renamed: Callable[[Mapping[str, JSON]], Mapping[str, JSON]] = dict
    """Maps arguments to the tool's own names, if it accepts others too."""
    replayed: bool = False
    """Whether an idempotent call runs again when a turn that was cut off is replayed: its changes are kept with the
    session, which was last saved before that turn."""


class AnsweredErrors:
    """Turn an error that somebody can act on into text; with ``everything``, any error of foreign code.

    Rooms cannot import each other's errors, but every error meant for a reader carries an integer ``exit_code``.
    """

    def __init__(self, *, everything: bool = False) -> None:
        self.message: str | None = None
        self._everything = everything

    def __enter__(self) -> AnsweredErrors:
        return self

    def __exit__(self, _kind: object, error: object, _trace: object) -> bool:
        if not isinstance(error, Exception):
            return False
        if not (self._everything or isinstance(getattr(error, "exit_code", None), int)):
            return False
        self.message = str(error) or type(error).__name__
        return True


# Read and check the arguments that a model gives to a tool.

TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (dict,),
    "null": (type(None),),
}


MOST_NESTED = 64
"""The deepest nesting of a call's arguments: masking, copying and storing them take several frames for each level."""


def is_too_deep(value: JSON) -> bool:
    """Return whether lists and objects are nested deeper than any tool needs."""
    level = [value]
    for _ in range(MOST_NESTED + 1):
        holders = [one.values() if isinstance(one, Mapping) else one for one in level if isinstance(one, _HOLDERS)]
        level = [inner for holder in holders for inner in holder]
    return bool(level)


_HOLDERS = (Mapping, list, tuple)


def read_arguments(args: Mapping[str, JSON] | str | None) -> dict[str, JSON] | None:
    r"""Return the arguments as a dict, or None when they are no JSON object; JSON has no infinite numbers.

    >>> read_arguments('{"to": "bob"}'), read_arguments("to bob"), read_arguments(r'{"to": "half a pair: \ud83d"}')
    ({'to': 'bob'}, None, None)
    """
    if args is None or args == "":
        return {}
    try:
        value = {str(key): item for key, item in args.items()} if isinstance(args, Mapping) else json.loads(args)
        # Python reads NaN, 1e999 and unpaired surrogates, which no server accepts and no envelope can hold.
        json.dumps(value, allow_nan=False, ensure_ascii=False, default=str).encode()
    except (TypeError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and not is_too_deep(value) else None


WRAPPERS = frozenset({"arguments", "args", "input", "parameters", "kwargs"})
"""Names under which a model may pass all arguments as one."""


def given_to(tool: BoundTool | None, args: Mapping[str, JSON] | str | None) -> dict[str, JSON] | None:
    """Return the arguments of a call as ``tool`` takes them, or None if they are not a JSON object.

    Unambiguous mistakes are accepted: an object inside a string, in a one-item list or under "arguments", and values
    as ``fitted`` reads them. Policies judge what is returned here, and nothing else is run.
    """
    read = read_arguments(args)
    if read is None and isinstance(args, str):
        read = _unpacked(args)
    if read is None or tool is None:
        return read
    properties = tool.spec.parameters.get("properties") or {}
    if len(read) == 1 and (wrapper := next(iter(read))) in WRAPPERS - set(properties):
        inner = read[wrapper]
        read = (read_arguments(inner) if isinstance(inner, Mapping | str) and inner else None) or read
    return fitted(tool.spec.parameters, tool.renamed(read))


def _unpacked(text: str) -> dict[str, JSON] | None:
    """Return the object encoded in a JSON string, or the only item of a list."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return read_arguments(value) if isinstance(value, Mapping) or (isinstance(value, str) and value) else None


def fitted(schema: Mapping[str, JSON], args: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return ``args`` with each value converted to the type that ``schema`` wants, where the conversion is unambiguous.

    An optional argument that is null counts as omitted. Values that do not fit are left for ``problems`` to report.

    >>> wants = {"k": {"type": "integer"}, "to": {"type": "array"}, "how": {"enum": ["Fast", "Slow"]}}
    >>> fitted({"properties": wants}, {"K": "3", "to": "bob", "how": ["fast"], "why": None})
    {'k': 3, 'to': ['bob'], 'how': 'Fast', 'why': None}
    """
    properties = schema.get("properties") or {}
    plain = {name.casefold(): name for name in properties}
    fit: dict[str, JSON] = {}
    for name, value in args.items():
        own = (
            name if name in properties or plain.get(name.casefold(), name) in args else plain.get(name.casefold(), name)
        )
        rule = properties.get(own)
        if value is None and rule is not None and own not in schema.get("required", ()) and _mismatch(rule, value):
            continue
        fit[own] = value if rule is None else _fitted_value(rule, value)
    return fit


def _fitted_value(rule: Mapping[str, JSON], value: JSON) -> JSON:
    if _mismatch(rule, value) is None:
        return value
    wanted = rule.get("type")
    if isinstance(value, list) and len(value) == 1 and wanted != "array":
        value = value[0]
    if isinstance(value, str) and "enum" in rule:
        same = [one for one in rule["enum"] if str(one).casefold() == value.strip().casefold()]
        return same[0] if len(same) == 1 else value
    reading = READINGS.get(wanted) if isinstance(wanted, str) else None
    read = reading(value) if reading else value
    return read if _mismatch(rule, read) is None else value


def _as_number(value: JSON) -> JSON:
    """Return the number that a text spells, as an int if it is whole."""
    if isinstance(value, str) and re.fullmatch(r"\s*[+-]?\d{1,15}(?:\.\d{1,15})?\s*", value):
        value = float(value) if "." in value else int(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _as_boolean(value: JSON) -> JSON:
    return {"true": True, "false": False}.get(value.strip().casefold(), value) if isinstance(value, str) else value


def _as_text(value: JSON) -> JSON:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _as_parts(value: JSON) -> JSON:
    """Return the parsed JSON text, or a list of the one value; "a, b" may be one name, so it is not split."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value if not isinstance(value, str) or re.search(r"[,;\n]", value) else [value]


READINGS: Mapping[str, Callable[[JSON], JSON]] = {
    "integer": _as_number, "number": _as_number, "boolean": _as_boolean, "string": _as_text, "array": _as_parts,
    "object": _as_parts,
}  # fmt: skip


def problems(schema: Mapping[str, JSON], args: Mapping[str, JSON]) -> list[str]:
    """Return what is wrong with ``args``: missing, unknown or of the wrong type.

    >>> problems({"properties": {"to": {"type": "string"}}, "required": ["to"]}, {"too": 1})
    ["'to' is missing", "'too' is unknown (known: to)"]
    """
    properties = schema.get("properties") or {}
    found = [f"{name!r} is missing" for name in schema.get("required", ()) if name not in args]
    for name, value in args.items():
        rule = properties.get(name)
        if rule is None:
            if schema.get("additionalProperties", False) is False:
                found.append(f"{name!r} is unknown (known: {', '.join(properties) or 'none'})")
        elif (problem := _mismatch(rule, value)) is not None:
            found.append(f"{name!r} {problem}")
    return found


def _mismatch(rule: Mapping[str, JSON], value: JSON) -> str | None:
    wanted = rule.get("type")
    names = [wanted] if isinstance(wanted, str) else list(wanted or ())
    if names and not any(_is(value, name) for name in names):
        return f"must be {' or '.join(names)}"
    if "enum" in rule and not any(_same(value, one) for one in rule["enum"]):
        return f"must be one of {', '.join(map(str, rule['enum']))}"
    return None


def _same(one: JSON, other: JSON) -> bool:
    return one == other and isinstance(one, bool) is isinstance(other, bool)  # to Python, true is 1


def _is(value: JSON, name: str) -> bool:
    if isinstance(value, bool) and name in {"integer", "number"}:
        return False
    return isinstance(value, TYPES.get(name, (object,)))


# How much of a tool's declaration the prompt holds: all of it, or less when the budget is small.

TOOL_OVERHEAD = 7
"""Tokens that a request's JSON adds to each tool besides its declaration."""


def whole(spec: ToolSpec) -> ToolSpec:
    """Return the declaration unchanged."""
    return spec


def terse(spec: ToolSpec) -> ToolSpec:
    """Return the declaration with only the first sentence of its description, and parameters without descriptions.

    >>> terse(ToolSpec("send", "Send a mail. Twice a day at most."))
    ToolSpec(name='send', description='Send a mail.', parameters={'type': 'object', 'properties': {}})
    """
    first, end, _ = spec.description.partition(". ")
    return ToolSpec(spec.name, first + end.rstrip(), _bare_schema(spec.parameters))


def bare(spec: ToolSpec) -> ToolSpec:
    """Return a declaration with only names, types and enumerated values."""
    return ToolSpec(spec.name, "", _bare_schema(spec.parameters))


def required(spec: ToolSpec) -> ToolSpec:
    """Return a declaration with only the required parameters."""
    wanted = list(spec.parameters.get("required") or ())
    return ToolSpec(spec.name, "", {"type": "object", "properties": {name: {} for name in wanted}})


def _bare_schema(schema: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return a schema without its explanations; arguments are still checked against the full one."""
    properties = schema.get("properties")
    kept = {key: value for key, value in schema.items() if key in ("type", "required")}
    if isinstance(properties, Mapping):
        kept["properties"] = {name: _bare_property(rule) for name, rule in properties.items()}
    return kept


def _bare_property(rule: JSON) -> JSON:
    """Return a rule with its enumerated values: names and types alone do not suffice where only these are valid."""
    kept = ("type", "items", "enum", "examples")
    return {key: rule[key] for key in kept if key in rule} if isinstance(rule, Mapping) else rule


def tool_text(spec: ToolSpec) -> str:
    """Return a tool as it is written in a request."""
    told = {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
    if not spec.description:
        del told["description"]
    return json.dumps(told, ensure_ascii=False, default=dict, separators=(",", ":"))


# Verdicts in words, and as report data.

STOPPED = frozenset({"deny", "ask"})
"""Decisions that keep a tool from running; the second one unless a person agrees."""


class Allowed(NamedTuple):
    """The verdict when no policies were given."""

    decision: str = "allow"
    policies: tuple[PolicyFinding, ...] = ()
    deciding: PolicyFinding | None = None


ADVICE = " Tell the user which policy stopped it and why."
"""The part of a refusal that only a model is told."""


def refusal(tool: str, verdict: Verdict, *, is_here: bool = True) -> str:
    """Return what a model is told about a call that ``verdict`` stopped; nobody can allow a tool that is missing."""
    finding = verdict.deciding
    name = finding.name if finding else "policy set"
    reason = (finding.reason if finding else "the policies could not be evaluated").rstrip(".")
    if verdict.decision == "ask":
        none = f"There is no such tool here as {tool}: nothing was done."
        why = f"Nobody confirmed it, so {tool} was not run." if is_here else none
        return f"Policy {name} asks for a person's confirmation: {reason}. {why}{ADVICE}"
    return f"Policy {name} denies this: {reason}. {tool} was not run.{ADVICE}"


def findings_data(verdict: Verdict) -> list[dict[str, JSON]]:
    """Return one entry per policy that matched, for a report."""
    entries = [
        {"decision": verdict.decision if found.decides else found.effect, "name": found.name, "reason": found.reason}
        for found in verdict.policies
    ]
    if not entries and verdict.decision != "allow":
        reason = "the policies could not be evaluated"
        entries = [{"decision": verdict.decision, "name": "policy set", "reason": reason}]
    return entries


# Run a declared tool: a program that reads JSON from its standard input, or a Python function.

STEP_VARIABLE = "PLAN_STEP"
"""Environment variable that names the attempt of a step to a program: the same value again means a repetition."""
_STEP: ContextVar[str | None] = ContextVar("step", default=None)
OUTPUT_LIMIT = 64_000
"""Bytes of a program's output that are kept; the rest is read and dropped, so that the program ends by itself."""


class ToolFailure(LoopError):
    """Report a declared tool that could not run or failed."""

    exit_code = 1
    code = "tool_failure"


def run_declared(tool: DeclaredTool, args: Mapping[str, JSON], root: Path, seconds: float | None = None) -> str:
    """Return the answer of ``tool`` to ``args``.

    Args:
        tool: The tool to run.
        args: Its arguments.
        root: The working directory of a program, and an extra place to look for a function's module.
        seconds: How long the caller can wait: a program is then stopped, a function is no longer waited for.
    """
    if isinstance(tool.run, str) or callable(tool.run):
        try:
            with _results_alone() if isinstance(tool.run, str) else nullcontext():
                function = find_function(tool.run, root) if isinstance(tool.run, str) else tool.run
                return within(seconds, lambda: _called(function, args))
        except SystemExit as left:
            raise ToolFailure(f"{tool.name} asked the program to exit with {left.code!r:.60}.") from None
        except TimeIsUp:
            raise ToolFailure(
                f"{tool.name} did not finish within the time of this turn. Whether it was done is not known."
            ) from None
    bounded = tool if seconds is None else replace(tool, timeout=min(tool.timeout, seconds))
    return _run_program(bounded, list(tool.run), args, root)


def _results_alone() -> AbstractContextManager[Any]:
    """Lead what a function of the settings prints to standard error: standard output carries a command's result.

    Beside the main thread others print, which only a host has, and its output is its own.
    """
    is_main = threading.current_thread() is threading.main_thread()
    return redirect_stdout(sys.stderr) if is_main else nullcontext()


def declared_tools(
    declared: Iterable[DeclaredTool], root: Path | str, seconds_left: Callable[[], float | None]
) -> Iterator[BoundTool]:
    """Yield the host's tools, ready to be offered; ``seconds_left`` returns how long the running turn may take."""

    def bound(tool: DeclaredTool) -> Callable[[Mapping[str, JSON]], str]:
        return lambda args: run_declared(tool, args, Path(root), seconds_left())

    for tool in declared:
        yield BoundTool(
            ToolSpec(tool.name, tool.description, tool.parameters),
            bound(tool),
            foreign=True,
            open_world=tool.open_world,
            serial=False,
            idempotent=tool.idempotent,
        )


@contextmanager
def named_step(key: str | None) -> Iterator[None]:
    """Put the step's key into the environment of every program that runs within the block.

    None sets nothing.
    """
    token = _STEP.set(_STEP.get() if key is None else key)
    try:
        yield
    finally:
        _STEP.reset(token)


def find_function(reference: str, root: Path) -> Callable[..., JSON]:
    """Return the function that ``module:function`` names, from an installed module or one in ``root``."""
    module, _, name = reference.partition(":")
    folder = str(root.resolve())
    if folder not in sys.path:
        sys.path.append(folder)  # last, so that no file of a store shadows a library
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ToolDeclarationError(f"Cannot find the tool function {reference!r}: {error}.") from error
    if not callable(found):
        raise ToolDeclarationError(f"{reference!r} is not a function.")
    return found  # type: ignore[no-any-return]


def finished(answer: Any) -> Any:
    """Return a function's result; if it is awaitable, the awaited result, even if an event loop is running here.

    >>> async def look(): return "rain"
    >>> finished(look()), finished("sun")
    ('rain', 'sun')
    """
    if not isinstance(answer, Awaitable):
        return answer
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    async def awaited() -> Any:
        return await answer

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(copy_context().run, asyncio.run, awaited()).result()


def _called(function: Callable[..., JSON], args: Mapping[str, JSON]) -> str:
    answer = finished(function(**args))
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False, default=str)


def _run_program(tool: DeclaredTool, command: list[str], args: Mapping[str, JSON], root: Path) -> str:
    if not command:
        raise ToolDeclarationError(f"The tool {tool.name!r} has nothing to run. Give it 'run:'.")
    import subprocess
    import tempfile

    # Standard input is a file, so a program that never reads it cannot block us.
    with tempfile.TemporaryFile() as given:
        # One line, so that a program that appends its input to a file writes one line per call.
        given.write(json.dumps(dict(args), ensure_ascii=False).encode("utf-8", "surrogateescape") + b"\n")
        given.seek(0)
        try:
            root.mkdir(parents=True, exist_ok=True)  # a memory folder that holds nothing yet
            program = subprocess.Popen(
                command,
                cwd=root,
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=None if (step := _STEP.get()) is None else {**os.environ, STEP_VARIABLE: step},
            )
        except OSError as error:
            raise ToolFailure(f"{command[0]} could not be started: {error.strerror or error}.") from error
    with program:
        output, late = _read_bounded(program, tool.timeout)
    text = output[:OUTPUT_LIMIT].decode("utf-8", "replace").strip()
    if late:
        raise ToolFailure(f"{tool.name} did not finish within {tool.timeout:g} seconds and was stopped.")
    if len(output) > OUTPUT_LIMIT:
        text = f"{text}\n(output cut after {OUTPUT_LIMIT:,} bytes)"
    if program.returncode:
        raise ToolFailure(f"{tool.name} failed with exit code {program.returncode}: {text or 'no output'}")
    return text or "done"


def _read_bounded(program: subprocess.Popen[bytes], timeout: float) -> tuple[bytes, bool]:
    late = threading.Event()

    def stop() -> None:
        late.set()
        _end_group(program)

    timer = threading.Timer(timeout, stop)
    timer.start()
    try:
        assert program.stdout is not None
        output = program.stdout.read(OUTPUT_LIMIT + 1)
        while program.stdout.read(OUTPUT_LIMIT):
            pass
        program.wait()
    finally:
        timer.cancel()
        if program.poll() is None:
            _end_group(program)
    return output, late.is_set()


def _end_group(program: subprocess.Popen[bytes]) -> None:
    """Kill the program and everything it started, so that no child keeps the pipe open."""
    try:
        os.killpg(program.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return
