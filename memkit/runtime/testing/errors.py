"""What can go wrong: a script that cannot be played, a request that breaks the protocol."""

from __future__ import annotations

from collections.abc import Mapping


class ScriptError(Exception):
    """A script that cannot be played; the message says which part and what would be right."""

    exit_code = 2


class Refusal(Exception):
    """The answer to a request that the server does not serve, with the status and the reason the client sees."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        kind: str = "invalid_request_error",
        code: str | None = None,
        param: str | None = None,
        retry: bool = False,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.kind = kind
        self.code = code
        self.param = param
        self.headers = {} if retry else {"x-should-retry": "false"}  # vendor clients then fail at once
        self.headers.update(headers or {})
