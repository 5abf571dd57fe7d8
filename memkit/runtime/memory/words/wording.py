# ruff: noqa: SIM905 (lists of words read better as text)
"""The wording of a sentence: order and negations kept; spelling, case and endings normalised. For any script."""

import re
from functools import lru_cache

from .text import plain, regex, stem

ALONE = (
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    r"\U00020000-\U0003ffff]"
)
"""Characters of scripts without spaces between words; each counts as a word here."""
TOKEN = regex(
    rf"{ALONE}[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e]*|\d+(?:[.,:/-]\d+)*|(?:(?!{ALONE})[^\W_])+(?:'[a-z]+)?|[+#€$£%°]"
)
SHORT = 400
"""One offer is compared with many records, and vice versa: words of texts up to this length are cached."""
KEPT = 8192
"""The cache size: an import meets the same records again and again."""
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
"""Words whose presence does not change what is said."""
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
"""Includes hasty spellings: a negation without its apostrophe still reverses the statement."""

GREETING = regex(
    r"^(?:hi|hello|hey|good (?:morning|afternoon|evening|day)|greetings)(?: there| again| all)?"
    r"(?:,? [A-Za-z\u00c0-\u024f]+)?\W*$",
    re.IGNORECASE,
)
"""A whole message, or a sentence, that only greets, possibly by name."""
SHORTENED = regex(r"\b(?i:dr|mr|mrs|ms|prof|st|vs|approx|e\.g|i\.e)\.$|[A-Z][a-z]+ [A-Z]\.$")
"""Abbreviations after which a full stop ends no sentence."""


def words(text: str) -> tuple[str, ...]:
    """Return the words of ``text`` in order, with contractions expanded.

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
    """Return the stems of the meaningful words of ``text`` in order, including negations and numbers."""
    return [stem(word) for word in words(text) if word not in FUNCTION_WORDS]


def is_negation(word: str) -> bool:
    """Return whether ``word`` reverses a statement."""
    return word in NEGATIONS


def is_negated(text: str) -> bool:
    """Return whether ``text`` is a negative statement."""
    return sum(map(is_negation, words(text))) % 2 == 1


def is_number(word: str) -> bool:
    """Return whether ``word`` is a number in digits or letters."""
    return any(char.isnumeric() for char in word) or word in NUMBER_WORDS


def sentences(text: str) -> list[str]:
    """Return the sentences of ``text``, each with its final punctuation.

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
"""Things done once, of which somebody may want to hear whether they were."""
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
"""Words that limit a state by themselves, by what ends it."""
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
TAKEN_BACK = regex(
    r"(?:(?:actually|no|oh|ok|okay|sorry|wait|well)[,.!]? )*(?:never ?mind|scratch that|strike that|forget (?:it|that)"
    r"|(?:the )?[\w-]+(?:['’]ve| have| has)?(?: just)? changed (?:my|our|his|her|their) minds?(?: again)?)[.! ]*"
)
"""A whole text that only takes back what came before it, and says nothing itself."""


def transient_wording(text: str) -> str | None:
    """Return the words that limit ``text`` to this moment, if any."""
    found = TRANSIENT.search(plain(text))
    return found[0] if found else None


def is_taken_back(text: str) -> bool:
    """Return whether ``text`` says nothing but that something else no longer holds.

    >>> is_taken_back("I changed my mind."), is_taken_back("I changed my mind about the dog")
    (True, False)
    """
    return TAKEN_BACK.fullmatch(plain(text)) is not None


def limit_of(text: str) -> str | None:
    """Return what ends the state described by ``text``: the talk, the day, week or month, or something soon.

    >>> limit_of("I want to be called Captain for today only"), limit_of("I need to finish it until tomorrow")
    ('day', None)
    """
    read = plain(text)
    found = ((limit, wording.search(read)) for limit, wording in ENDS.items())
    # An errand "until tomorrow" has a deadline, and is not a state; nor is a temporary repair.
    is_errand = ERRAND.search(read) is not None
    return next((limit for limit, part in found if part and not (is_errand and part[0] in OF_ERRANDS)), None)


def hedged_wording(text: str) -> str | None:
    """Return the words that leave open whether ``text`` is true, if any."""
    found = HEDGES.search(plain(text))
    return found[0] if found else None


# Splitting a text with several statements: one fact per record, so that correcting one leaves the others.
#
# A text is split only if its grammar is unambiguous; everything else stays as it is. The parts say nothing that
# the text did not: they are its own words in order, without the "and" between them, and with an omitted subject
# repeated. English only.

