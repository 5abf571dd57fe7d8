"""A sealed line gives back exactly what was sealed, on its own line, to whoever has its key, and nothing to others."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memkit.privacy import sealer as sealer_module
from memkit.privacy.keys import KeyRing
from memkit.privacy.sealer import KeySealer
from memkit.runtime.memory.record.events import Event
from memkit.runtime.memory.record.lines import (
    JSON,
    NO_KEY,
    NoSealer,
    SealDamaged,
    decode_line,
    encode_line,
    is_sealed,
    shown,
)
from memkit.runtime.memory.record.record import CLEAR, Record

SECRET = "Ada takes lithium"

texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=200)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=8,
)


@pytest.fixture
def keyed(tmp_path_factory: pytest.TempPathFactory) -> KeyRing:
    """Return the key ring of a small store."""
    root = tmp_path_factory.mktemp("keyed")
    (root / "memkit.yaml").write_text("name: keyed\nformat: 1\n")
    ring = KeyRing(root, tmp_path_factory.mktemp("keys") / "home")
    ring.store_key(create=True)
    return ring


def sealing(ring: KeyRing) -> KeySealer:
    """Return a sealer that seals."""
    return KeySealer(lambda: ring, seals=True)


def record(text: str = SECRET, id: str = "01A", user: str = "ada", **more: JSON) -> dict[str, JSON]:
    """Return the line of a record."""
    return {
        "id": id, "text": text, "user_id": user, "created_at": "2026-01-01T00:00:00Z", "scope": "user", **more
    }  # fmt: skip


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(hidden=st.dictionaries(texts.filter(lambda key: key not in CLEAR), values), user=texts, text=texts)
def test_what_is_sealed_comes_back_as_it_was(keyed: KeyRing, hidden: dict[str, JSON], user: str, text: str) -> None:
    """Through the line's bytes, whatever the hidden fields are called and hold, one called ``sealed`` included."""
    data = {**hidden, **record(text=text, user=user)}

    line = encode_line(sealing(keyed).seal(data))

    assert encode_line(sealing(keyed).open(decode_line(line))) == encode_line(data)


def test_a_sealed_line_shows_nothing_but_the_fields_that_stay_clear(keyed: KeyRing) -> None:
    """Neither text nor tags, links, reasons nor unknown keys can be read."""
    data = record(tags=["health"], source_url="https://clinic.example/ada", reason="told by phone", dose="300 mg")

    sealed = sealing(keyed).seal(data)

    assert set(sealed) - CLEAR == {"sealed"}
    for word in ("lithium", "health", "clinic", "phone", "dose", "300"):
        assert word not in json.dumps(sealed)


def test_the_same_text_is_never_sealed_to_the_same_bytes(keyed: KeyRing) -> None:
    """A nonce is used once."""
    assert sealing(keyed).seal(record())["sealed"] != sealing(keyed).seal(record())["sealed"]


@pytest.mark.parametrize(
    "data",
    [
        record() | {"scope": "shared"},
        {"id": "01C", "op": "consent", "target": "consent", "user_id": "ada", "at": "2026-01-01T00:00:00Z",
              "fields": {"granted": True}},
        {"id": "01T", "op": "tombstone", "target": "ab" * 32, "user_id": "erased", "at": "2026-01-01T00:00:00Z",
         "scope": "shared"},
        {"id": "01F", "op": "confirm", "target": "01A", "user_id": "ada", "at": "2026-01-01T00:00:00Z"},
    ],
)  # fmt: skip
def test_what_everybody_has_to_read_stays_clear(keyed: KeyRing, data: dict[str, JSON]) -> None:
    """Shared records, consents, tombstones, and events that hide nothing."""
    assert sealing(keyed).seal(data) == data


def test_the_text_of_a_core_edit_and_every_reason_is_sealed(keyed: KeyRing) -> None:
    """Fields and reason of an event are hidden, its target and operation are not."""
    event = Event(
        id="01E", op="core", target="core/human", user_id="ada", at="2026-01-01T00:00:00Z", actor="person",
        reason="she said so", fields={"text": SECRET},
    )  # fmt: skip

    sealed = sealing(keyed).seal(event.to_data())

    assert (sealed["op"], sealed["target"]) == ("core", "core/human")
    assert "said" not in json.dumps(sealed)
    assert Event.from_data(sealing(keyed).open(sealed)) == event


@pytest.mark.parametrize("field", ["id", "user_id", "created_at", "scope", "trust"])
def test_a_clear_field_that_was_changed_breaks_the_seal(keyed: KeyRing, field: str) -> None:
    """What stands in clear on the line belongs to it."""
    sealed = dict(sealing(keyed).seal(record(trust="quarantined")))
    keyed.user_key("bob", create=True)
    changed = {"user_id": "bob", "trust": "verified", "scope": "agent"}.get(field, "2026-02-02T00:00:00Z")

    with pytest.raises(SealDamaged):
        sealing(keyed).open(sealed | {field: changed})


