"""Answer questions from long-term memory with the ids of the records, else from what was said, else not at all."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta

from memkit.llm.rules.claims import ONE_VALUE, WORDS, Slot, read_claims, slot_of
from memkit.llm.rules.questions import (
    AGAIN,
    PRONOUN,
    Asked,
    is_disliking,
    is_question,
    key_stems,
    key_words,
    read_question,
    sentences_of,
    to_second_person,
    with_name,
    with_subject,
)
from memkit.llm.rules.reading import (
    SEARCH,
    Found,
    Heard,
    Recalled,
    Script,
    listed,
    question_before,
    said_turns,
    search,
    subject_before,
)
from memkit.llm.rules.requests import read_forget
from memkit.llm.rules.small_talk import GENERAL, GENERAL_TEXT
from memkit.runtime.memory.gate.contradictions import contradict
from memkit.runtime.memory.words.text import regex, stem
from memkit.runtime.memory.words.wording import is_negation, words

UNKNOWN = "I do not know. Nothing I remember is about that."
WORLD = (
    "I do not know. Nothing I remember is about that, and I am a rule-based model without knowledge of the world. A "
    "language model answers such questions: set `provider: anthropic` or `provider: openai` in memkit.yaml, or start "
    "the chat with --provider."
)
PERSONAL = regex(r"\b(?:i|my|me|mine|we|our|us|you|your|i'm|i've)\b", re.IGNORECASE)
AKIN = ({"age", "birthday"}, {"place", "home"})
"""Relations of which one answers a question for the other."""
OVER = regex(r"\b(?:used to|no longer|any ?more|stopped|quit|gave up|given up)\b", re.IGNORECASE)
"""What a record says is no longer so."""
THEN = regex(r"^(?:did|was|were|had|have|has)\b|\b(?:used to|ever|stop|quit|give up)\b", re.IGNORECASE)
"""How somebody asks what was once so."""
FIRST_PERSON = regex(r"\b(?:i|we)\b", re.IGNORECASE)
NAMING = frozenset(map(stem, ("called", "named", "name")))
"""What leads to a name, and is no name for what somebody does."""
YEAR = regex(r"\b(?:in|during|back in) (?P<year>(?:19|20)\d\d)\b|\b(?:on|as of) (?P<day>(?:19|20)\d\d-\d\d-\d\d)\b")
EARLIER = regex(r"\b(?:before(?: that| then)?|previously|formerly|earlier|used to)\b", re.IGNORECASE)
TRADE = (
    r"(?:an?|the) (?:[\w-]+ ){0,3}?(?:\w+(?:er|or|ist|ian|ect|yst|ant|man|woman)|nurse|chef|cook|judge|pilot|ceo|"
    r"cto|cfo|vet|coach|guide|lead|head|boss|clerk|student|intern|captain|chief|surgeon|dean|smith|freelance)\b"
)
"""What somebody does, by how the word for it ends."""
HAS_TRADE = regex(rf"(?:'s|'re|\b(?:is|are|was|as|became)) {TRADE}|\bpromoted to \w", re.IGNORECASE)
HAS_AGE = regex(r"(?:\bwho(?:'s| is)|\baged|\() ?\d{1,3}\b", re.IGNORECASE)
FAVOURITE = regex(r"(?:my|our) (?:favou?rite|fave?)\b", re.IGNORECASE)
RANKING = regex(r" (?:over|rather than|more than|instead of|to) ")
DONE_YET = regex(r"(?:did|have|has|is|are|was|were)\b", re.IGNORECASE)
"""How somebody asks whether a goal is reached."""
FORGOTTEN = regex(r"Forgotten: “(.{1,500}?)”\.")
"""What was taken back in this conversation; nobody wants to hear it again."""
RELATIVE = regex(
    r"\b(?:tomorrow|tonight|today|yesterday|(?:last|next|this) (?:week|weekend|month|year|night|spring|summer|"
    r"autumn|fall|"
    r"winter|morning|afternoon|evening)|(?:a|two|three|\d+) (?:day|week|month)s? ago|in (?:a|two|three|\d+) "
    r"(?:day|week|month)s?)\b",
    re.IGNORECASE,
)
"""What means another day to whoever hears it later."""
LOOK_BACK = "conversation_search"
MOST_TOLD = 6


def answer(heard: Heard, sentence: str) -> Script:
    """Look a question up and answer it."""
    question = resolved(heard, sentence)
    then = YEAR.search(question)
    asked = read_question(YEAR.sub("", question))
    if not heard.offers(SEARCH):
        return (yield from look_back(heard, question, asked))
    as_of = (then["day"] or f"{then['year']}-12-31") if then else None
    more = {"as_of": as_of} if as_of else {"type": "preference"} if asked.relation == "taste" else {}
    found = yield from search("" if more.get("type") else asked.query, **more)
    if then and not found:
        # What is dated in words only is no matter of when it was stored.
        asked = read_question(question)
        found = yield from search(asked.query)
    if EARLIER.search(question):
        asked = read_question(EARLIER.sub("", question))
        return (yield from _answer_earlier(heard, question, asked))
    if asked.statement is not None and (told := confirmed(asked, found)):
        return told
    fitting = [record for record in found if fits(asked, record)]
    if not fitting and not as_of and (asked.relation or PERSONAL.search(question)):
        # A value may stand in a record that shares no word with the question, as in "I'm 34".
        kind = {"type": "preference"} if asked.relation == "taste" else {}
        listed = yield from search("", **kind)
        if asked.statement is not None and (told := confirmed(asked, listed)):
            return told
        fitting = [record for record in listed if fits(asked, record)]
    if fitting:
        return tell(asked, (yield from _exactly(asked, fitting)) or fitting)
    if asked.about and (likings := [record for record in found if fits(replace(asked, about=""), record)]):
        return f"Nothing I remember names {asked.about}. What I have on tastes: {tell(asked, likings)}"
    related = [record for record in found if _mentions(record, asked.subject)]
    if related:
        return f"That I do not know. What I have on it: {_told(related[0])}"
    return (yield from look_back(heard, question, asked))


def _exactly(asked: Asked, fitting: Sequence[Recalled]) -> Found:
    """Return the records that say just what is asked of somebody, where those found only mention it, or nothing.

    The words of the question find what says more before what says it last.
    """
    if asked.subject in (None, "i") or asked.relation not in ONE_VALUE - {"is", "place"}:
        return []
    if any(_relation(record) == asked.relation for record in fitting):
        return []
    found = yield from search(" ".join(key_words(asked.subject or "")))
    return [record for record in found if _relation(record) == asked.relation and fits(asked, record)]


def resolved(heard: Heard, sentence: str) -> str:
    """Return a question that stands for itself: with the name that a pronoun or "and my cat?" points back to."""
    again = AGAIN.match(sentence)
    before = question_before(heard.earlier) if again else None
    if again and before and (asked := with_subject(before, again["s"])):
        return asked
    pronoun = PRONOUN.search(sentence)
    subject = subject_before(heard.earlier) if pronoun else None
    return with_name(sentence, subject) if subject else sentence


def _answer_earlier(heard: Heard, question: str, asked: Asked) -> Script:
    """Answer what was so before what holds now: as of the day before that, else from what was said."""
    found = yield from search(asked.query)
    now = next((record for record in found if record.date and fits(asked, record)), None)
    if now is not None:
        past = (date.fromisoformat(now.date) - timedelta(days=1)).isoformat()
        fitting = [record for record in (yield from search(asked.query, as_of=past)) if fits(asked, record)]
        if fitting:
            return f"Before {now.date}: {tell(asked, fitting)}"
    return (yield from look_back(heard, question, asked, known=[now.text] if now else ()))


def fits(asked: Asked, record: Recalled) -> bool:
    """Return whether a record answers a question, or is at least about the same."""
    slot = slot_of(record.text)
    if asked.relation == "taste":
        said = _mentions(record, asked.subject) and bool(key_stems(WORDS["taste"]) & key_stems(record.text))
        own = slot is not None and slot.relation == "taste" and _same(asked, slot)
        own |= asked.subject == "i" and FAVOURITE.match(record.text) is not None
        return (said or own) and _to_taste(asked, record.text)
    if asked.relation == "is":
        return _mentions(record, asked.subject)
    if asked.relation == "name" and slot is not None and slot.subject.startswith(f"{asked.subject} "):
        return True  # "my wife Clara" says what the wife is called
    if asked.relation == "work" and _mentions(record, asked.subject) and HAS_TRADE.search(record.text):
        return True
    if asked.relation == "age" and _mentions(record, asked.subject) and HAS_AGE.search(record.text):
        return True
    if asked.relation:
        akin = slot is not None and any({asked.relation, slot.relation} <= pair for pair in AKIN)
        if slot is not None and (asked.relation, slot.relation) == ("work", "is"):
            akin |= re.match(TRADE, slot.value, re.IGNORECASE) is not None
        said = _mentions(record, asked.subject) and bool(key_stems(WORDS[asked.relation]) & key_stems(record.text))
        return said or (slot is not None and (slot.relation == asked.relation or akin) and _same(asked, slot))
    wanted = key_stems(asked.text)
    told = key_stems(record.text) - (NAMING if slot is not None and slot.relation == "name" else frozenset())
    return bool(wanted) and 2 * len(wanted & told) >= len(wanted)


def _same(asked: Asked, slot: Slot) -> bool:
    """Return whether question and statement name the same; "Lena" is "my daughter Lena"."""
    if asked.subject == slot.subject:
        return True
    if "i" in (asked.subject, slot.subject) or asked.subject is None:
        return False
    one, other = key_stems(asked.subject), key_stems(slot.subject)
    return bool(one and other) and (one <= other or other <= one)


def _to_taste(asked: Asked, text: str) -> bool:
    if isinstance(asked.statement, Slot) and not key_stems(asked.statement.value) & key_stems(text):
        return False
    verb = re.search(r"\b(?:hate|dislike|detest|loathe|stand|like|love|enjoy|prefer|adore)", asked.text, re.IGNORECASE)
    liked = is_disliking(text) == is_disliking(asked.text) if verb else True
    return liked and (not asked.about or bool(key_stems(asked.about) & key_stems(text)))


def _mentions(record: Recalled, subject: str | None) -> bool:
    wanted = key_stems(subject or "")
    return bool(wanted) and subject != "i" and wanted <= key_stems(record.text)


def _relation(record: Recalled) -> str:
    slot = slot_of(record.text)
    return slot.relation if slot else ""


def tell(asked: Asked, records: Sequence[Recalled]) -> str:
    """Say what records answer, each with its id; of two values of which one can hold, both."""
    if asked.relation == "taste":
        return " ".join(_told(record) for record in records[:MOST_TOLD])
    if asked.relation == "is":
        best = [record for record in records if _relation(record) in ("is", "name", "place")] or list(records)
        exact = [record for record in best if (slot := slot_of(record.text)) and slot.subject == asked.subject]
        return _newest(exact) if exact else _told(best[0])
    return _newest(records) if asked.relation else _told(records[0])


def _newest(records: Sequence[Recalled]) -> str:
    newest = sorted(records, key=lambda record: (record.date, record.id), reverse=True)
    first = slot_of(newest[0].text)
    others = [
        record
        for record in newest[1:]
        if (slot := slot_of(record.text)) and first and slot.same(first) and slot.value.lower() != first.value.lower()
    ]
    answer = _told(newest[0])
    if others:
        answer += " I also have: " + "; ".join(_told(record).rstrip(".") for record in others) + ". Which is right?"
    return answer


def _told(record: Recalled) -> str:
    return f"{clause(record)} [{record.id}]."


def clause(record: Recalled) -> str:
    """Return what a record says, said to the user, and whether nobody confirmed it."""
    doubt = "" if record.facts.get("trust", "verified") == "verified" else " (not confirmed)"
    dated = record.date and "due" not in record.facts and RELATIVE.search(record.text)
    said_on = f" (said on {record.date})" if dated else ""
    return to_second_person(record.text.strip().rstrip(".!")) + said_on + doubt


def confirmed(asked: Asked, found: Sequence[Recalled]) -> str:
    """Answer a yes-or-no question by what records say; an empty text where they say nothing on it."""
    statement = asked.statement
    for record in found:
        slot = slot_of(record.text)
        if isinstance(statement, Slot) and slot is not None and statement.same(slot):
            return _yes(asked, record) if _says(slot.value, statement.value) else _no(record)
        if isinstance(statement, Slot) and slot is not None and statement.relation == slot.relation == "taste":
            _, _, worse = RANKING.sub("\n", slot.value, count=1).partition("\n")
            if slot.subject == statement.subject and _says(worse, statement.value) and worse:
                return _no(record)
            if slot.subject == statement.subject and _says(slot.value, statement.value):
                return _yes(asked, record) if is_disliking(record.text) == is_disliking(asked.text) else _no(record)
            continue
        if slot is not None and _is_of_another(asked, slot, record.text):
            continue
        said = statement if isinstance(statement, str) else asked.text
        if key_stems(said) and key_stems(said) <= key_stems(record.text):
            if record.facts.get("type") == "goal" and DONE_YET.match(asked.text):
                return f"Not that I know of. {_told(record)}"
            turned = sum(map(is_negation, words(said))) != sum(map(is_negation, words(record.text)))
            if OVER.search(record.text) and not THEN.search(asked.text):
                return f"Not any more. {_told(record)}"
            return _no(record) if turned else _yes(asked, record)
        if isinstance(statement, str) and contradict(statement, record.text):
            return _no(record)
    return ""


def _is_of_another(asked: Asked, slot: Slot, text: str) -> bool:
    """Return whether a record says of somebody else what is asked of the user: "Mia is vegan", and am I?"""
    if not isinstance(asked.statement, Slot) or asked.statement.relation not in ONE_VALUE or slot.subject == "i":
        return False
    of_user = asked.statement.subject == "i" and FIRST_PERSON.search(asked.text) is not None
    return of_user and FIRST_PERSON.search(text) is None


def _says(value: str, wanted: str) -> bool:
    return key_stems(wanted) <= key_stems(value) if key_stems(wanted) else wanted.lower() == value.lower()


def _yes(asked: Asked, record: Recalled) -> str:
    which = "or" in words(asked.text) and "or" not in words(record.text)
    return _told(record) if which else f"Yes. {_told(record)}"


def _no(record: Recalled) -> str:
    return f"No. {_told(record)}"


def look_back(heard: Heard, sentence: str, asked: Asked, known: Collection[str] = ()) -> Script:
    """Answer from what was said in conversations, when long-term memory has nothing."""
    taken_back = {text for message in heard.earlier for text in FORGOTTEN.findall(message.get("content") or "")}
    skipped = taken_back.union(map(to_second_person, known))
    turns = said_turns((yield LOOK_BACK, {"query": asked.query})) if heard.offers(LOOK_BACK) else []
    for turn in turns:
        if turn.role == "user" and (said := _statement_on(asked, sentence, turn.text, skipped)):
            return f"You said on {turn.at}: “{said}”. I have no record of it in long-term memory."
    # What nobody agreed to keep stands in the messages of this conversation only.
    for text in reversed(heard.said):
        if said := _statement_on(asked, sentence, text, skipped):
            return f"You said before: “{said}”. I have no record of it in long-term memory."
    return GENERAL_TEXT if GENERAL.match(sentence) else UNKNOWN if PERSONAL.search(sentence) else WORLD


def _statement_on(asked: Asked, question: str, text: str, skipped: Collection[str]) -> str:
    """Return what of ``text`` answers a question, without its full stop; empty where nothing does."""
    wanted = key_stems(question)
    for said in _statements(text):
        slot = slot_of(said)
        same = slot is not None and slot.relation == asked.relation and _same(asked, slot)
        alike = 2 * len(wanted & key_stems(said)) > len(wanted)
        alike &= slot is None or not _is_of_another(asked, slot, said)
        fits_it = same if asked.relation in ONE_VALUE - {"is"} else alike
        if fits_it and to_second_person(said.rstrip(".!")) not in skipped:
            return said.rstrip(".")
    return ""


def _statements(text: str) -> Iterator[str]:
    """Yield what somebody said: each statement, and each other sentence that asks nothing and takes nothing back."""
    for sentence in sentences_of(text):
        if not is_question(sentence) and read_forget(sentence) is None:
            yield from (claim.text for claim in read_claims(sentence))
            yield sentence


def several(records: Sequence[Recalled]) -> str:
    """Return records as a list, each with its id and the day it is due."""
    due = [f", due {record.facts['due']}" if "due" in record.facts else "" for record in records]
    return listed([f"{clause(record)}{day} [{record.id}]" for record, day in zip(records, due, strict=True)])