LONGEST = 500
"""In characters; a longer text is a document rather than a statement."""
VERBS = frozenset(
    """live work love like hate prefer enjoy dislike have had own speak eat drink use drive play study teach want need
    am is are was were moved come came started bought sold met got grew wear run collect support adore know don't can't
    doesn't didn't""".split()
)
"""Words that begin a predicate; for a third person they have an s."""
THIRD = frozenset(
    """lives works loves likes hates prefers enjoys dislikes has owns speaks eats drinks uses drives plays studies
    teaches wants needs wears runs collects supports adores knows is was had moves moved comes came started bought sold
    met got grew doesn't didn't can't""".split()
)
NOUNS_TOO = frozenset(
    """work love like hate drink use drive play study need want run support works loves likes drinks uses drives plays
    studies needs wants runs supports has""".split()
) - {"has"}
"""Verbs that may be nouns: "rock and play music" is one thing somebody likes."""
LIKING = frozenset(
    """love like hate prefer enjoy dislike adore want need loves likes hates prefers enjoys dislikes adores wants
    needs""".split()
)
"""Verbs whose object may itself be joined by "and"."""
AFTER_VERB = {"work": ("as", "at", "for"), "works": ("as", "at", "for")}
"""Words after a verb that show it is not a noun; other verbs need an article."""
ARTICLES = frozenset({"a", "an", "the", "my"})
WHOLE = regex(
    r"[\"“”„«»`:(){}\[\]<>=\n…]|(?<!\w)['‘]|[?]|[.!]\s+\S|"
    r"\b(?:if|unless|when|whenever|while|because|until|although|though|whether|so|as (?:if|long)|than|rather|instead|"
    r"either|both|neither|nor|or|between|together|respectively|otherwise|therefore|else|except|provided|once|"
    r"who|whom|whose|which|that|where|what|how|why|it|he|she|they|him|her|his|hers|its|them|their|theirs|this|these|"
    r"those|there|then|too|also|same|one|ones|other|others|another|each other|"
    r"nobody|nothing|no|none|someone|somebody|anyone|anybody|everyone|everybody|everything|only|some|any|few|most|all|just|"
    r"said|says|say|told|tells|thinks?|thought|believes?|believed|claims?|claimed|ask(?:s|ed)?|wrote|writes|hears?|heard|"
    r"dream(?:s|t|ed)?|wish(?:es)?|hopes?|guess|suppose|imagine|pretend|feels?|felt|swears?|swore|sees?|saw|watch(?:es|ed)?|"
    r"remembers?|makes?|made|lets?|maybe|perhaps|might|may|would|could|should|will|used to|joking|kidding)\b",
    re.IGNORECASE,
)
"""Words that may link both halves of a sentence, or introduce somebody else's words: then it stays whole."""
LOOSE = regex(
    r"\b(?:every|each|sometimes|often|usually|always|mostly|rarely|seldom|occasionally|daily|weekly|monthly|still|now|today|"
    r"tonight|tomorrow|yesterday|currently|already|soon|later|during|since|before|after|together|alone|abroad|"
    r"probably|apparently|allegedly|supposedly|(?:week(?:end|day)|night|morning|evening|afternoon|spring|summer|autumn|fall|"
    r"winter|(?:mon|tues|wednes|thurs|fri|satur|sun)day)s?)\b",
    re.IGNORECASE,
)
"""Words that may apply to both halves if only one subject precedes them."""
SUBJECT = regex(
    r"(?P<subject>I|We|You|(?:The|Our|My) [a-z][\w-]*(?: [A-Z][\w-]*)?|[A-Z][\w-]*(?: [A-Z][\w-]*)?)"
    r"(?P<short>['’](?:m|re|ve|s))? (?:(?:now|currently|also|still|usually|always|mostly) )?(?P<verb>\w+(?:n['’]t)?)"
)
FOLLOWING = regex(
    r"(?P<subject>I|we|(?:my|our) [a-z][\w-]*(?: [A-Z][\w-]*)?)(?P<short>['’](?:m|re|ve))? "
    r"(?:(?:now|currently|also|still|usually|always|mostly) )?(?P<verb>\w+(?:n['’]t)?)(?= \S|$)"
)
JOINT = regex(r",?\s+(?:and|but)\s+|,\s+|;\s+")
FIRST_PERSON = frozenset({"i", "we", "you"})
FAR_REACHING = frozenset("to never not no can cannot can't don't do did doesn't didn't must has had have".split())
"""Words before an "and" whose scope may extend beyond it."""


