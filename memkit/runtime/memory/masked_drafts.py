"""A draft without what a store wants masked instead of refused."""

from collections.abc import Mapping, Sequence

from .record import JSON, Draft
from .secrets import mask


def masked_draft(draft: Draft, groups: frozenset[str]) -> Draft:
    """Return ``draft`` with everything of ``groups`` masked in its text, tags, source and extra fields."""
    if not groups:
        return draft
    return draft._replace(
        text=mask(draft.text, groups),
        tags=tuple(mask(tag, groups) for tag in draft.tags),
        source_url=mask(draft.source_url, groups) if draft.source_url else None,
        extra={mask(key, groups): masked_value(value, groups) for key, value in draft.extra.items()},
    )


def masked_value(value: JSON, groups: frozenset[str]) -> JSON:
    """Return ``value`` with everything of ``groups`` masked in the texts in it."""
    if isinstance(value, str):
        return mask(value, groups)
    if isinstance(value, Mapping):
        return {mask(key, groups): masked_value(inner, groups) for key, inner in value.items()}
    if isinstance(value, Sequence):
        return [masked_value(inner, groups) for inner in value]
    return value


def differences(before: Draft, after: Draft) -> dict[str, JSON]:
    """Return the fields of a record that masking changed, as they are to be written."""
    if before == after:
        return {}
    old, new = before.to_data(), after.to_data()
    return {key: value for key, value in new.items() if old.get(key) != value}
