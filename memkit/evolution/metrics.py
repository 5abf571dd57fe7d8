"""What an evaluator returned, as the number that ranks a program."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

COMBINED = "combined_score"
_NO_METRIC = ("error",)
"""What evaluators call a place for what went wrong; its number is none of the program's."""


def measured(metrics: Mapping[str, Any]) -> tuple[float | None, str]:
    """Return the number that ranks a program: its combined score, else the mean of its numbers; or why there is none.

    >>> measured({"combined_score": 0.5, "time": 3})
    (0.5, '')
    >>> measured({"combined_score": True})
    (None, 'combined_score is True, a truth value and no number')
    """
    if COMBINED in metrics:
        value, reason = _read(COMBINED, metrics[COMBINED])
        said = _said(metrics) if value == 0 else ""
        return (None, said) if said else (value, reason)
    numbers = {name: value for name, value in metrics.items() if _is_number(value) and name not in _NO_METRIC}
    if not numbers:
        return None, "the evaluator returned no number"
    for name, value in numbers.items():
        if not _is_finite(value):
            return _read(name, value)
    return math.fsum(value / len(numbers) for value in numbers.values()), ""


def _said(metrics: Mapping[str, Any]) -> str:
    """Return the failure that an evaluator tells beside a score of 0, which may be the best score elsewhere."""
    error = metrics.get("error")
    if isinstance(error, str) and error.strip():
        return f"the evaluator says: {error.strip()[:300]}"
    return "the evaluator says that time was up" if metrics.get("timeout") is True else ""


def _read(name: str, value: Any) -> tuple[float | None, str]:
    """Return a metric as a finite number, or why it is none."""
    if isinstance(value, bool):
        return None, f"{name} is {value}, a truth value and no number"
    if not _is_number(value):
        return None, f"{name} is {value!r:.60}, not a number"
    if not _is_finite(value):
        return None, f"{name} is {_short(value)}, not a finite number"
    return float(value), ""


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number that no float is as large as
        return False


def _short(value: float) -> str:
    return "a whole number beyond every float" if isinstance(value, int) else repr(value)


def finite(metrics: Mapping[str, Any]) -> dict[str, float]:
    """Return the metrics that are finite numbers, as JSON can hold them."""
    return {str(name): float(value) for name, value in metrics.items() if _is_number(value) and _is_finite(value)}