def test_swapped_texts_are_found_out(keyed: KeyRing) -> None:
    """Between lines of one user as well as of two."""
    one, two = (sealing(keyed).seal(record(id=id)) for id in ("01A", "01B"))
    others = sealing(keyed).seal(record(user="bob"))

    for moved in (two["sealed"], others["sealed"]):
        with pytest.raises(SealDamaged):
            sealing(keyed).open({**one, "sealed": moved})


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damage_is_named_or_unreadable_and_never_another_text(keyed: KeyRing, data: st.DataObject) -> None:
    """Any change of any letter of a seal."""
    sealed = dict(sealing(keyed).seal(record()))
    text = str(sealed["sealed"])
    place = data.draw(st.integers(0, len(text) - 1))
    kept = data.draw(st.sampled_from([text[:place], text[:place] + "A" + text[place + 1 :], text[:place] + "\n"]))
    if kept == text:
        return

    try:
        opened = sealing(keyed).open(sealed | {"sealed": kept})
    except SealDamaged:
        return
    assert is_sealed(opened)


def test_without_its_key_a_line_is_a_record_nobody_can_read(keyed: KeyRing) -> None:
    """It keeps id, owner and state, and says that it is sealed."""
    sealed = sealing(keyed).seal(record(user="eve"))
    keyed.destroy("eve")

    opened = sealing(keyed).open(sealed)

    assert opened == sealed
    assert NoSealer().open(sealed) == sealed
    known = Record.from_data(opened)
    assert (known.id, known.user_id, known.is_sealed, known.text) == ("01A", "eve", True, "[sealed]")


def test_a_line_of_a_destroyed_key_is_no_damage_when_there_is_a_new_one(keyed: KeyRing) -> None:
    """The user may go on, and what was sealed before stays unreadable."""
    before = sealing(keyed).seal(record(user="kim"))
    keyed.destroy("kim")
    after = sealing(keyed).seal(record(user="kim"))

    assert sealing(keyed).open(before) == before
    assert sealing(keyed).open(after)["text"] == SECRET


def test_keys_that_come_and_go_change_the_state_at_once(keyed: KeyRing) -> None:
    """For a sealer that has used the key already, too, and while the clock of the file system does not move."""
    mine = sealing(keyed)
    mine.seal(record(user="lee"))
    now = time.time_ns() + 60 * 10**9  # on a slow machine a tick is over before the second look
    os.utime(keyed.folder, ns=(now, now))
    with_key = mine.state("lee")

    keyed.destroy("lee")
    os.utime(keyed.folder, ns=(now, now))
    without = mine.state("lee")
    keyed.user_key("lee", create=True)
    os.utime(keyed.folder, ns=(now, now))

    assert without == NO_KEY
    assert len({with_key, without, mine.state("lee")}) == 3


def test_a_store_that_seals_no_longer_still_opens(keyed: KeyRing) -> None:
    """New lines are clear, old ones are read."""
    sealed = sealing(keyed).seal(record())
    off = KeySealer(lambda: keyed, seals=False)

    assert off.seal(record()) == record()
    assert off.open(sealed)["text"] == SECRET


def test_without_the_library_lines_stay_sealed_and_writing_says_what_to_install(
    keyed: KeyRing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading goes on; exit code 3 names the extra."""
    from memkit.errors import MissingExtra

    sealed = sealing(keyed).seal(record())
    monkeypatch.setattr(sealer_module, "has_cryptography", lambda: False)

    assert shown(sealed, sealing(keyed)) == sealed
    assert sealing(keyed).state("ada") == NO_KEY
    with pytest.raises(MissingExtra, match=r"memkit-agent\[sealing\]"):
        sealing(keyed).seal(record())


def test_a_clear_record_may_have_a_field_called_sealed() -> None:
    """A text makes a line clear, whatever an import brought along."""
    known = Record.from_data(record(sealed="with wax"))

    assert (known.text, known.is_sealed, known.extra["sealed"]) == (SECRET, False, "with wax")


def test_a_key_id_in_a_store_without_keys_opens_nothing(tmp_path: Path) -> None:
    """Nothing is made and nothing breaks."""
    (tmp_path / "memkit.yaml").write_text(f"name: x\nformat: 1\nprivacy: {{key_id: {'a' * 20}}}\n")
    away = KeySealer(lambda: KeyRing(tmp_path, tmp_path.parent / "nowhere"), seals=False)
    line = {**record(), "sealed": f"1.{'0' * 16}.AAAA"}
    del line["text"]

    assert away.open(line) == line
    assert away.state("ada") == NO_KEY
    assert not (tmp_path.parent / "nowhere").exists()
