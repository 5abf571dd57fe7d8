"""Wording that will not be true for long, and wording that nobody stands behind."""

import re

from .wording import plain

TRANSIENT = re.compile(
    r"\b(right now|just now|at the moment|at present|presently|currently|for now|for the moment|for the time being"
    r"|momentarily|temporarily|today|tonight|tomorrow|yesterday"
    r"|this (?:very )?(?:minute|moment|second|morning|afternoon|evening|week|weekend)"
    r"|in (?:an?|\d+|a few|a couple of) (?:moment|minute|second|hour)s?|as we speak|these days|in the meantime"
    r"|as of now|now(?=[.,;!]|$)|soon|shortly|later today"
    r"|gerade|derzeit|momentan|zurzeit|heute|actuellement|en ce moment|aujourd'hui|ahora mismo|actualmente"
    r"|por el momento|hoy|attualmente|al momento|oggi|atualmente|agora mesmo|hoje|momenteel|vandaag"
    r"|сейчас|сегодня|временно)\b"
    r"|(现在|現在|目前|今天|今日|지금|현재|오늘)"
)
HEDGES = re.compile(
    r"\b(might|maybe|perhaps|possibly|probably|presumably|considering|not sure|unsure|uncertain"
    r"|think(?:s|ing) (?:about|of)"
    r"|toying with|leaning towards?"
    r"|(?:may|could) (?:be|have|want|like|prefer|need|move|go|try|start|switch)|seems?|likely"
    r"|appears? to|wonder(?:s|ing)? (?:if|whether)"
    r"|(?:i|we) (?:guess|suppose|(?:think|believe)(?! (?:in|of|about)\b))|kind of|sort of"
    r"|vielleicht|eventuell|möglicherweise|wahrscheinlich|vermutlich|peut-être|probablement|quizás?|tal vez"
    r"|probablemente|forse|probabilmente|talvez|provavelmente|misschien|waarschijnlijk|возможно|может быть|наверное"
    r"|вероятно)\b"
    r"|(也许|也許|可能|大概|たぶん|かもしれない|아마)"
)


def transient_wording(text: str) -> str | None:
    """Return the words that tie ``text`` to this moment, if there are any."""
    found = TRANSIENT.search(plain(text))
    return found[0] if found else None


def hedged_wording(text: str) -> str | None:
    """Return the words by which ``text`` leaves open whether it is true, if there are any."""
    found = HEDGES.search(plain(text))
    return found[0] if found else None
