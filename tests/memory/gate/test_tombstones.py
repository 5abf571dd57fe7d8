"""A rejected or erased value does not come back, however it is spelled."""

import hmac
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memkit.runtime.memory.interface import Decision, StoreKeys
from memkit.runtime.memory.lifecycle.revocation import RevokedSource
from memkit.runtime.memory.main import ArchivalStore, Draft, Origin
from memkit.runtime.memory.record.lines import ArchiveError, NotAllowed, NoTombstoneKey
from memkit.runtime.memory.words.text import fingerprint, keyed_fingerprints, query_terms, stated

SPELLINGS: tuple[Callable[[str], str], ...] = (
    str.upper,
    str.casefold,
    lambda text: text.replace(" ", "  "),
    lambda text: text.replace(" ", "\u00a0"),
    lambda text: "\u200b".join(text),
    lambda text: f"  {text}.\n",
    lambda text: unicodedata.normalize("NFD", text),
    lambda text: "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in text),
)

values = st.lists(
    st.sampled_from(["Alice", "café", "harbour", "Berlin", "42", "élan", "кот", "茶"]), min_size=2, max_size=6
)


@settings(deadline=None)
@given(values.map(" ".join), st.lists(st.sampled_from(SPELLINGS), min_size=1, max_size=3))
def test_every_spelling_has_the_same_digest(value: str, spellings: list[Callable[[str], str]]) -> None:
    """Case, blanks, invisible characters, width, composition and a final mark make no other value."""
    spelled = value
    for spell in spellings:
        spelled = spell(spelled)

    assert fingerprint(spelled) == fingerprint(value)


@pytest.mark.parametrize("spelled", ["Кevin likes Тea", "Kevin likes tеа", "Keνin likes tea", "Kevin likes ⲟolong"])
def test_look_alike_letters_make_no_other_value(spelled: str) -> None:
    """Small or capital, a letter of another script that looks the same is the same."""
    wanted = "Kevin likes oolong" if "olong" in spelled else "Kevin likes tea"

    assert fingerprint(spelled) == fingerprint(wanted)


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("Łódź", "Lodz"), ("ŁÓDŹ", "lodz"), ("Smørrebrød", "smorrebrod"), ("Đorđe", "Dorde"), ("Straße", "STRASSE"),
        ("Encyclopædia", "encyclopaedia"), ("Işıl", "isil"), ("ISIL", "ışıl"), ("Þór", "Thor"), ("œuvre", "oeuvre"),
    ],
)  # fmt: skip
def test_letters_that_do_not_decompose_are_the_ones_that_people_type(written: str, plain: str) -> None:
    """A stroke or a joined letter makes no other value, and a search finds either by either."""
    assert fingerprint(f"Ada lives in {written}") == fingerprint(f"Ada lives in {plain}")
    assert query_terms(written) == query_terms(plain)


def test_a_value_that_was_erased_before_strokes_were_folded_stays_away() -> None:
    """The digest of that time is looked up as well, because what it stands for cannot be told any more."""
    now, before = keyed_fingerprints(b"key", "ada", "Ada lives in Łódź")

    assert now == keyed_fingerprints(b"key", "ada", "ada lives in lodz")[0]
    assert before == hmac.new(b"key", b"ada\0adalivesin\xc5\x82odz", "sha256").hexdigest()
    assert len(keyed_fingerprints(b"key", "ada", "Ada lives in Berlin")) == 1


@settings(max_examples=15, deadline=None)
@given(st.sampled_from(SPELLINGS))
def test_a_rejected_value_is_refused_in_any_spelling(spell: Callable[[str], str]) -> None:
    """After a rejection the gate refuses the value for this user, and for nobody else."""
    alice, bob = (Origin(actor="person", user_id=user) for user in ("alice", "bob"))
    with ArchivalStore() as archive:
        decision = archive.offer(Draft(text="Alice keeps a lion in Berlin"), alice)
        archive.mark("reject", str(decision.id), alice)

        again = archive.offer(Draft(text=spell("Alice keeps a lion in Berlin")), alice)
        elsewhere = archive.offer(Draft(text="Alice keeps a lion in Berlin"), bob)

    assert [reason.code for reason in again.reasons] == ["tombstone"]
    assert elsewhere.decision == "admitted"


OPPOSITES = [
    ("Ada likes tea", "Ada does not like tea"),
    ("Ada can swim", "Ada can't swim"),
    ("Ada flies to Oslo", "Ada flies from Oslo"),
    ("Ada eats meat", "Ada eats no meat"),
    ("The rent is 12.50", "The rent is 1250"),
    ("The freezer is at -5 degrees", "The freezer is at 5 degrees"),
    ("Ada writes C++", "Ada writes C#"),
]


