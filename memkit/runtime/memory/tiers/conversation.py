"""Search over conversations: words, dates, neighbouring turns, the speaker, and the session as a whole.

Every ingredient raised recall on a public conversation benchmark, in this order: lower case and word boundaries, stop
words, stems, dates, the text of neighbouring turns, the named speaker, captions and relative dates, the share of the
whole session. ``docs/retrieval.md`` has the mathematics; ``memkit bench retrieval`` measures each of them on your data.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from functools import lru_cache
from typing import NamedTuple

from ..index.search import BY_WORDS, spread
from ..index.words import BRIDGE, BRIDGED, FULL, LENT, NEAR, CorpusStatistics, lent, rare, saturation
from ..words.text import AHEAD, day_words, may_name_a_date, names, query_terms, tokens, words

LONGEST_KEPT = 2000
"""The longest text, in characters, whose tokens are kept for the next search."""
ONE_TOPIC = 600
"""The most words of a session that fully support each of its turns; a longer one is about more and supports less."""

Similar = Callable[[str, Sequence[str]], Sequence[float]]
"""Returns the similarity of texts to a question, each at most 1."""


class Utterance(NamedTuple):
    """One turn, with information that its words alone do not give."""

    text: str
    session: str = ""
    day: date | None = None
    speakers: frozenset[str] = frozenset()
    """The words that name the speaker, in lower case."""
    caption: str = ""
    """What a picture in it shows."""


class Recipe(NamedTuple):
    """The ingredients that a search uses; the defaults scored best."""

    tokens: Callable[[str], Sequence[str]] = tokens
    terms: Callable[[str], Sequence[str]] = query_terms
    dates: bool = True
    """Whether the date on which something was said counts among its words."""
    near: tuple[float, ...] = NEAR
    """The weight of a word one turn away, two turns away; less in a long turn, see ``lent``."""
    speaker: float = 1.3
    """Factor for a turn whose speaker is named in the question."""
    relative: bool = True
    """Whether "yesterday" in a turn counts as the date of the day before."""
    captions: bool = True
    session: float = 0.5
    """Share of the session's score given to each of its turns, less if the session is long."""
    bridge: float = BRIDGE
    """Share of the best score given to a turn with a rare name that the first results contain."""


