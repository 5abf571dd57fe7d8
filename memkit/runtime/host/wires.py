"""Protocol-independent clean-up: makes a model's own output acceptable to a server when it is sent back."""

from __future__ import annotations

import json
import re

from ..loop.bound import read_arguments

UNNAMED = "unknown_tool"
"""Replaces a name that no server would accept back."""
TOO_MANY = "Not run: too many calls in one turn."
"""What a model is told of a call beyond the turn's limit."""
STOPPED = "Not known: the process ended before this call came back."
"""The result of a call in whose turn the process was killed."""
CUT_OFF = "(The answer was cut off at the model's limit of tokens.)"
WITHHELD = "(The provider's content filter withheld the answer or the rest of it.)"
UNENDED = "(The connection ended before the model said that its answer was complete.)"
"""Appended to an answer that is not complete, by the reason."""
_NOTES = {"length": CUT_OFF, "max_output_tokens": CUT_OFF, "max_completion_tokens": CUT_OFF, "content_filter": WITHHELD}
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def sendable_name(name: str) -> str:
    """Return ``name`` if it is a valid tool name, and otherwise a stand-in.

    >>> sendable_name("note"), sendable_name("rm -rf"), sendable_name("")
    ('note', 'unknown_tool', 'unknown_tool')
    """
    return name if _TOOL_NAME.fullmatch(name) else UNNAMED


def sendable_text(text: str) -> str:
    r"""Return ``text`` with split surrogate pairs joined; an unpaired half becomes a replacement character.

    A server may cut a character in two, and neither half is text on its own.

    >>> sendable_text("\ud83d" + "\ude42") == "\U0001f642", sendable_text("a\ud83db") == "a\ufffdb"
    (True, True)
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def whole(text: str, stop: str | None) -> str:
    r"""Return an answer with a note if ``stop``, the reason for its end, says that something is missing.

    >>> whole("The sum is 4.", "stop")
    'The sum is 4.'
    >>> whole("The sum is", "length")
    "The sum is\n(The answer was cut off at the model's limit of tokens.)"
    """
    note = _NOTES.get(stop) if stop else UNENDED
    return "\n".join(filter(None, [text, note]))


def sendable_arguments(text: str) -> str:
    r"""Return ``text`` if it is a JSON object, and otherwise a JSON string of it, which no tool mistakes for arguments.

    >>> sendable_arguments('{"a": 1}'), sendable_arguments('{"a": ')
    ('{"a": 1}', '"{\\"a\\": "')
    """
    return json.dumps(text) if read_arguments(text) is None else text


def arguments_as_sent(sendable: str) -> str:
    r"""Return the text that the model sent, undoing ``sendable_arguments``.

    >>> arguments_as_sent('{"a": 1}'), arguments_as_sent('"{\\"a\\": "')
    ('{"a": 1}', '{"a": ')
    """
    try:
        value = json.loads(sendable)
    except ValueError:  # not the output of that function
        return sendable
    return value if isinstance(value, str) else sendable


class CallNumbers:
    """Tells the calls of one streamed answer apart; some servers give every call the same index, or none."""

    def __init__(self) -> None:
        self._seen: list[tuple[int | None, str]] = []

    def number_of(self, index: int | None, call_id: str | None) -> int:
        """Return the number of the call that a part with this index and id belongs to.

        >>> numbers = CallNumbers()
        >>> numbers.number_of(0, "a"), numbers.number_of(0, None), numbers.number_of(0, "b"), numbers.number_of(1, "c")
        (0, 0, 1, 2)
        """
        same = [number for number, (seen, _) in enumerate(self._seen) if seen == index]
        if same and call_id in (None, "", self._seen[same[-1]][1]):
            return same[-1]
        self._seen.append((index, call_id or ""))
        return len(self._seen) - 1