@pytest.mark.parametrize(("one", "other"), [*OPPOSITES, *((other, one) for one, other in OPPOSITES)])
def test_a_rejected_value_leaves_its_opposite_alone(one: str, other: str) -> None:
    """Every word of a rejected value counts, the small ones that turn it round as well."""
    ada = Origin(actor="person", user_id="ada")
    with ArchivalStore() as archive:
        archive.mark("reject", str(archive.offer(Draft(text=one), ada).id), ada)

        opposite = archive.offer(Draft(text=other), ada)
        same = archive.offer(Draft(text=f" {one.upper()}!"), ada)

    assert opposite.decision == "admitted"
    assert [reason.code for reason in same.reasons] == ["tombstone"]


ALICE = Origin(actor="person", user_id="alice")
LION = "Alice keeps a lion in Berlin"


def test_no_record_is_read_where_nothing_was_erased() -> None:
    """Looking for erased values that a merge brought back costs a store that never erased anything nothing."""
    with ArchivalStore(None) as archive:
        archive.offer(Draft(text="Ada likes tea"), Origin(actor="person", user_id="ada"))
        read: list[str] = []
        records = (read.append(record.id) or record for record in archive.told(user_id=None))

        assert list(archive.view.tombstones.brought_back(records)) == []
        assert read == []


def codes(decision: Decision) -> list[str]:
    """Return the reason codes of a decision."""
    return [reason.code for reason in decision.reasons]


class TestErasedValues:
    """Of an erased value only a keyed digest stays, which bars it for its user."""

    @pytest.fixture
    def archive(self, tmp_path: Path) -> Iterator[ArchivalStore]:
        """Return an archive on disk whose key is here."""
        with ArchivalStore(tmp_path, keys=StoreKeys(tombstone_key=lambda: b"the store's key")) as store:
            yield store

    @pytest.mark.parametrize("spell", SPELLINGS)
    def test_an_erased_value_is_refused_in_any_spelling(
        self, archive: ArchivalStore, spell: Callable[[str], str]
    ) -> None:
        """The value is refused as a record and as a line of core memory, for its user alone."""
        archive.bury("alice", [LION, "Alice is called Ada"])

        again = archive.offer(Draft(text=spell(LION)), ALICE)
        in_core = archive.edit_core("alice", "human", f"Likes tea.\n{spell(LION).strip()}", ALICE)
        others = archive.offer(Draft(text=LION), ALICE._replace(user_id="bob"))

        assert (codes(again), codes(in_core), others.decision) == (["tombstone"], ["tombstone"], "admitted")

    def test_nothing_of_the_value_or_its_user_is_written(self, archive: ArchivalStore, tmp_path: Path) -> None:
        """The lines hold a digest that cannot be found by trying values, under nobody's name."""
        archive.bury("alice", [LION])

        data = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())

        assert not [word for word in (b"alice", b"Alice", b"lion", fingerprint(LION).encode()) if word in data]
        assert sha256(b"alice\0" + stated(LION).encode()).hexdigest().encode() not in data
        assert archive.check() == []

    def test_without_the_key_nothing_is_barred_and_the_account_says_so(self, tmp_path: Path) -> None:
        """Where the key is absent the gate passes the value, and every write is told with a note."""
        with ArchivalStore(tmp_path, keys=StoreKeys(tombstone_key=lambda: b"the store's key")) as archive:
            archive.bury("alice", [LION])
        told: list[dict[str, object]] = []

        with ArchivalStore(tmp_path, observe=told.append) as archive:
            decision = archive.offer(Draft(text=LION), ALICE)
            unchecked = archive.view.tombstones.cannot_be_checked()

        assert (decision.decision, unchecked) == ("admitted", True)
        assert "key is not here" in str(told[-1]["note"])

    def test_without_a_key_nothing_is_buried(self, tmp_path: Path) -> None:
        """A bare digest of a short value can be guessed, so there is none."""
        with ArchivalStore(tmp_path) as archive:
            with pytest.raises(NoTombstoneKey):
                archive.bury("alice", [LION])

            assert archive.offer(Draft(text=LION), ALICE).decision == "admitted"

    def test_a_person_allows_an_erased_value_again(self, archive: ArchivalStore) -> None:
        """Once allowed it can be told; erased once more, it is barred once more, and counted as barred."""
        archive.bury("alice", [LION])

        lifted = archive.allow(LION.upper(), ALICE, reason="it is true after all")
        told = archive.offer(Draft(text=LION), ALICE)
        archive.mark("forget", str(told.id), ALICE)
        allowed = archive.census().tombstones["erased"]
        archive.bury("alice", [LION])

        assert (allowed, archive.census().tombstones["erased"]) == (0, 1)
        assert ([item.kind for item in lifted], told.decision) == (["erased"], "admitted")
        assert codes(archive.offer(Draft(text=LION), ALICE)) == ["tombstone"]

    def test_tombstones_are_read_from_the_shards_alone(self, archive: ArchivalStore) -> None:
        """Deleting the index loses none of them."""
        archive.bury("alice", [LION])
        archive.rebuild()

        assert codes(archive.offer(Draft(text=LION), ALICE)) == ["tombstone"]


