"""Determine the system libraries that the interpreter loads, which a root folder made for it must contain."""

from __future__ import annotations

import ctypes
import os

from . import nursery
from .system import die_with_parent


class _Loaded(ctypes.Structure):
    """The beginning of the structure that ``dl_iterate_phdr`` passes for each object."""

    _fields_ = [("address", ctypes.c_size_t), ("name", ctypes.c_char_p)]


def main(owner: int, modules: list[tuple[str, str]]) -> None:
    """Load what the fork server will load, and print the paths of the libraries, as the loader names them.

    This process ends with its ``owner``, however long importing a granted module takes.
    """
    die_with_parent(owner)
    answer = os.dup(1)
    os.dup2(2, 1)  # a granted module's output must not be taken for paths
    nursery.preload()
    nursery.import_granted(modules)
    paths: list[str] = []

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Loaded), ctypes.c_size_t, ctypes.c_void_p)
    def note(loaded, _size, _data):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202 - a function of C
        paths.append(os.fsdecode(loaded.contents.name or b""))
        return 0

    ctypes.CDLL(None).dl_iterate_phdr(note, None)
    os.write(answer, "\n".join(path for path in paths if path.startswith("/")).encode("utf-8", "surrogateescape"))
