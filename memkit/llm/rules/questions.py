"""Read questions: which words a record that answers them would hold, and what of it is asked."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memkit.runtime.memory.words.text import regex, stem

ASKING = regex(
    r"[?？]\s*$|^(?:(?:and|so|but|please|ok(?:ay)?|hey|hi|hello)[\s,]+)*(?:who|whose|whom|what|where|when|why|which|how|do|"
    r"does|did|is|are|am|was|were|can|could|would|will|should|have i|has my|tell me|list|show me|any idea|"
    r"remind me (?:what|who|where|when|which|how|whether|if)|i forgot (?:what|who|where|when|which|how)|what's|where's|"
    r"who's|when's|how's|i wonder)(?![\w-])",
    re.IGNORECASE,
)
FILLER = regex(
    r"a|an|and|am|are|about|any|anything|everything|be|been|can|could|did|do|does|for|from|had|has|have|how|i|in|is|it|if|"
    r"know|me|mine|my|of|on|or|our|please|remember|tell|that|the|there|this|to|at|us|was|we|were|what|what's|when|where|"
    r"which|who|whom|whose|why|will|with|you|your|again|still|now|say|said|told|mention|mentioned|kind|sort|many|much|"
    r"often|who's|where's|when's|should|would|i'm|ever|get|got|by|so|as|these|those|some|most|all|show|list"
)
RELATIONS = {
    "name": "name called call named",
    "home": "live lives living moved home address based",
    "work": "work works job working employer profession occupation",
    "age": "old age years",
    "birthday": "birthday born",
    "origin": "from come",
    "taste": "prefer like love enjoy hate dislike favorite favourite",
}
"""The words by which a record of each relation is found."""
PERSONAL = regex(r"\b(?:i|my|me|mine|we|our|us)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Asked:
    """What a question is about."""

    things: frozenset[str]
    """Stems of what it names, without the words for what is asked of it."""
    relation: str
    query: str
    """The words to search for."""
    personal: bool
    """Whether it is about who asks and names nothing else."""


def is_question(sentence: str) -> bool:
    """Return whether a sentence asks something.

    >>> is_question("remind me what my cat is called"), is_question("remind me to feed the cat")
    (True, False)
    """
    return ASKING.search(sentence.strip()) is not None


def read_question(sentence: str) -> Asked:
    """Return what ``sentence`` asks for.

    >>> read_question("What is my dog called?").query
    'dog called name call named'
    """
    spoken = re.findall(r"[\w']+", sentence.lower())
    found = key_words(sentence)
    relation = next((one for one, words in RELATIONS.items() if set(words.split()) & {*spoken, *found}), "")
    relation = "work" if {"do", "living"} <= set(spoken) else "name" if spoken[:3] == ["who", "am", "i"] else relation
    related = set(map(stem, RELATIONS.get(relation, "").split())) | ({"live"} if relation == "work" else set())
    things = frozenset(map(stem, found)) - related
    words = [word for word in found if stem(word) in things or word in RELATIONS.get(relation, "")]
    query = " ".join(dict.fromkeys([*words, *RELATIONS.get(relation, "").split()]))
    return Asked(things, relation, query, not things and PERSONAL.search(sentence) is not None)


def key_words(text: str) -> list[str]:
    """Return the words of a question that carry its meaning, in order.

    >>> key_words("What did Alice say about the harbour?")
    ['alice', 'harbour']
    """
    words = (word.removesuffix("'s") for word in re.findall(r"[\w'.+#@-]*[\w+#]", text.lower().replace("’", "'")))
    return [word for word in words if not FILLER.fullmatch(word)]


def key_stems(text: str) -> set[str]:
    """Return the stems of the words that carry the meaning of ``text``.

    >>> sorted(key_stems("Where are my dogs?"))
    ['dog']
    """
    return {stem(word) for word in key_words(text)}
