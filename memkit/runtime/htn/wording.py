"""Sentences with numbers and nouns in them."""


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is one."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def one_of(noun: str) -> str:
    """Return a noun with its article.

    >>> one_of("place"), one_of("environment")
    ('a place', 'an environment')
    """
    return f"an {noun}" if noun[:1].lower() in {"a", "e", "i", "o"} else f"a {noun}"
