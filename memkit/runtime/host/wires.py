"""What goes over any wire to a model: what it made up, in a form that a server takes back with the conversation."""

from __future__ import annotations

import json
import re

from ..loop.arguments import read_arguments

UNNAMED = "unknown_tool"
"""In the place of a name that no server would take back."""
TOO_MANY = "Not run: too many calls in one turn."
"""What a model is told of a call behind the bound of its turn."""
STOPPED = "Not known: the process ended before this call came back."
"""The result of a call in whose turn the process was killed."""
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def sendable_name(name: str) -> str:
    """Return ``name`` if it can be a tool's, and otherwise a stand-in.

    >>> sendable_name("note"), sendable_name("rm -rf"), sendable_name("")
    ('note', 'unknown_tool', 'unknown_tool')
    """
    return name if _TOOL_NAME.fullmatch(name) else UNNAMED


def sendable_text(text: str) -> str:
    r"""Return ``text`` with the halves of surrogate pairs put together; a half that stays alone becomes a mark.

    A server may cut a character in two, and neither half is text by itself.

    >>> sendable_text("\ud83d" + "\ude42") == "\U0001f642", sendable_text("a\ud83db") == "a\ufffdb"
    (True, True)
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def sendable_arguments(text: str) -> str:
    r"""Return ``text`` if it is a JSON object, and otherwise a JSON string of it, which no tool takes for arguments.

    >>> sendable_arguments('{"a": 1}'), sendable_arguments('{"a": ')
    ('{"a": 1}', '"{\\"a\\": "')
    """
    return json.dumps(text) if read_arguments(text) is None else text


def arguments_as_sent(sendable: str) -> str:
    r"""Return what the model sent, of which ``sendable_arguments`` made ``sendable``.

    >>> arguments_as_sent('{"a": 1}'), arguments_as_sent('"{\\"a\\": "')
    ('{"a": 1}', '{"a": ')
    """
    try:
        value = json.loads(sendable)
    except ValueError:  # it did not pass there
        return sendable
    return value if isinstance(value, str) else sendable


class CallNumbers:
    """Tells the calls of one streamed answer apart; some servers give each the same index, or none."""

    def __init__(self) -> None:
        self._seen: list[tuple[int | None, str]] = []

    def number_of(self, index: int | None, call_id: str | None) -> int:
        """Return the number of the call to which a part with this index and id belongs.

        >>> numbers = CallNumbers()
        >>> numbers.number_of(0, "a"), numbers.number_of(0, None), numbers.number_of(0, "b"), numbers.number_of(1, "c")
        (0, 0, 1, 2)
        """
        same = [number for number, (seen, _) in enumerate(self._seen) if seen == index]
        if same and call_id in (None, "", self._seen[same[-1]][1]):
            return same[-1]
        self._seen.append((index, call_id or ""))
        return len(self._seen) - 1
