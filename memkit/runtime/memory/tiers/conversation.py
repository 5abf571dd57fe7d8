"""Search over what was said: words, dates, the turns around a turn, who spoke, and the session as a whole.

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
"""Characters of a text whose tokens are kept for the next search."""
ONE_TOPIC = 600
"""So many words of a session speak for each of its turns in full; of a longer one, about more, the less for each."""

Similar = Callable[[str, Sequence[str]], Sequence[float]]
"""How near texts are to a question, each at most 1."""


class Utterance(NamedTuple):
    """One turn, with what its words alone do not say."""

    text: str
    session: str = ""
    day: date | None = None
    speakers: frozenset[str] = frozenset()
    """The words that name who said it, in lower case."""
    caption: str = ""
    """What a picture in it shows."""


class Recipe(NamedTuple):
    """Which ingredients a search uses; the defaults are what measures best."""

    tokens: Callable[[str], Sequence[str]] = tokens
    terms: Callable[[str], Sequence[str]] = query_terms
    dates: bool = True
    """Let the day on which something was said be among its words."""
    near: tuple[float, ...] = NEAR
    """What a word counts that stands one turn away, two turns away; in a long turn less, see ``lent``."""
    speaker: float = 1.3
    """Factor for a turn whose speaker the question names."""
    relative: bool = True
    """Let "yesterday" in a turn be the day before it."""
    captions: bool = True
    session: float = 0.5
    """Share of the whole session's score that each of its turns gets, less where the session is long."""
    bridge: float = BRIDGE
    """Share of the best score that a turn gets for a rare name which the first turns found hold."""


class ConversationIndex:
    """Turns in the order they were said, their words counted once for any number of questions."""

    def __init__(
        self, utterances: Iterable[Utterance], recipe: Recipe | None = None, similar: Similar | None = None
    ) -> None:
        """Take in ``utterances``; with ``similar`` what turns mean counts as well."""
        self.utterances: list[Utterance] = []
        self._similar = similar
        self.recipe = recipe or Recipe()
        self._neighbours = _Neighbours(self.recipe.near)
        self._postings: defaultdict[str, dict[int, int]] = defaultdict(dict)
        self._own: list[int] = []
        """How many words each turn has."""
        self._lengths: list[float] = []
        """The same, with the share of the words that stand beside it."""
        self._session_lengths: Counter[str] = Counter()
        for one in utterances:
            self._enter(one)
        self._lengths = [self._length(place) for place in range(len(self._own))]

    def add(self, one: Utterance) -> None:
        """Take in what was said after everything else."""
        place = self._enter(one)
        self._lengths.append(0.0)
        for near, _ in self._neighbours.of(place):
            self._lengths[near] = self._length(near)

    def rank(self, query: str, today: date | None = None) -> list[tuple[float, int]]:
        """Return (score, place) of the turns that share a word with ``query`` or stand beside one, best first."""
        terms = self._terms(query, today)
        scores = self._scores(terms)
        shares = self._session_shares(terms) if self.recipe.session and scores else {}
        asked = frozenset(words(query)) if self.recipe.speaker != 1 else frozenset()
        ranked = []
        for place, score in scores.items():
            one = self.utterances[place]
            factor = self.recipe.speaker if asked & one.speakers else 1.0
            ranked.append((score * factor + self.recipe.session * shares.get(one.session, 0.0), place))
        # Of equal ones the newer comes first, as in what people mean by "what did I say".
        ranked.sort(key=lambda pair: (-pair[0], -pair[1]))
        ranked = self._led_on(ranked, terms)
        # What meaning brings to the front holds names too.
        return self._led_on(self._meant(query, ranked), terms) if self._similar else ranked

    def shares(self, query: str, today: date | None = None) -> dict[int, float]:
        """Return the share of the question's weight that each turn holds itself, of those that hold any of it."""
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
        """Return all turns by words and meaning together, ``ranked`` being what the words say.

        A turn means what it says itself, or what it says with those beside it, whichever is the nearer: what stands
        alone among other matters is not made less by them. Scores are fused, not ranks.
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
        # A long turn holds words of many things: what it means has the more to say.
        share = 0.5 + (BY_WORDS - 0.5) * min(1.0, LENT * len(self._own) / (sum(self._own) or 1))
        fused = [
            (share * words + (1 - share) * meaning, place)
            for place, (words, meaning) in enumerate(zip(by_words, by_meaning, strict=True))
        ]
        return sorted(fused, key=lambda pair: (-pair[0], -pair[1]))

    def _led_on(self, ranked: list[tuple[float, int]], terms: Sequence[str]) -> list[tuple[float, int]]:
        """Return ``ranked`` with what goes on with names that the first of it hold."""
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
        """Return the BM25 of every turn, a word in a neighbour counting as part of one."""
        average = math.fsum(self._lengths) / (len(self._lengths) or 1)
        scores: defaultdict[int, float] = defaultdict(float)
        for term in terms:
            worth = _worth(len(self._lengths), len(self._postings.get(term, ())))
            for place, weighted in self._counts(term).items():
                scores[place] += worth * saturation(weighted, self._lengths[place], average)
        return scores

    def _counts(self, term: str) -> Mapping[int, float]:
        """Return how often a word counts in each turn that holds it or stands beside one that does."""
        counts: defaultdict[int, float] = defaultdict(float)
        for place, count in self._postings.get(term, {}).items():
            for near, weight in self._neighbours.of(place):
                counts[near] += count * (weight if near == place else lent(weight, self._own[place]))
        return counts

    def _bridged(self, first: Sequence[tuple[float, int]], asked: Sequence[str]) -> Mapping[int, float]:
        """Return how well turns, from 0 to 1, go on with a rare name that the ``first`` found hold and was not asked.

        "Who is it that she met at the class?" finds the turn with the name; what is told of that name stands elsewhere.
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
        """Return what each turn of a session gets of the session's score."""
        scores, lengths = self._session_scores(terms), self._session_lengths
        return {session: score * min(1.0, ONE_TOPIC / (lengths[session] or 1)) for session, score in scores.items()}

    def _session_scores(self, terms: Sequence[str]) -> Mapping[str, float]:
        """Return the BM25 of every session as one document."""
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
    """Which turns stand beside a turn in its session, and what a word there counts."""

    def __init__(self, near: Sequence[float]) -> None:
        self._weights = (1.0, *near)
        self._order: defaultdict[str, list[int]] = defaultdict(list)
        self._rank: list[tuple[list[int], int]] = []
        """Of every turn: the places of its session in order, and where among them it stands."""

    def add(self, session: str) -> None:
        """Take in that the next turn is of ``session``."""
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
    """Return what a turn is found by."""
    found = list(recipe.tokens(f"{one.text} {one.caption}" if recipe.captions and one.caption else one.text))
    if recipe.dates and one.day is not None:
        found += day_words(one.day)
    if recipe.relative and one.day is not None and may_name_a_date(one.text):
        from ..words.dates import dated

        found += dated(one.text, one.day, ahead=AHEAD).words
    return tuple(found)


_kept_words = lru_cache(maxsize=4096)(_words)