class ConversationIndex:
    """Turns in the order they were said, their words counted once for any number of questions."""

    def __init__(
        self, utterances: Iterable[Utterance], recipe: Recipe | None = None, similar: Similar | None = None
    ) -> None:
        """Index ``utterances``; with ``similar``, the meaning of turns counts as well."""
        self.utterances: list[Utterance] = []
        self._similar = similar
        self.recipe = recipe or Recipe()
        self._neighbours = _Neighbours(self.recipe.near)
        self._postings: defaultdict[str, dict[int, int]] = defaultdict(dict)
        self._own: list[int] = []
        """The word count of each turn."""
        self._lengths: list[float] = []
        """The same, plus the share of neighbouring words."""
        self._session_lengths: Counter[str] = Counter()
        for one in utterances:
            self._enter(one)
        self._lengths = [self._length(place) for place in range(len(self._own))]

    def add(self, one: Utterance) -> None:
        """Add the newest utterance."""
        place = self._enter(one)
        self._lengths.append(0.0)
        for near, _ in self._neighbours.of(place):
            self._lengths[near] = self._length(near)

    def rank(self, query: str, today: date | None = None) -> list[tuple[float, int]]:
        """Return (score, place) of the turns that share a word with ``query`` or neighbour such a turn, best first."""
        terms = self._terms(query, today)
        scores = self._scores(terms)
        shares = self._session_shares(terms) if self.recipe.session and scores else {}
        asked = frozenset(words(query)) if self.recipe.speaker != 1 else frozenset()
        ranked = []
        for place, score in scores.items():
            one = self.utterances[place]
            factor = self.recipe.speaker if asked & one.speakers else 1.0
            ranked.append((score * factor + self.recipe.session * shares.get(one.session, 0.0), place))
        # Among equals the newer comes first, which is what people mean by "what did I say".
        ranked.sort(key=lambda pair: (-pair[0], -pair[1]))
        ranked = self._led_on(ranked, terms)
        # Turns brought to the front by meaning contain names, too.
        return self._led_on(self._meant(query, ranked), terms) if self._similar else ranked

    def shares(self, query: str, today: date | None = None) -> dict[int, float]:
        """Return the share of the question's weight that each turn contains itself, for turns that contain any."""
        shares: defaultdict[int, float] = defaultdict(float)
        whole = 0.0
        for term in self._terms(query, today):
            held = self._postings.get(term, {})
            worth = _worth(len(self._own), max(1, len(held)))
            whole += worth
            for place in held:
                shares[place] += worth
        return {place: share / whole for place, share in shares.items()}

    def rank_sessions(self, query: str, today: date | None = None) -> list[tuple[float, str]]:
        """Return (score, session) of the sessions that share a word with ``query``, best first."""
        scores = self._session_scores(self._terms(query, today))
        return sorted(((score, session) for session, score in scores.items()), key=lambda pair: (-pair[0], pair[1]))

    def _enter(self, one: Utterance) -> int:
        """Count the words of the next turn and return its place."""
        place = len(self.utterances)
        self.utterances.append(one)
        self._neighbours.add(one.session)
        is_short = len(one.text) <= LONGEST_KEPT
        found = Counter(_kept_words(one, self.recipe) if is_short else _words(one, self.recipe))
        for word, count in found.items():
            self._postings[word][place] = count
        self._own.append(found.total())
        self._session_lengths[one.session] += found.total()
        return place

    def _meant(self, query: str, ranked: list[tuple[float, int]]) -> list[tuple[float, int]]:
        """Return all turns ranked by words and meaning together, where ``ranked`` is the ranking by words.

        A turn's meaning is its own or that of it with its neighbours, whichever is nearer, so that a remark among
        other subjects is not weakened by them. Scores are fused, not ranks.
        """
        assert self._similar is not None
        angles = self._similar(query, [one.text for one in self.utterances])
        meant = []
        for place in range(len(self._own)):
            beside = self._neighbours.of(place)
            weights = [(near, weight if near == place else lent(weight, self._own[near])) for near, weight in beside]
            whole = math.fsum(weight for _, weight in weights)
            meant.append(max(angles[place], math.fsum(angles[near] * weight for near, weight in weights) / whole))
        scores = {place: score for score, place in ranked}
        by_words = spread([scores.get(place, 0.0) for place in range(len(meant))], low=0.0)
        by_meaning = spread(meant, low=min(meant, default=0.0))
        # A long turn contains words about many things, so its meaning gets a larger share.
        share = 0.5 + (BY_WORDS - 0.5) * min(1.0, LENT * len(self._own) / (sum(self._own) or 1))
        fused = [
            (share * words + (1 - share) * meaning, place)
            for place, (words, meaning) in enumerate(zip(by_words, by_meaning, strict=True))
        ]
        return sorted(fused, key=lambda pair: (-pair[0], -pair[1]))

    def _led_on(self, ranked: list[tuple[float, int]], terms: Sequence[str]) -> list[tuple[float, int]]:
        """Return ``ranked`` extended by turns that continue with names from the first results."""
        found_any = bool(self.recipe.bridge and ranked and ranked[0][0] > 0)
        bridged = self._bridged(ranked[:BRIDGED], terms) if found_any else {}
        if not bridged:
            return ranked
        best, scores = ranked[0][0] * self.recipe.bridge, {place: score for score, place in ranked}
        led = [(scores.get(at, 0.0) + best * bridged.get(at, 0.0), at) for at in {**scores, **bridged}]
        return sorted(led, key=lambda pair: (-pair[0], -pair[1]))

    def _length(self, place: int) -> float:
        beside = self._neighbours.of(place)
        return math.fsum(
            self._own[near] * (weight if near == place else lent(weight, self._own[near])) for near, weight in beside
        )

    def _terms(self, query: str, today: date | None) -> list[str]:
        if not self.recipe.dates or today is None or not may_name_a_date(query):
            return list(dict.fromkeys(self.recipe.terms(query)))
        from ..words.dates import dated

        named = dated(query, today)
        return list(dict.fromkeys([*named.words, *self.recipe.terms(named.rest)]))

    def _scores(self, terms: Sequence[str]) -> Mapping[int, float]:
        """Return the BM25 score of every turn; a word in a neighbouring turn counts in part."""
        average = math.fsum(self._lengths) / (len(self._lengths) or 1)
        scores: defaultdict[int, float] = defaultdict(float)
        for term in terms:
            worth = _worth(len(self._lengths), len(self._postings.get(term, ())))
            for place, weighted in self._counts(term).items():
                scores[place] += worth * saturation(weighted, self._lengths[place], average)
        return scores

    def _counts(self, term: str) -> Mapping[int, float]:
        """Return the weighted count of a word in each turn that contains it or neighbours one that does."""
        counts: defaultdict[int, float] = defaultdict(float)
        for place, count in self._postings.get(term, {}).items():
            for near, weight in self._neighbours.of(place):
                counts[near] += count * (weight if near == place else lent(weight, self._own[place]))
        return counts

    def _bridged(self, first: Sequence[tuple[float, int]], asked: Sequence[str]) -> Mapping[int, float]:
        """Return, from 0 to 1, how well turns continue with a rare name of the ``first`` results that was not asked.

        "Who is it that she met at the class?" finds the turn with the name; facts about that name are in other turns.
        """
        worths: defaultdict[str, float] = defaultdict(float)
        for score, place in first:
            told = lent(score / first[0][0], self._own[place])
            for name in names(self.utterances[place].text):
                worths[name] = max(worths[name], told)
        held = {name: len(self._postings.get(name, ())) for name in worths.keys() - set(asked)}
        turns, average = len(self._own), math.fsum(self._lengths) / (len(self._own) or 1)
        bridged: defaultdict[int, float] = defaultdict(float)
        for name in sorted(rare(CorpusStatistics(turns, average, held), held)):
            if held[name] > 1:  # otherwise it leads nowhere
                worth = worths[name] * _worth(turns, held[name]) / _worth(turns, 1)
                for place, count in self._counts(name).items():
                    share = worth * saturation(count, self._lengths[place], average) / FULL
                    bridged[place] = max(bridged[place], share)
        return bridged

    def _session_shares(self, terms: Sequence[str]) -> Mapping[str, float]:
        """Return the part of the session's score that each of its turns gets."""
        scores, lengths = self._session_scores(terms), self._session_lengths
        return {session: score * min(1.0, ONE_TOPIC / (lengths[session] or 1)) for session, score in scores.items()}

    def _session_scores(self, terms: Sequence[str]) -> Mapping[str, float]:
        """Return the BM25 score of every session as one document."""
        lengths = self._session_lengths
        average = lengths.total() / (len(lengths) or 1)
        scores: defaultdict[str, float] = defaultdict(float)
        for term in terms:
            held: Counter[str] = Counter()
            for place, count in self._postings.get(term, {}).items():
                held[self.utterances[place].session] += count
            for session, count in held.items():
                scores[session] += _worth(len(lengths), len(held)) * saturation(count, lengths[session], average)
        return scores


