"""What a person reads says what to do next: one line, in words, without a look into the help."""

from __future__ import annotations

from pathlib import Path

import pytest

from memkit.cli.main import run
from memkit.privacy import sealer


class Reader:
    """Runs commands on a store and returns what a person reads."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root = root
        self._capsys = capsys

    def __call__(self, *arguments: str, code: int = 0) -> str:
        """Return what ``memkit ARGUMENTS``, which must exit with ``code``, printed on either stream."""
        exit_code = run([*arguments, "--store", str(self.root)])
        printed = self._capsys.readouterr()
        assert exit_code == code, printed
        return printed.out + printed.err


@pytest.fixture
def memkit(store: Path, capsys: pytest.CaptureFixture[str]) -> Reader:
    """Return a runner of commands on an empty store."""
    return Reader(store, capsys)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("skill", "new", "greet", "guests"), "Got unexpected extra argument (guests). Put several words in"),
        (("memory", "update", "01", "Ada likes tea"), "(Ada likes tea). This command takes ID and options only. Try"),
        (
            ("policy", "rollback", "a", "0.1.0", "x y"),
            "takes NAME and VERSION and options only.",
        ),
        (("consent", "grant", "ada"), "Got unexpected extra argument (ada). This command takes options only. Try"),
        (("memory", "add", "x", "--confidence", "high"), "'--confidence': 'high' is not a number. Try"),
        (("memory", "search", "x", "-k", "many"), "'-k': 'many' is not a whole number. Try"),
        (("memory", "sewep"), "No such command 'sewep'. Did you mean 'sweep'? Try 'memkit memory --help'."),
        (("memory", "search"), "Missing argument 'QUERY'. Try 'memkit memory search --help'."),
        (("rule", "QQ"), "There is no rule 'QQ'. 'memkit rule' lists them."),
        (("gen",), "Missing option '--target': The SDK to render for; 'memkit targets' lists them. Try 'memkit gen"),
        (("config", "set", "qq", "1"), "'qq' is not a setting with one value. 'memkit config show' lists them."),
    ],
)
def test_a_slip_is_told_what_to_do(memkit: Reader, arguments: tuple[str, ...], said: str) -> None:
    """Exit 2, one line, and the words of everyday instead of a library's."""
    printed = memkit(*arguments, code=2)

    assert said in printed
    assert printed.count("\n") == 1


def test_an_id_that_is_not_there_says_where_ids_are(memkit: Reader) -> None:
    """Nobody learns whether it is somebody else's."""
    mine = memkit("memory", "add", "Ada owns a yacht", "--user", "ada").split()[1]

    absent, foreign = (memkit("memory", "get", id, "--user", "bob", code=1) for id in ("01ABSENT", mine))

    assert foreign.replace(mine, "01ABSENT") == absent
    assert "'memkit memory list'" in absent


@pytest.mark.parametrize("kind", ["skill", "policy"])
def test_a_name_that_is_not_there_says_where_names_are(memkit: Reader, kind: str) -> None:
    """Where no name is near enough to be meant, the list of them is."""
    said = f"There is no {kind} 'qq'. 'memkit {kind} list' lists all."

    assert said in memkit(kind, "show", "qq", code=1)


def test_the_help_of_a_group_is_not_cut(memkit: Reader) -> None:
    """Each command's sentence stands there whole, over as many lines as it takes."""
    printed = memkit("key", "--help").partition("Commands:")[2]

    assert "without a copy of it." in printed
    assert "..." not in printed


def test_a_mark_says_how_the_record_stands(memkit: Reader) -> None:
    """Doubt and confirmation show the confidence, and what is no longer live shows that instead."""
    id = memkit("memory", "add", "Ada owns a yacht", "--user", "ada").split()[1]

    assert memkit("memory", "contradict", id) == f"contradict: {id} is live, confidence 0.80.\n"
    assert memkit("memory", "confirm", id) == f"confirm: {id} is live, confidence 0.95.\n"
    assert memkit("memory", "reject", id) == f"reject: {id} is rejected.\n"


def test_a_barred_value_names_the_command_that_lets_it_in(memkit: Reader) -> None:
    """A person who rejected by mistake reads the way back where the refusal stands."""
    id = memkit("memory", "add", "Ada owns a yacht", "--user", "ada").split()[1]
    memkit("memory", "reject", id)

    assert "memkit memory allow TEXT" in memkit("memory", "add", "Ada owns a yacht", "--user", "ada", code=1)