@pytest.mark.parametrize("by_id", [True, False])
def test_a_person_allows_a_rejected_value_again(by_id: bool) -> None:
    """By its words or by its record's id; the record itself stays rejected, and nobody else can do it."""
    with ArchivalStore() as archive:
        rejected = str(archive.offer(Draft(text=LION), ALICE).id)
        archive.mark("reject", rejected, ALICE)
        named = rejected if by_id else LION.casefold()
        with pytest.raises(NotAllowed):
            archive.allow(named, ALICE._replace(actor="agent"))

        lifted = archive.allow(named, ALICE)
        stored = archive.get(rejected)

        assert [item.target for item in lifted] == [rejected]
        assert stored is not None
        assert stored.status == "rejected"
        assert archive.allow(named, ALICE) == []
        assert archive.offer(Draft(text=LION), ALICE).decision == "admitted"


def test_another_users_tombstone_cannot_be_lifted() -> None:
    """Bob's word does nothing to what Alice rejected, even by its id."""
    bob = ALICE._replace(user_id="bob")
    with ArchivalStore() as archive:
        rejected = str(archive.offer(Draft(text=LION), ALICE).id)
        archive.mark("reject", rejected, ALICE)

        assert (archive.allow(rejected, bob), archive.allow(LION, bob)) == ([], [])
        assert codes(archive.offer(Draft(text=LION), ALICE)) == ["tombstone"]


class Day:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        """Return the time."""
        return self.now


Step = Callable[[ArchivalStore, Day, str, str], object]
STEPS: dict[str, Step] = {
    "a year passes": lambda archive, day, rejected, other: setattr(day, "now", day.now + timedelta(days=400)),
    "sweep": lambda archive, day, rejected, other: archive.sweep(),
    "consolidate": lambda archive, day, rejected, other: archive.consolidate(archive.consolidation()),
    "rebuild": lambda archive, day, rejected, other: archive.rebuild(),
    "undo": lambda archive, day, rejected, other: archive.mark("revoke", rejected, ALICE, reason="undone"),
    "revoke the session": lambda archive, day, rejected, other: archive.revoke(RevokedSource(session_id="s1"), ALICE),
    "forget": lambda archive, day, rejected, other: archive.mark("forget", rejected, ALICE),
    "confirm": lambda archive, day, rejected, other: archive.mark("confirm", rejected, ALICE),
    "contradict": lambda archive, day, rejected, other: archive.mark("contradict", rejected, ALICE),
    "update": lambda archive, day, rejected, other: archive.mark("update", rejected, ALICE, tags=["zoo"]),
    "restore": lambda archive, day, rejected, other: archive.mark("restore", rejected, ALICE),
    "supersede": lambda archive, day, rejected, other: archive.supersede(rejected, "Alice keeps a tiger", ALICE),
    "merge": lambda archive, day, rejected, other: archive.merge([rejected, other], ALICE),
    "tell something else": lambda archive, day, rejected, other: archive.offer(Draft(text="Alice sails"), ALICE),
    "set core": lambda archive, day, rejected, other: archive.edit_core("alice", "human", "Alice sails", ALICE),
}
"""What may happen to a store. Only a person's allow or approve may bring a rejected value back."""


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(sorted(STEPS)), max_size=8), st.sampled_from(SPELLINGS))
def test_tombstones_survive_whatever_happens_to_a_store(names: list[str], spell: Callable[[str], str]) -> None:
    """After any steps of a life cycle a rejected value is refused, an erased one too, in any spelling."""
    day = Day()
    with ArchivalStore(clock=day, keys=StoreKeys(tombstone_key=lambda: b"the store's key")) as archive:
        rejected = str(archive.offer(Draft(text=LION), ALICE._replace(session_id="s1")).id)
        other = str(archive.offer(Draft(text="Alice owns a boat"), ALICE).id)
        archive.mark("reject", rejected, ALICE)
        archive.bury("alice", ["Alice is called Ada"])

        for name in names:
            with suppress(ArchiveError):  # a step may be refused, which must not open the way either
                STEPS[name](archive, day, rejected, other)

        for text in (LION, "Alice is called Ada"):
            again = archive.offer(Draft(text=spell(text)), ALICE)
            assert codes(again) == ["tombstone"], (names, text)
