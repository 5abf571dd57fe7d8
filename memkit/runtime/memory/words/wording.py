# ruff: noqa: SIM905 (lists of words read better as text)
"""What a sentence says, as words: order and negations kept, spelling, case and endings levelled. For any script."""

import re
from functools import lru_cache

from .text import plain, regex, stem

ALONE = (
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    r"\U00020000-\U0003ffff]"
)
"""Letters of scripts that put no blanks between words: each is a word of its own here."""
TOKEN = regex(
    rf"{ALONE}[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e]*|\d+(?:[.,:/-]\d+)*|(?:(?!{ALONE})[^\W_])+(?:'[a-z]+)?|[+#€$£%°]"
)
SHORT = 400
"""One offer is compared with many records, and one record with many offers: words of texts up to here are kept."""
KEPT = 8192
"""So many of them: an import meets the same records again and again."""
NEGATIONS = frozenset(
    """not no never none neither nor without cannot n't nobody nothing nicht kein keine keinen nie niemals ne
    pas jamais nunca jamás não nunca non mai niet geen nooit не нет никогда ni nie inte aldrig ikke لا ليس لم
    لن לא אין नहीं 不 没 沒 無 无 非 未 别 안 못""".split()
)
NUMBER_WORDS = frozenset(
    """zero one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred
    thousand million first second third half twice both 一 二 三 四 五 六 七 八 九 十 百 千 万""".split()
)
EMPTY_WORDS = frozenset("""a an the that really very so just also indeed quite please of""".split())
"""Words whose presence changes nothing about what is said."""
FUNCTION_WORDS = EMPTY_WORDS | frozenset(
    """i me my mine myself you your yours he him his she her hers it its we us our they them their user user's
    is am are was were be been being do does did done have has had having will would shall should can could
    may to in on at by for from with as and or but if then than this these those there here who whom which
    what when where how why about into over under up down out 's 'm 're 've 'd 'll too own""".split()
)
CONTRACTIONS = {
    "won't": ("will", "not"),
    "can't": ("can", "not"),
    "cannot": ("can", "not"),
    "shan't": ("shall", "not"),
    "cant": ("can", "not"),
    "wont": ("will", "not"),
    "im": ("i", "'m"),
    "ive": ("i", "'ve"),
} | {f"{word}nt": (word, "not") for word in "do does did is are was were have has had could should would".split()}
"""Also as they are typed in haste: a negation without its apostrophe still turns the statement round."""

GREETING = regex(
    r"^(?:hi|hello|hey|good (?:morning|afternoon|evening|day)|greetings)(?: there| again| all)?"
    r"(?:,? [A-Za-z\u00c0-\u024f]+)?\W*$",
    re.IGNORECASE,
)
"""A whole message, or a sentence, that greets, maybe by a name, and says nothing else."""
SHORTENED = regex(r"\b(?i:dr|mr|mrs|ms|prof|st|vs|approx|e\.g|i\.e)\.$|[A-Z][a-z]+ [A-Z]\.$")
"""What a full stop behind ends no sentence."""


def words(text: str) -> tuple[str, ...]:
    """Return the words of ``text`` in order, contractions taken apart.

    >>> words("Alice doesn't like tea")
    ('alice', 'does', 'not', 'like', 'tea')
    """
    return _short_words(text) if len(text) <= SHORT else _words(text)


def _words(text: str) -> tuple[str, ...]:
    found: list[str] = []
    for token in TOKEN.findall(plain(text)):
        found.extend(_apart(token))
    return tuple(found)


_short_words = lru_cache(maxsize=KEPT)(_words)


def _apart(token: str) -> tuple[str, ...]:
    if "'" not in token:
        return CONTRACTIONS.get(token, (token,))
    if token in CONTRACTIONS:
        return CONTRACTIONS[token]
    if token.endswith("n't"):
        return (token[:-3], "not")
    head, _, tail = token.partition("'")
    return (head, "'" + tail)


def content_words(text: str) -> list[str]:
    """Return the stems of the words of ``text`` that carry meaning, in order; negations and numbers are among them."""
    return [stem(word) for word in words(text) if word not in FUNCTION_WORDS]


def is_negation(word: str) -> bool:
    """Return whether ``word`` turns a statement round."""
    return word in NEGATIONS


def is_negated(text: str) -> bool:
    """Return whether ``text`` is a negative statement."""
    return sum(map(is_negation, words(text))) % 2 == 1


def is_number(word: str) -> bool:
    """Return whether ``word`` is a number in digits or letters."""
    return any(char.isnumeric() for char in word) or word in NUMBER_WORDS


