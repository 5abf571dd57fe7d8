"""A server that sends what a test tells it to, byte for byte, and the events of the vendors' streams."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

STREAM = "text/event-stream"


@dataclass(frozen=True)
class Page:
    """One response: its parts are sent one by one, each after ``pause`` seconds."""

    parts: Sequence[bytes] = (b"",)
    status: int = 200
    kind: str = STREAM
    headers: Mapping[str, str] = field(default_factory=dict)
    pause: float = 0.0
    breaks: bool = False
    """Whether the connection is closed before the response is complete."""


class RawServer:
    """Answers each request with the next page, the last one again and again."""

    def __init__(self, pages: Sequence[Page]) -> None:
        self.pages = list(pages)
        self.bodies: list[bytes] = []
        self.ended = 0
        """Responses that were read to their end."""
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                outer.bodies.append(self.rfile.read(int(self.headers["content-length"])))
                page = outer.pages.pop(0) if len(outer.pages) > 1 else outer.pages[0]
                try:
                    self.send(page)
                except OSError:
                    self.close_connection = True

            def send(self, page: Page) -> None:
                self.send_response(page.status)
                for name, value in {"Content-Type": page.kind, "Transfer-Encoding": "chunked", **page.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                for part in page.parts:
                    time.sleep(page.pause)
                    if part:
                        self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
                        self.wfile.flush()
                if page.breaks:
                    self.close_connection = True
                else:
                    self.wfile.write(b"0\r\n\r\n")
                    outer.ended += 1

            def log_message(self, format: str, *args: Any) -> None:
                """Say nothing."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()
        self.address = f"http://127.0.0.1:{self._http.server_address[1]}"

    def stop(self) -> None:
        """Take no further request."""
        self._http.shutdown()
        self._http.server_close()


RawServe = Callable[..., RawServer]


def sse(*events: Any) -> bytes:
    """Return events as a server sends them; those of Anthropic carry their name."""
    blocks = []
    for event in events:
        name = f"event: {event['type']}\n" if "type" in event else ""
        blocks.append(f"{name}data: {json.dumps(event)}\n\n")
    return "".join(blocks).encode()


def message_begun(**usage: int) -> dict[str, Any]:
    """Return how a message of Anthropic's begins."""
    message = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None}
    return {"type": "message_start", "message": {**message, "usage": usage}}


def ended(reason: str, **usage: int) -> list[dict[str, Any]]:
    """Return how it ends."""
    end = {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}
    return [end, {"type": "message_stop"}]
