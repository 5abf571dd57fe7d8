"""Find examples that another skill wins: the words of a request lead an agent to the wrong one.

Skills are ranked by BM25 as Lucene weighs it: a word's weight never falls below zero, so it is right for two skills as
well, and equals stand by name. An example is no evidence for its own skill: a request is not known in advance.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from memkit.lint.collection import Collection
from memkit.lint.interface import Finding

CONFUSED = "MKS204"

K1, B = 1.5, 0.75
"""What ``rank_bm25`` uses."""
MARGIN = 1.5
"""So much better another skill must fit; less is chance."""
_STOP = frozenset(
    """a an and are as at be by can do does for from how i if in is it its me my of on or our please that the there
    this to was we what when where which who why with you your""".split()  # noqa: SIM905
)


@dataclass(frozen=True)
class Ranked:
    """A skill as it is found."""

    name: str
    counts: Mapping[str, int]
    length: int


class Ranking:
    """Every skill's words, by word, so that a request looks only at skills that share one with it."""

    def __init__(self, skills: Mapping[str, Mapping[str, Any]]) -> None:
        self.skills = [Ranked(name, counts, sum(counts.values())) for name, counts in sorted(_counted(skills))]
        self.mean = sum(skill.length for skill in self.skills) / len(self.skills) if self.skills else 0.0
        self._counts = {skill.name: skill.counts for skill in self.skills}
        self._having: dict[str, list[int]] = {}
        for place, skill in enumerate(self.skills):
            for word in skill.counts:
                self._having.setdefault(word, []).append(place)

    def shared(self, name: str, request: list[str], own: str) -> int:
        """Return how many words of a request a skill has; one that only its own example has does not count."""
        left_out = Counter(request) if name == own else Counter()
        return sum(self._counts[name].get(word, 0) > left_out[word] for word in set(request))

    def scores(self, request: list[str], own: str = "") -> dict[str, float]:
        """Return the score of each skill that shares a word; ``own`` is scored without the request among its words."""
        left_out = Counter(request) if own else Counter()
        found: dict[str, float] = {}
        for word in request:
            places = self._having.get(word, ())
            weight = math.log(1 + (len(self.skills) - len(places) + 0.5) / (len(places) + 0.5))
            for place in places:
                skill = self.skills[place]
                mine = skill.name == own
                count = skill.counts[word] - (left_out[word] if mine else 0)
                if count > 0:
                    length = skill.length - (len(request) if mine else 0)
                    norm = count + K1 * (1 - B + B * length / self.mean)
                    found[skill.name] = found.get(skill.name, 0.0) + weight * count * (K1 + 1) / norm
        return found


def confused_examples(files: Collection) -> Iterator[Finding]:
    """Yield each example whose input another skill fits better than the one that it is an example of."""
    live = {name: file for name, file in files.skills.items() if not file.data.get("deprecated")}
    if len(live) < 2:
        return
    ranking = Ranking({name: file.data for name, file in live.items()})
    for name, file in live.items():
        for number, example in enumerate(file.data.get("examples", ())):
            asked = words(example["input"])
            scores = ranking.scores(asked, name)
            winner = min(scores, key=lambda other: (-round(scores[other], 6), other), default=name)
            if winner != name and _plainly_wins(ranking, winner, name, asked, scores):
                told = f"{scores[winner]:.1f} against {scores.get(name, 0.0):.1f}"
                message = (
                    f"The skill {winner!r} fits this request better ({told}). Say in the description what is "
                    f"special here."
                )
                yield file.found(CONFUSED, message, ("examples", number, "input"))


def _plainly_wins(ranking: Ranking, winner: str, own: str, asked: list[str], scores: Mapping[str, float]) -> bool:
    """Return whether a person sees it, too: the other skill fits much better, by two words more and a third of all."""
    shared = ranking.shared(winner, asked, own)
    more = shared - ranking.shared(own, asked, own)
    return scores[winner] >= MARGIN * scores.get(own, 0.0) and more >= 2 and shared * 3 >= len(set(asked))


def words(text: str) -> list[str]:
    """Return the words of a text that tell one skill from another."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return [word for word in re.findall(r"[^\W_]+", plain) if word not in _STOP]


def _counted(skills: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, Counter[str]]]:
    for name, data in skills.items():
        when = data.get("when_to_use", ())
        examples = [example["input"] for example in data.get("examples", ())]
        parts = [
            name,
            name,
            data["description"],
            *([when] if isinstance(when, str) else when),
            *examples,
            *data["steps"],
        ]
        yield name, Counter(words(" ".join(parts)))