def sentences(text: str) -> list[str]:
    """Return the sentences of ``text``, each with the mark that ends it.

    >>> sentences("I met Dr. Brown. He helped.")
    ['I met Dr. Brown.', 'He helped.']
    """
    found: list[str] = []
    for part in re.findall(r"[^.!?。！？\n]+(?:[.!?。！？]+(?=\s|$|\W)|\.(?=\S)[^.!?。！？\n]*)*[.!?。！？]*", text):
        if found and SHORTENED.search(found[-1]) and not part.startswith("\n"):
            found[-1] = f"{found[-1]} {part.strip()}"
        elif part.strip():
            found.append(part.strip())
    return found


ERRANDS = (
    r"(?:file|finish|call|send|write|buy|book|pay|submit|ship|renew|visit|fix|deliver|email|mail|order|prepare|return"
    r"|schedule|sign|talk to|get back to|update|review|release|publish|apply|hand in|complete|confirm|decide|upload)"
)
"""What is done once, of which somebody may want to hear whether it was."""
ERRAND = regex(rf"\b{ERRANDS}\b")
TALK = r"(?:this|the current|the rest of (?:this|the|our)) (?:session|conversation|chat)"
DAY = r"(?:today|tonight|this (?:morning|afternoon|evening))"
REST_OF_DAY = r"(?:for )?the rest of (?:the|this) (?:day|morning|afternoon|evening)"
ONLY = r"(?:only|alone)"
LIMITS = {
    "talk": rf"(?:just|only)(?: (?:for|in|during))? {TALK}|(?:for|during) {TALK}(?: {ONLY})?|{TALK} {ONLY}",
    "day": rf"(?:just|only) (?:for )?{DAY}|{DAY} {ONLY}|{REST_OF_DAY}"
    r"|until (?:the end of (?:the|this) day|tonight|later today|this (?:afternoon|evening))",
    **{
        unit: rf"(?:just|only) (?:for )?this {unit}|this {unit} {ONLY}|(?:for )?the rest of (?:the|this) {unit}"
        for unit in ("week", "month")
    },
    "soon": r"for now|for the moment|for the time being|temporarily|(?:just|only|for) this (?:once|one time)"
    r"|until (?:tomorrow|later)",
}
"""Words that end a state by themselves, by what it ends with."""
ENDS = {limit: regex(rf"\b(?:{wording})\b") for limit, wording in LIMITS.items()}
OF_ERRANDS = frozenset({"until tonight", "until tomorrow", "until later", "until later today", "temporarily"})
TRANSIENT = regex(
    rf"\b({'|'.join(LIMITS.values())}|right now|just now|at the moment|at present|presently|currently"
    r"|momentar(?:y|ily)|temporary|ephemeral(?:ly)?|(?:in )?(?:this|the current) session"
    r"|today|tonight|tomorrow|yesterday"
    r"|this (?:very )?(?:minute|moment|second|morning|afternoon|evening|week|weekend)"
    r"|in (?:an?|\d+|a few|a couple of) (?:moment|minute|second|hour)s?|as we speak|in the meantime"
    r"|as of now|now(?=[.,;!]|$)|soon|shortly|later today"
    r"|gerade|derzeit|momentan|zurzeit|heute|actuellement|en ce moment|aujourd'hui|ahora mismo|actualmente"
    r"|por el momento|hoy|attualmente|al momento|oggi|atualmente|agora mesmo|hoje|momenteel|vandaag"
    r"|(?:f[üu]r|in) dieser? (?:sitzung|unterhaltung)|vor[üu]bergehend|pour cette (?:session|conversation)"
    r"|temporairement|(?:en|por|para) esta (?:sesi[óo]n|conversaci[óo]n)|temporalmente|temporaneamente"
    r"|per questa (?:sessione|conversazione)|nesta (?:sess[ãa]o|conversa)|temporariamente"
    r"|voor (?:dit gesprek|deze sessie)|tijdelijk"
    r"|сейчас|сегодня|временно)\b"
    r"|(现在|現在|目前|今天|今日|지금|현재|오늘)"
)
HEDGES = regex(
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


def limit_of(text: str) -> str | None:
    """Return what ends the state that ``text`` tells of: the talk, the day, week or month, or something soon.

    >>> limit_of("I want to be called Captain for today only"), limit_of("I need to finish it until tomorrow")
    ('day', None)
    """
    read = plain(text)
    found = ((limit, wording.search(read)) for limit, wording in ENDS.items())
    # An errand "until tomorrow" has a deadline, and is no state; nor is what is mended for now.
    is_errand = ERRAND.search(read) is not None
    return next((limit for limit, part in found if part and not (is_errand and part[0] in OF_ERRANDS)), None)


def hedged_wording(text: str) -> str | None:
    """Return the words by which ``text`` leaves open whether it is true, if there are any."""
    found = HEDGES.search(plain(text))
    return found[0] if found else None