def test_an_empty_list_names_its_user(memkit: Reader) -> None:
    """A misspelt name is seen at once."""
    assert memkit("memory", "list", "--user", "adaa") == "No records of adaa.\n"
    assert memkit("memory", "list") == "No records.\n"


def test_trying_a_consolidation_says_what_it_did_not_look_at(memkit: Reader) -> None:
    """Uncommitted memory is not on the last commit; a real run commits it first."""
    memkit("memory", "add", "Ada was in Rome", "--user", "ada", "--valid-until", "2025-01-01")

    tried = memkit("memory", "consolidate", "--dry-run")
    assert "Nothing to consolidate." in tried
    assert "run 'memkit commit' first" in tried

    memkit("commit")
    assert "Uncommitted memory" not in memkit("memory", "consolidate", "--dry-run")


def test_doctor_without_a_store_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is no fault where none was asked for, and nothing of a store was checked."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MEMKIT_STORE", raising=False)

    assert run(["doctor"]) == 0
    assert "not checked. No store in" in capsys.readouterr().out


def test_sealing_without_its_library_is_said_when_it_is_switched_on(
    memkit: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not only when the next record is refused."""
    monkeypatch.setattr("memkit.use_cases.store.has_cryptography", lambda: False)

    assert sealer.MISSING in memkit("config", "set", "privacy.seal", "user")
    assert sealer.MISSING not in memkit("config", "set", "privacy.seal", "off")


def test_what_only_a_restore_brings_is_one_line(memkit: Reader, tmp_path: Path) -> None:
    """Kinds of lines that are left out for one reason stand together."""
    id = memkit("memory", "add", "Ada owns a yacht", "--user", "ada").split()[1]
    memkit("memory", "confirm", id)
    memkit("memory", "search", "yacht", "--user", "ada")
    memkit("memory", "export", "--user", "ada", "--out", str(tmp_path / "ada.jsonl"))

    printed = memkit("memory", "import", str(tmp_path / "ada.jsonl"))

    left = [line for line in printed.splitlines() if "not imported" in line]
    assert len(left) == 1
    assert "1 × confirm" in left[0]
    assert left[0].endswith("Only --restore imports it.")


def test_an_unknown_kind_of_event_is_told_the_kinds(memkit: Reader) -> None:
    """Nobody has to guess what the log calls a refusal."""
    memkit("memory", "add", "Ada owns a yacht", "--user", "ada")

    assert memkit("audit", "--event", "written") == "No matches. Kinds of events here: write.\n"


def test_an_unsettled_contradiction_names_the_list_of_them(memkit: Reader) -> None:
    """Both stay, and a person is told where to settle it."""
    memkit("memory", "add", "Ada lives in Berlin", "--user", "ada")

    assert "memkit memory list --open" in memkit("memory", "add", "Ada lives in Paris", "--user", "ada")


def test_an_export_is_counted_in_words(memkit: Reader, tmp_path: Path) -> None:
    """What is remembered comes first, and one is not several."""
    memkit("memory", "add", "Ada owns a yacht", "--user", "ada")

    printed = memkit("memory", "export", "--user", "ada", "--out", str(tmp_path / "ada.jsonl"))

    assert printed.startswith("Exported 1 record, 1 line of the audit log of ada to ")


def test_a_trace_that_is_left_says_what_to_do(memkit: Reader, tmp_path: Path) -> None:
    """Exit 1 with a place and no advice would leave a person alone."""
    memkit("memory", "add", "Ada prefers the blue bicycle", "--user", "ada")
    (memkit.root / "notes.md").write_text("She said: Ada prefers the blue bicycle.\n", encoding="utf-8")

    planned = memkit("memory", "erase", "--user", "ada", "--dry-run")
    printed = memkit("memory", "erase", "--user", "ada", "--yes", "--out", str(tmp_path / "proof.json"), code=1)

    assert "stay as they are: notes.md. --redact removes that too." in planned
    assert "trace in notes.md" in printed
    assert "quotes in people's files can be removed by hand" in printed


def test_a_restore_that_is_given_again_says_what_was_here(memkit: Reader, tmp_path: Path) -> None:
    """Nobody reads that something was restored twice."""
    memkit("memory", "add", "Ada owns a yacht", "--user", "ada")
    memkit("memory", "export", "--user", "ada", "--out", str(tmp_path / "ada.jsonl"))

    printed = memkit("memory", "import", str(tmp_path / "ada.jsonl"), "--restore")

    assert printed == "Restored nothing new of ada. 1 of its records and events was already here.\n"
