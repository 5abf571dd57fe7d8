"""Call a vendor's model until it answers or further attempts are pointless, and count the cost."""

from __future__ import annotations

import json
import math
import random
import re
import socket
import ssl
import sys
import traceback
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import islice
from pathlib import Path
from time import monotonic, sleep
from typing import Any, ClassVar, Self
from urllib.parse import urlsplit

from memkit.errors import Unserved
from memkit.llm.providers import ModelAddress, Patience
from memkit.llm.vendor import ModelVendor, TooSlow, no_argument, timed
from memkit.llm.wire import Arriving, Delta
from memkit.runtime.loop.interface import Completion, Message, ToolSpec
from memkit.runtime.memory.tiers.budget import counter

# Errors between here and a model, in one line that says what to do.

UNREADABLE = (AttributeError, IndexError, KeyError, TypeError, ValueError, RecursionError)
"""Exceptions of an SDK for an answer that does not fit its protocol."""
UNREAD = (json.JSONDecodeError, UnicodeDecodeError)
"""Exceptions for an invalid line of a stream."""
PASSING = frozenset({408, 409, 425, 429, *range(500, 600)}) - {501, 505}
"""Statuses after which the same request may succeed."""
STATUS_OF_KIND = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "server_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""The status that a server would have sent with an error reported inside a stream."""
UNKNOWN = (400, 404, 405, 501)
"""Statuses with which a server says that it has no such model, or no address that describes one."""
MOST_MODELS = 1_000
"""The most models of a list that are examined."""
WORDS = 200
"""The most characters of a server's own words in a message."""

NO_CREDIT = re.compile(r"insufficient_quota|credit balance|billing|spend limit|exceeded your current quota", re.I)
TOO_MUCH = re.compile(
    r"context[ _-]?(length|size|window)|exceed_context|maximum context|prompt is too long|too many (input )?tokens"
    r"|reduce the length|exceeds? the (available |model'?s? )?(context|maximum)",
    re.I,
)
NO_TOOLS = re.compile(
    r"not support (tools?|function)|tool[ _-]?(choice|call\w*|use) (is |are )?not (supported|enabled)"
    r"|requires --(enable-auto-tool-choice|jinja)",
    re.I,
)
"""The wording of Ollama, vLLM and llama.cpp."""
NOT_HERE = re.compile(r"region|country|territory|location", re.I)


@contextmanager
def clear_faults(vendor: ModelVendor, model: str) -> Iterator[None]:
    """Convert exceptions of an SDK or its HTTP library to ``Unserved``."""
    expected: tuple[type[Exception], ...] = (*_sdk_errors(vendor), *UNREAD, TooSlow, OSError)
    try:
        yield
    except expected as error:
        raise _fault_of(error, vendor, model) from _harmless(error, vendor)


@contextmanager
def readable(vendor: ModelVendor) -> Iterator[None]:
    """Convert exceptions due to an answer's form to ``Unserved``; only reading belongs inside."""
    try:
        yield
    except UNREADABLE as error:
        raise malformed(vendor, type(error).__name__) from _harmless(error, vendor)


def malformed(vendor: ModelVendor, what: str) -> Unserved:
    """Return the error for an answer that does not follow the protocol."""
    return Unserved(
        f"The answer of {vendor.shown} does not follow its protocol ({what}). Check "
        f"{vendor.address}{_version_hint(vendor).removesuffix(',')}."
    )


def _sdk_errors(vendor: ModelVendor) -> Iterator[type[Exception]]:
    """Yield the errors of the SDK, and those of its HTTP library: they reach us from inside a stream."""
    yield vendor.base_error
    for name in ("httpx", "httpx2"):  # the library changed with a major version
        if name in sys.modules:
            yield sys.modules[name].HTTPError
            yield sys.modules[name].InvalidURL


def _harmless(error: Exception, vendor: ModelVendor) -> Exception | None:
    """Return ``error`` as the cause to show, or None if its text, or that of its causes, contains the key."""
    told = "".join(traceback.format_exception(error))
    return None if vendor.masked(told) != told or vendor.masked(repr(error)) != repr(error) else error


