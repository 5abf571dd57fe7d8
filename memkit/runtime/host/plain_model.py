"""Asks a vendor's server one question and reads the text of its answer, whatever SDK the project uses."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..loop.interface import Completion, Message, ToolSpec
from .endpoints import ANTHROPIC, OPENAI, Endpoint, Vendor, endpoint_of, malformed, readable, too_slow
from .sessions import CannotServe
from .settings import ProjectSettings

VENDORS = {"openai": OPENAI, "anthropic": ANTHROPIC}
MOST_TOKENS = 2000
"""Limit of an answer, for the protocol that requires one."""
NOT_THERE = 404
LARGEST = 4_000_000
"""The most bytes of an answer that are read."""


def plain_model(settings: ProjectSettings, vendor: Vendor | None) -> PlainModel | None:
    """Return the model that ``context.summary_model`` names in a project whose target uses ``vendor``.

    If it names none, the project's own model is used. None if rules do the work, as when that model has no key.

    Raises:
        CannotServe: The named model is none that a project can ask.
    """
    chosen = settings.limits.context.summary_model
    name, _, model = chosen.partition(":")
    if name == "reference" or (name == "off" and not (vendor and settings.environment.get(vendor.key, "").strip())):
        return None
    if name not in ("off", "provider") and name not in VENDORS:
        raise CannotServe(
            f"context.summary_model: {chosen!r:.60} is not a provider for projects. Choose from {', '.join(VENDORS)}."
        )
    endpoint = endpoint_of(settings, VENDORS.get(name, vendor or OPENAI))
    return PlainModel(replace(endpoint, model=model) if model else endpoint)


@dataclass
class PlainModel:
    """A model behind Chat Completions, or Responses if only those are served, or Anthropic's Messages."""

    endpoint: Endpoint
    _responds: bool = False
    """Whether the server turned out to serve Responses only."""

    def complete(self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()) -> Completion:
        """Return the model's answer; it is offered no tools. Raise ``CannotServe`` if no server answers."""
        system = "\n\n".join(str(one["content"]) for one in messages if one["role"] == "system")
        said = [{"role": one["role"], "content": str(one["content"])} for one in messages if one["role"] != "system"]
        request: dict[str, Any] = {"model": self.endpoint.model}
        if self.endpoint.vendor is ANTHROPIC:
            answer = self._posted(
                "/v1/messages", {**request, "system": system, "messages": said, "max_tokens": MOST_TOKENS}
            )
            with readable(self.endpoint):
                used = answer.get("usage") or {}
                text = "".join(part["text"] for part in answer["content"] if part["type"] == "text")
                return Completion(text, usage=_counts(used))
        if not self._responds:
            first = [{"role": "system", "content": system}] if system else []
            answer = self._posted("/chat/completions", {**request, "messages": [*first, *said]}, may_lack=True)
            self._responds = not answer
        if self._responds:
            answer = self._posted("/responses", {**request, "instructions": system, "input": said, "store": False})
        with readable(self.endpoint):
            return Completion(_text_of(answer), usage=_counts(answer.get("usage") or {}))

    def _posted(self, path: str, body: Mapping[str, Any], *, may_lack: bool = False) -> dict[str, Any]:
        """Return the server's answer; empty if it lacks the path and that is allowed."""
        from urllib.error import HTTPError, URLError
        from urllib.request import Request, urlopen

        end, key = self.endpoint, self.endpoint.api_key
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        if end.vendor is ANTHROPIC:
            headers |= {"x-api-key": key, "anthropic-version": "2023-06-01"}
            del headers["Authorization"]
        asked = Request(end.address.rstrip("/") + path, json.dumps(body).encode(), headers)
        try:
            with urlopen(asked, timeout=end.timeout) as response:
                answer = json.loads(response.read(LARGEST))
        except HTTPError as error:
            if may_lack and error.code == NOT_THERE:
                return {}
            raise CannotServe(f"{end.name} answered with HTTP {error.code}.") from error
        except TimeoutError as error:
            raise too_slow(end) from error
        except (URLError, OSError) as error:
            raise CannotServe(
                f"{end.name} cannot be reached. Check {end.vendor.url} and that the server runs."
            ) from error
        except (ValueError, RecursionError) as error:
            raise malformed(end, type(error).__name__) from error
        if not isinstance(answer, dict):
            raise malformed(end, "no object")
        return answer


def _text_of(answer: Mapping[str, Any]) -> str:
    if "choices" in answer:
        return str(answer["choices"][0]["message"]["content"] or "")
    parts = (part for item in answer["output"] if item["type"] == "message" for part in item["content"])
    return "".join(part.get("text", "") for part in parts)


def _counts(usage: Mapping[str, Any]) -> dict[str, int]:
    names = {"input": ("prompt_tokens", "input_tokens"), "output": ("completion_tokens", "output_tokens")}
    return {name: int(usage[one]) for name, either in names.items() for one in either if one in usage}
