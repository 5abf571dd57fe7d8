"""From the fields of a memory, as a file has them, to what can be offered."""

from __future__ import annotations

import re
from collections.abc import Mapping

from memkit.interchange.interface import Found, Unfit, Wishes
from memkit.runtime.memory.gate.secrets import mask
from memkit.runtime.memory.record.errors import Reason
from memkit.runtime.memory.record.lines import JSON, MAX_LINE_BYTES, encode_data
from memkit.runtime.memory.record.record import IMPORTED_FIELDS, RECORD_FIELDS, RESERVED, Draft, field_problems

ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")
OFFERED = tuple(name for name in Draft._fields if name != "extra")


FOREIGN_CONFIDENCE = 0.8
"""Of what another system stored without saying how sure it was."""


def foreign(line: int, data: Mapping[str, JSON], wishes: Wishes, *, replaces: bool = False) -> Found | Unfit:
    """Return the memory of another system: its owner is who it names, else who the person who imports names."""
    owner = data.get("user_id") or wishes.user or wishes.fallback
    return found(line, {"confidence": FOREIGN_CONFIDENCE, **data, "user_id": owner}, wishes, replaces=replaces)


def found(line: int, data: Mapping[str, JSON], wishes: Wishes, *, replaces: bool = False) -> Found | Unfit:
    """Return the memory that ``data`` holds, in our own names of fields, or what is wrong with it."""
    problem = _problem(data, wishes)
    if problem:
        return Unfit(line, (problem,))
    given = {key: value for key, value in data.items() if value is not None}
    defaults: dict[str, JSON] = {"type": wishes.kind, "importance": wishes.importance, "source": "imported"}
    known = defaults | {key: given[key] for key in OFFERED if key in given}
    tags = known.pop("tags", ())
    brought = [key for key in given if key in IMPORTED_FIELDS]
    unknown = [key for key in data if key not in RECORD_FIELDS]
    extra = {key: data[key] for key in (*brought, *unknown)}
    draft = Draft(**known, tags=tuple(tags), extra=extra)  # type: ignore[arg-type]
    return Found(line, str(given["user_id"]), draft, replaces)


def _problem(data: Mapping[str, JSON], wishes: Wishes) -> Reason | None:
    absent = [key for key in ("text", "user_id") if data.get(key) is None]
    if absent:
        return Reason("schema", f"A memory needs {' and '.join(absent)}.")
    reserved = [key for key in RESERVED if key in data]
    if reserved:
        return Reason("schema", f"{', '.join(reserved)} cannot be a field of a memory.")
    own_id = data.get("id")
    problems = field_problems(data)
    if not problems and own_id is not None and not ID.fullmatch(str(own_id)):
        problems = ["id is not letters, digits and . _ : - alone, at most 128 of them."]
    if not problems:
        problems = _unwritable(data)
    if problems:
        return Reason("schema", mask(problems[0]))
    if wishes.user is not None and data["user_id"] != wishes.user:
        return Reason("other_user", "The line is about another user than the one it is imported for.")
    return None


def _unwritable(data: Mapping[str, JSON]) -> list[str]:
    try:
        size = len(encode_data(data).encode())
    except (TypeError, ValueError, RecursionError) as error:
        return [f"This cannot be written as JSON: {error}."]
    if size > MAX_LINE_BYTES:
        return [f"The memory has {size:,} bytes with all its fields; {MAX_LINE_BYTES:,} is the most."]
    return []
