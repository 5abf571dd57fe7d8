"""Posting lists: the documents that hold a word, in runs of those for which it counts the same.

How much a word counts in a document depends on two numbers: how often it occurs there, and how many words the document
has. Documents that share both form a run, so a search weighs runs instead of documents and meets the best first,
however the average length has changed since: an impact-ordered list (Anh and Moffat, SIGIR 2006) with exact impacts.
"""

from array import array
from collections.abc import Iterable

Kind = tuple[int, int]
"""How often a word occurs in a document, and how many words that has."""
Runs = dict[Kind, "array[int]"]
"""The documents of each kind, in ascending order."""


def packed(runs: Runs) -> bytes:
    """Return runs as bytes: how many there are, the kind and size of each, then all documents.

    They are in the byte order of this machine, which an index never leaves.
    """
    head, documents = array("I", [len(runs)]), array("I")
    for (count, length), held in sorted(runs.items()):
        head.extend((count, length, len(held)))
        documents += held
    return (head + documents).tobytes()


def unpacked(data: bytes) -> Runs:
    """Return what ``packed`` was given."""
    numbers = array("I", data)
    start = 1 + 3 * numbers[0]
    runs: Runs = {}
    for at in range(1, start, 3):
        count, length, size = numbers[at : at + 3]
        runs[count, length] = numbers[start : start + size]
        start += size
    return runs


def joined(lists: Iterable[Runs]) -> Runs:
    """Return several lists, which share no document, as one."""
    runs: Runs = {}
    for one in lists:
        for kind, held in one.items():
            before = runs.get(kind)
            if before is None:
                runs[kind] = held
            elif before[-1] < held[0]:
                runs[kind] = before + held
            else:
                runs[kind] = array("I", sorted((*before, *held)))
    return runs


def documents_of(runs: Runs) -> set[int]:
    """Return the documents of all runs."""
    return set[int]().union(*runs.values())


def length_of(runs: Runs) -> int:
    """Return how many documents are in all runs."""
    return sum(map(len, runs.values()))