ATTRIBUTES = (
    r"name|nickname|pronouns|age|birthday|born|job|occupation|profession|role|employer|company|city|home|hometown|location|"
    r"address|country|nationality|languages?|diet|allerg(?:y|ies)|wife|husband|partner|spouse|sons?|daughters?|children|"
    r"kids|pets?|hobb(?:y|ies)|interests|time ?zone|manager|team|editor|os|units|shift"
)
LABELLED = rf"(?:[^\W\d_][\w'-]*\s)?(?:{ATTRIBUTES}):\s+[^\s|;][^|;\n]{{0,200}}?"
"""A labelled attribute that always belongs to a person, unlike "Place: room 2", which belongs to its meeting."""
LABELS = regex(rf"{LABELLED}(?:(?:\s+\||;|\.|\n)\s*{LABELLED})+", re.IGNORECASE)
NEXT_LABEL = regex(rf"(?:\s+\||;|\.|\n)\s*(?={LABELLED}(?:$|\s+\||[;.\n]))", re.IGNORECASE)
BULLET = regex(r"\s*[-*•–]\s+(?=\S)")


def listed(text: str) -> list[str]:
    r"""Return the statements of a list about a person: labelled values, or bulleted lines; else an empty list.

    >>> listed("Name: Ada | Job: nurse"), listed("- User has two cats\n- Lives in Ghent"), listed("- flour\n- eggs")
    (['Name: Ada', 'Job: nurse'], ['User has two cats', 'Lives in Ghent'], [])
    """
    lines = [line for line in text.splitlines() if line.strip()]
    items = [BULLET.sub("", line, count=1).strip() for line in lines]
    if len(lines) > 1 and all(map(BULLET.match, lines)) and (all(map(_of_user, items)) or all(map(_is_clause, items))):
        return items
    flat = "\n".join(items).rstrip(".; ")
    return [part.strip() for part in NEXT_LABEL.split(flat)] if LABELS.fullmatch(flat) else []


def _of_user(item: str) -> bool:
    """Return whether a line has such a label, names the user, or begins with a verb, which implies the user."""
    first = item.split(maxsplit=1)[0].lower()
    is_named = re.match(r"(?:the )?user\b", item, re.IGNORECASE) or re.fullmatch(LABELLED, item, re.IGNORECASE)
    return first in THIRD or is_named is not None


def facts(text: str) -> list[str]:
    """Return the separate statements of ``text``; one that cannot be split safely is returned as it is.

    >>> facts("I live in Lisbon and work as a nurse.")
    ['I live in Lisbon', 'I work as a nurse']
    >>> facts("I like bread and butter."), facts("Bob said I live in Rome and I work in Paris")
    (['I like bread and butter.'], ['Bob said I live in Rome and I work in Paris'])
    """
    said = text.strip()
    if len(said) > LONGEST:
        return [text]
    if WHOLE.search(said):
        return listed(said) or [text]
    is_loose = LOOSE.search(said) is not None
    pieces: list[str] = []
    start, joined_by = 0, ""
    for joint in JOINT.finditer(said):
        left = _with_subject(said[start : joint.start()], pieces)
        if left is not None and _begins(said[joint.end() :], left, joint[0].strip(), is_loose=is_loose):
            pieces.append(left)
            start, joined_by = joint.end(), joint[0].strip()
    last = _with_subject(said[start:].rstrip(".! "), pieces)
    if last is None or joined_by in ("", ","):
        return [text]  # "I cook, clean, swim": without a following "and", a comma may mean anything
    return [*pieces, last]


def _with_subject(part: str, before: list[str]) -> str | None:
    """Return a part of a sentence with its own subject, None if none can be supplied."""
    if not before:
        return part if _is_clause(part) else None
    if FOLLOWING.match(part):
        return part[0].upper() + part[1:]
    match = SUBJECT.match(before[-1])
    return f"{match['subject']} {part}" if match else None


def _is_clause(part: str) -> bool:
    """Return whether the part begins with a subject, a verb and something more."""
    match = SUBJECT.match(part)
    return match is not None and _fits(match) and (bool(match["short"]) or part[match.end() :].strip() != "")


def _fits(match: re.Match[str]) -> bool:
    """Return whether the verb agrees with its subject; a contracted "am" counts."""
    short = (match["short"] or "")[1:]
    return short in ("m", "re", "ve") if short else match["verb"] in _forms(match["subject"])


def _forms(subject: str) -> frozenset[str]:
    return VERBS if subject.lower() in FIRST_PERSON else THIRD


def _begins(right: str, left: str, joint: str, *, is_loose: bool) -> bool:
    """Return whether ``right`` begins a separate statement, with its own subject or that of ``left``."""
    if own := FOLLOWING.match(right):
        return _fits(own)
    match, spoken = SUBJECT.match(left), right.split()
    if match is None or is_loose or len(spoken) < 2 or spoken[0] not in _forms(match["subject"]):
        return False
    if FAR_REACHING & set(left[match.end() :].split()) or match["verb"] in FAR_REACHING - {"have", "has", "had"}:
        return False
    if spoken[0] not in NOUNS_TOO or joint.endswith("but"):
        return True
    return match["verb"] not in LIKING and spoken[1] in AFTER_VERB.get(spoken[0], ARTICLES)
