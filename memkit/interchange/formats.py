"""The formats that can be imported, and how a file is told to be in one."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from memkit.interchange.interface import Reader

FORMATS: Mapping[str, str] = {
    "memkit": "memkit.interchange.memkit:MemkitReader",
}
"""Name → ``module:Class``, imported when asked for."""


def open_reader(name: str) -> Reader:
    """Return the reader of a format of ``FORMATS``."""
    module, _, attribute = FORMATS[name].partition(":")
    reader: Reader = getattr(import_module(module), attribute)()
    return reader