def _fault_of(error: Exception, vendor: ModelVendor, model: str) -> Unserved:
    if isinstance(error, TooSlow):
        return _too_slow(vendor, *error.args)
    if isinstance(error, (*UNREAD, vendor.sdk.APIResponseValidationError)):
        return malformed(vendor, type(error).__name__)
    status = _status(error)
    if status is not None:
        refused = _refused(error, status, vendor, model)
        refused.status = status
        return refused
    if isinstance(error, vendor.sdk.APITimeoutError) or "Timeout" in type(error).__name__:
        return _too_slow(vendor, "connect" if _is_connecting(error) else "first_token", None)
    return _unreachable(error, vendor)


def _status(error: Exception) -> int | None:
    """Return the status of an error response, including one reported in a stream."""
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and status >= 300:
        return status
    inner = _body(error)
    if not inner:
        return None
    code = inner.get("code")
    if isinstance(code, int) and 400 <= code < 600:
        return code
    return STATUS_OF_KIND.get(str(inner.get("type")), 500)


def _refused(error: Exception, status: int, vendor: ModelVendor, model: str) -> Unserved:
    """Return the error for a response with an error status."""
    said, where = _reason(error, vendor), vendor.shown
    code = f"{said} {_body(error).get('code', '')} {_body(error).get('type', '')}"
    told, key = f"{where} answered with HTTP {status}: {said}", vendor.key or "no variable"
    if status == 401 and not vendor.key:
        return Unserved(
            f"{where} requires a key, but none was sent: name its variable with memkit setup --key-variable NAME."
        )
    if status == 401:
        return Unserved(f"{where} does not accept the key in {vendor.key}. Set a valid one.")
    if status == 402 or (status < 500 and NO_CREDIT.search(code)):
        return Unserved(f"{told} The account behind {key} has no quota or credit left: check its billing.")
    if status in (403, 451):
        place = " It does not serve your region." if NOT_HERE.search(code) else ""
        return Unserved(f"{told}{place} The key in {key} may not do this: check its rights, or --model.")
    if status in (404, 405):
        return Unserved(f"{told} Check {vendor.address}{_version_hint(vendor)} and --model (now {model}).")
    if status in (400, 413, 422) and (status == 413 or TOO_MUCH.search(code)):
        return Unserved(
            f"{told} The prompt is too long for {model}: lower context.max_tokens in memkit.yaml (or set "
            "MEMKIT_CONTEXT_MAX_TOKENS), or choose a model with a larger context."
        )
    if status in (400, 422) and NO_TOOLS.search(code):
        return Unserved(
            f"{told} The agent needs tools: enable them on the server, or choose a model that can call them."
        )
    if status == 407:
        return Unserved(f"{told} The proxy in the environment requires a name and password.")
    again = status in PASSING and _header(error, "x-should-retry") != "false"
    return Unserved(told, again=again, wait=_wait(error) if again else None)


def _too_slow(vendor: ModelVendor, bound: str, seconds: float | None) -> Unserved:
    what = {
        "connect": "could not be connected to in time",
        "first_token": "did not begin to answer in time",
        "between_tokens": "fell silent in the middle of its answer",
        "whole": "did not finish its answer in time",
    }[bound]
    within = f" ({seconds:g} s)" if seconds else ""
    said = f"{vendor.shown} {what}{within}. Try again, or raise requests.{bound} in memkit.yaml."
    return Unserved(said, again=bound != "whole")


def _unreachable(error: Exception, vendor: ModelVendor) -> Unserved:
    """Return the error for a missing response, from the first message of the operating system or the HTTP library."""
    causes = list(_causes(error))
    names = {type(cause).__name__ for cause in causes}
    where, host = vendor.shown, urlsplit(vendor.where).hostname
    check = f"Check {vendor.address} and the network."
    if names & {"ProxyError", "SOCKSError"}:
        return Unserved(f"The proxy in the environment refused the connection to {where}. Check it, or set NO_PROXY.")
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return Unserved(
                f"The certificate of {host} cannot be verified ({cause.verify_message}). If your own authority signed "
                "it, name its file in SSL_CERT_FILE."
            )
        if isinstance(cause, ssl.SSLError):
            return Unserved(f"TLS to {where} failed ({cause.reason}). {check} Or is it http://?")
        if isinstance(cause, socket.gaierror):
            passing = cause.errno == socket.EAI_AGAIN
            return Unserved(f"The name {host} cannot be resolved. {check}", again=passing)
        if isinstance(cause, ConnectionRefusedError):
            said = f"{where} cannot be reached: nothing listens there. Start the server, or check {vendor.address}."
            return Unserved(said, again=True)
    if names & {"LocalProtocolError", "UnsupportedProtocol", "InvalidURL", "TooManyRedirects"}:
        return Unserved(f"The request to {where} failed ({type(error).__name__}). {check}")
    return Unserved(f"{where} cannot be reached, or the connection broke off. {check}", again=True)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and its causes, the original one last."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _is_connecting(error: Exception) -> bool:
    return any("ConnectTimeout" in type(cause).__name__ for cause in _causes(error))


