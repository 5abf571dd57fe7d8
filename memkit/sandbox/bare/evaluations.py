"""The evaluator's side: imports an evaluator once, and runs each evaluation in a process group of its own.

The evaluator is its owner's code and runs with its owner's rights, in the full interpreter. The code here limits the
effect of its mistakes: a process that hangs, floods, forks or kills its parent costs one evaluation.
"""

from __future__ import annotations

import importlib.util
import os
import random
import shutil
import socket
import sys
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real
from types import ModuleType
from typing import Any

from .client import Failure, failure
from .codec import NotPlain, encode, framed, receive, send
from .forking import ForkServer
from .proxy import CandidateFailed

MOST = 16 << 20
"""The most bytes of a request or an answer."""
_SHORT = 30.0
_LONGEST_ARTIFACT = 64 * 1024
_MODULE = "evaluation_module"


@dataclass
class EvaluationResult:
    """Metrics and artifacts, as evaluators in OpenEvolve's form return them if a dictionary is not enough."""

    metrics: dict[str, float]
    artifacts: dict[str, Any] = field(default_factory=dict)


def main(listener: int, control: int) -> None:
    """Serve evaluations on the inherited sockets until the controlling one is closed."""
    ear, line = socket.socket(fileno=listener), socket.socket(fileno=control)
    config = receive(line, time.monotonic() + _SHORT, MOST)
    try:
        module = _imported(config["file"])
    except BaseException as error:  # noqa: BLE001 - the evaluator's own code
        told: dict[str, Any] = {"failure": list(_raised(error)), "stages": []}
        send(line, framed(told), time.monotonic() + _SHORT)
        return
    stages = [name for name, value in vars(module).items() if name.startswith("evaluate") and callable(value)]
    send(line, framed({"failure": None, "stages": stages}), time.monotonic() + _SHORT)
    ForkServer(ear, line, lambda connection: _evaluate(connection, module), most=config["most"], groups=True).run()
    shutil.rmtree(config["folder"], ignore_errors=True)  # in case its owner was killed before it could


def _imported(file: str) -> ModuleType:
    """Import the evaluator as OpenEvolve does: by its path, with its folder first on the search path."""
    sys.argv = [file]
    sys.path.insert(0, os.path.dirname(file))  # noqa: PTH120
    if importlib.util.find_spec("openevolve") is None:
        _stand_in()
    spec = importlib.util.spec_from_file_location(_MODULE, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[_MODULE] = module
    spec.loader.exec_module(module)
    return module


def _stand_in() -> None:
    """Offer the one class that evaluators import from OpenEvolve, if OpenEvolve is not installed."""
    package, module = ModuleType("openevolve"), ModuleType("openevolve.evaluation_result")
    package.__path__ = []
    for place in (package, module):
        place.EvaluationResult = EvaluationResult  # type: ignore[attr-defined]
    package.evaluation_result = module  # type: ignore[attr-defined]
    sys.modules.update({"openevolve": package, "openevolve.evaluation_result": module})


def _evaluate(connection: socket.socket, module: ModuleType) -> None:
    _, descriptors, _, _ = socket.recv_fds(connection, 1, 1)
    for standard in (1, 2):
        os.dup2(descriptors[0], standard)
    os.close(descriptors[0])
    request = receive(connection, time.monotonic() + _SHORT, MOST)
    sys.dont_write_bytecode = True  # not worth it for a module that is imported once
    random.seed(request["seed"])
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(request["seed"] % (1 << 32))
    try:
        answer = _read(request["stage"], getattr(module, request["stage"])(request["path"]))
    except BaseException as error:  # noqa: BLE001 - the evaluator's own code
        answer = {"failure": list(_raised(error))}
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    send(connection, framed(answer), time.monotonic() + _SHORT)


def _read(stage: str, result: Any) -> dict[str, Any]:
    metrics, artifacts = result, dict[str, Any]()
    if not isinstance(result, bool) and isinstance(result, Real):
        metrics = {"combined_score": result}
    elif not isinstance(result, Mapping) and hasattr(result, "metrics"):
        metrics, artifacts = result.metrics, getattr(result, "artifacts", None) or {}
    if not isinstance(metrics, Mapping):
        return {"failure": list(failure("evaluator", f"{stage}() returned {type(result).__name__}, not metrics"))}
    try:
        encode(dict(metrics))
    except NotPlain as error:
        return {"failure": list(failure("evaluator", f"{stage}() returned metrics in which {error}"))}
    return {"metrics": dict(metrics), "artifacts": {str(name): _bounded(value) for name, value in artifacts.items()}}


def _bounded(artifact: Any) -> Any:
    """Return an artifact as plain data of limited size."""
    try:
        if len(encode(artifact)) <= _LONGEST_ARTIFACT:
            return artifact
    except NotPlain:
        artifact = repr(artifact)
    return str(artifact)[:_LONGEST_ARTIFACT]


def _raised(error: BaseException) -> Failure:
    if isinstance(error, CandidateFailed):
        return error.failure
    trace = "".join(traceback.format_exception(error))
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - the evaluator's own code
        text = ""
    return failure("evaluator", f"{type(error).__name__}: {text}".rstrip(": "), trace, type(error).__name__)