class _Neighbours:
    """The neighbouring turns of a turn in its session, and the weights of words in them."""

    def __init__(self, near: Sequence[float]) -> None:
        self._weights = (1.0, *near)
        self._order: defaultdict[str, list[int]] = defaultdict(list)
        self._rank: list[tuple[list[int], int]] = []
        """For every turn: the places of its session in order, and its position among them."""

    def add(self, session: str) -> None:
        """Register that the next turn belongs to ``session``."""
        order = self._order[session]
        order.append(len(self._rank))
        self._rank.append((order, len(order) - 1))

    def of(self, place: int) -> list[tuple[int, float]]:
        """Return the turn itself and its neighbours with their weights."""
        order, rank = self._rank[place]
        reach = len(self._weights) - 1
        around = range(max(0, rank - reach), min(len(order), rank + reach + 1))
        return [(order[other], self._weights[abs(other - rank)]) for other in around]


def _worth(documents: int, holding: int) -> float:
    """Return the weight of a word; never negative, so that it also works among ten turns."""
    return math.log(1 + (documents - holding + 0.5) / (holding + 0.5))


def _words(one: Utterance, recipe: Recipe) -> tuple[str, ...]:
    """Return the words by which a turn is found."""
    found = list(recipe.tokens(f"{one.text} {one.caption}" if recipe.captions and one.caption else one.text))
    if recipe.dates and one.day is not None:
        found += day_words(one.day)
    if recipe.relative and one.day is not None and may_name_a_date(one.text):
        from ..words.dates import dated

        found += dated(one.text, one.day, ahead=AHEAD).words
    return tuple(found)


_kept_words = lru_cache(maxsize=4096)(_words)