def _wait(error: Exception) -> float | None:
    """Return how many seconds the server asks to wait, according to its headers: RFC 9110, 10.2.3."""
    exact = _header(error, "retry-after-ms")
    given = _header(error, "retry-after")
    try:
        seconds = float(exact) / 1000 if exact else float(given)
        return seconds if seconds >= 0 and math.isfinite(seconds) else None  # a negative time is no wait
    except ValueError:
        pass
    try:
        moment = parsedate_to_datetime(given)
    except (TypeError, ValueError, OverflowError):
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def _header(error: Exception, name: str) -> str:
    headers = getattr(getattr(error, "response", None), "headers", {})
    return str(headers.get(name, "")).strip()


def _body(error: Exception) -> Mapping[str, Any]:
    """Return the error object of a response, wherever the server puts it."""
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else None
    if isinstance(inner, str):
        return {"message": inner}
    return inner if isinstance(inner, dict) else {}


def _reason(error: Exception, vendor: ModelVendor) -> str:
    """Return the server's own words on one short line, without the key."""
    body = getattr(error, "body", None)
    said = _body(error).get("message") or (body if isinstance(body, str) else getattr(error, "message", None)) or error
    text = " ".join(vendor.masked(str(said)).split())
    if text.startswith("<") or "<html" in text.lower():
        return "(a web page instead of an answer)"
    text = re.sub(r"^Error code: \d+( - )?", "", text) or "(without a message)"
    text = text if len(text) <= WORDS else f"{text[: WORDS - 1]}…"
    return text if text.endswith((".", "!", "?", "…", ")")) else f"{text}."


def _version_hint(vendor: ModelVendor) -> str:
    """Return a hint at the usual mistake in an address of a vendor whose addresses contain a version."""
    return ", which usually ends in /v1," if vendor.home.endswith("/v1") else ""


FIRST_PAUSE, LONGEST_PAUSE = 0.5, 8.0
"""Seconds before the first retry, doubled with each, and at most; half of each is random (AWS Architecture
Blog, "Exponential Backoff And Jitter", 2015)."""

Say = Callable[[str], None]
Ask = Callable[[], Iterator[Delta]]


def nobody(text: str) -> None:
    """Ignore a part of an answer."""


class VendorModel(ABC):
    """Calls one model of one vendor; sends no sampling parameters, because newer models reject them."""

    VENDOR: ClassVar[ModelVendor]
    CLIENT: ClassVar[str]
    """The name of the SDK's client class."""
    DEFAULT: ClassVar[str]

    def __init__(self, model: str = "", patience: Patience | None = None, address: ModelAddress | None = None) -> None:
        self.name = model or self.DEFAULT
        self.vendor = self.VENDOR.at(address or ModelAddress())
        self.patience = patience or Patience()
        self._client = self.vendor.client(self.CLIENT, self.patience)

    @classmethod
    def open(
        cls,
        argument: str,
        model: str | None = None,
        folder: Path | None = None,
        patience: Patience | None = None,
        address: ModelAddress | None = None,
    ) -> Self:
        """Return the model called ``model``; raise ``EnvironmentFault`` if it cannot be called."""
        no_argument(cls.VENDOR.provider, argument)
        return cls(model or "", patience, address)

    def complete(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Completion:
        """Return the next text or tool calls; raise ``Unserved`` if the server cannot serve."""
        request = self._request(messages, tools)
        return self._answer(lambda: self._whole(request), messages)

    def stream(self, messages: Sequence[Message], tools: Sequence[ToolSpec], say: Callable[[str], None]) -> Completion:
        """Return the same as ``complete``, and pass the text to ``say`` as it arrives."""
        request = self._request(messages, tools)
        return self._answer(lambda: self._streamed(request), messages, say)

    @abstractmethod
    def _request(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> dict[str, Any]:
        """Return the request in the vendor's protocol."""

    @abstractmethod
    def _whole(self, request: dict[str, Any]) -> Iterator[Delta]:
        """Request an answer in one piece and yield its parts."""

    @abstractmethod
    def _streamed(self, request: dict[str, Any]) -> Iterator[Delta]:
        """Request a stream and yield the parts of the answer as they arrive."""

    def _answer(self, ask: Ask, messages: Sequence[Message], say: Say | None = None) -> Completion:
        """Return the answer that ``ask()`` brings in parts, passing each to ``say`` as it arrives.

        A request that failed for a temporary reason is repeated, and its answer begins anew, as long as nothing of it
        was passed on.

        Raises:
            Unserved: The model did not answer; the text so far was passed to ``say``.
        """
        begun, spent, requests = monotonic(), Counter[str](), 0
        while True:
            requests += 1
            arriving = Arriving(say or nobody)
            try:
                self._listen(ask, arriving, stream=say is not None)
                return arriving.completion(self._usage(spent, arriving, messages, requests))
            except Unserved as fault:
                spent.update(arriving.usage)
                fault.usage = {**spent, "retries": requests - 1}
                pause = self._pause(fault, requests, monotonic() - begun)
                if arriving.said or pause is None:
                    raise self._told(fault, requests) from fault.__cause__
            sleep(pause)

    def served(self) -> list[str]:
        """Return the models that the server lists; raise ``Unserved`` if it lists none."""
        with clear_faults(self.vendor, self.name), readable(self.vendor):
            return [str(model.id) for model in islice(self._client.models.list(), MOST_MODELS)]

    def is_served(self) -> bool | None:
        """Return whether the server knows the model, directly or by its list; None if it says neither."""
        try:
            with clear_faults(self.vendor, self.name), readable(self.vendor):
                return bool(self._client.models.retrieve(self.name).id)
        except Unserved as fault:
            if fault.status not in UNKNOWN:
                raise
        try:
            served = self.served()
        except Unserved as fault:
            if fault.status not in UNKNOWN:
                raise
            return None
        return not {self.name, f"{self.name}:latest"}.isdisjoint(served) if served else None

    def _listen(self, ask: Ask, arriving: Arriving, *, stream: bool) -> None:
        with closing(self._parts(ask, stream=stream)) as parts:
            for part in parts:
                arriving.add(part)
                if arriving.full:
                    return
        if arriving.empty:
            raise malformed(self.vendor, "nothing arrived")

    def _parts(self, ask: Ask, *, stream: bool) -> Generator[Delta]:
        with clear_faults(self.vendor, self.name), closing(timed(ask, self.patience, stream=stream)) as parts:
            yield from parts

    def _pause(self, fault: Unserved, requests: int, passed: float) -> float | None:
        """Return how long to wait before a retry, or None if it is not worthwhile."""
        if not fault.again or requests > self.patience.retries:
            return None
        most = min(FIRST_PAUSE * 2 ** (requests - 1), LONGEST_PAUSE)
        pause = fault.wait if fault.wait is not None else most * random.uniform(0.5, 1.0)
        return pause if passed + pause <= self.patience.retry_within else None

    def _told(self, fault: Unserved, requests: int) -> Unserved:
        """Return the error with the number of attempts, and the wait that the server requests."""
        more = f" Asked {requests} times." if requests > 1 else ""
        more += f" It asks to retry in {fault.wait:.0f} s." if fault.wait and fault.again else ""
        told = Unserved(f"{fault}{more}", again=fault.again, wait=fault.wait)
        told.usage, told.status = fault.usage, fault.status
        return told

    def _usage(
        self, spent: Counter[str], arriving: Arriving, messages: Sequence[Message], requests: int
    ) -> dict[str, int]:
        """Return the tokens of all requests; missing counts are estimated, and marked as such."""
        usage = dict(arriving.usage)
        if "input" not in usage or "output" not in usage:
            count = counter()
            asked = "\n".join(f"{one.get('content') or ''}{one.get('tool_calls') or ''}" for one in messages)
            usage = {"input": count(asked), "output": count(arriving.written), **usage, "estimated": 1}
        retried = {"retries": requests - 1} if requests > 1 else {}
        return {name: count + spent[name] for name, count in usage.items()} | retried
