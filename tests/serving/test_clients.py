"""The entry in a client's configuration: put there, taken out, and nothing else touched."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memkit.cli.main import run
from memkit.errors import UsageError
from memkit.serving.clients import CLIENTS, with_entry

ENTRY = {"command": "memkit", "args": ["serve", "--stdio", "--store", '/srv/a "b" é']}
OTHER = {"command": "memkit", "args": ["serve"]}
COMMENTED = """\
// Servers of this project
{
    "theme": "dark", // kept
    /* mcpServers: {} */
    "mcpServers": {
        "files": {"command": "files", "args": ["a",],}, // {not: "an end}"
    },
}
"""
TOML = """\
# mine
model = "any"

[mcp_servers.files]
command = "files"

# about the profile
[profiles.fast]
model = "small"
"""
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
JSONC, CONFIG = Path("mcp.json"), Path("config.toml")


def test_comments_order_and_other_servers_stay() -> None:
    """What is put in and taken out again leaves the text as it was, but for a comma."""
    put = with_entry(COMMENTED, JSONC, "mcpServers", ENTRY)

    assert all(line in put.splitlines() for line in COMMENTED.splitlines())
    assert with_entry(put, JSONC, "mcpServers", ENTRY) == put
    changed = with_entry(put, JSONC, "mcpServers", OTHER)
    assert "/srv/a" not in changed and "// kept" in changed
    taken = with_entry(put, JSONC, "mcpServers", None)
    assert [line for line in taken.splitlines() if line.strip()] == COMMENTED.splitlines()


def test_a_table_of_toml_is_put_in_and_taken_out() -> None:
    """Comments above the next table are that one's."""
    put = with_entry(TOML, CONFIG, "mcp_servers", ENTRY)

    assert put.startswith(TOML)
    assert tomllib.loads(put)["mcp_servers"]["memkit"] == ENTRY
    assert tomllib.loads(with_entry(put, CONFIG, "mcp_servers", OTHER))["mcp_servers"]["memkit"] == OTHER
    for text in (TOML, f"{TOML}\n", ""):
        assert with_entry(with_entry(text, CONFIG, "mcp_servers", ENTRY), CONFIG, "mcp_servers", None) == text
    first = TOML.replace("[mcp", '[mcp_servers.memkit]\ncommand = "x"\n\n[mcp_servers.memkit.env]\nA = "1"\n\n[mcp', 1)
    assert tomllib.loads(first)["mcp_servers"]["memkit"]["env"]
    taken = with_entry(first, CONFIG, "mcp_servers", None)
    assert tomllib.loads(taken) == tomllib.loads(TOML) and "# about the profile\n[profiles" in taken


@given(st.dictionaries(st.text(), VALUES, max_size=4), st.dictionaries(st.text(), VALUES, max_size=3), st.booleans())
@settings(max_examples=150)
def test_any_json_keeps_what_it_says(other: dict[str, Any], servers: dict[str, Any], indented: bool) -> None:
    """Whatever a file says, it says that and the entry afterwards; taken out, it says that again."""
    servers.pop("memkit", None)
    before = {**other, "servers": servers}
    text = json.dumps(before, indent=2 if indented else None)

    put = with_entry(text, JSONC, "servers", ENTRY)

    assert json.loads(put) == {**before, "servers": {**servers, "memkit": ENTRY}}
    assert json.loads(with_entry(put, JSONC, "servers", None)) == before


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (JSONC, "{"), (JSONC, "[]"), (JSONC, '{"mcpServers": []}'), (JSONC, "{} {}"), (JSONC, '{"a" 1}'),
        (JSONC, "[" * 9_000),
        (CONFIG, "a = "), (CONFIG, "mcp_servers = 1"), (CONFIG, "mcp_servers = {files = {command = 'x'}}"),
    ],
)  # fmt: skip
def test_what_cannot_be_changed_in_one_place_is_left_alone(path: Path, text: str) -> None:
    """The line names the file."""
    key = "mcp_servers" if path is CONFIG else "mcpServers"

    with pytest.raises(UsageError, match=path.name):
        with_entry(text, path, key, ENTRY)


@pytest.mark.parametrize("client", CLIENTS)
def test_install_shows_the_change_and_writes_it(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], client: str
) -> None:
    """Each client finds the entry in its own file under its own key; --remove takes it back."""
    monkeypatch.chdir(tmp_path)
    words = ["mcp", "install", "--client", client, "--user", "ada", "--store", str(store), "--json"]

    assert run([*words, "--dry-run"]) == 0
    path = Path(json.loads(capsys.readouterr().out)["data"]["path"])
    assert not path.exists() and (path.is_relative_to(tmp_path) or path.is_relative_to(Path.home()))
    assert run(words) == 0
    told = json.loads(capsys.readouterr().out)["data"]
    read = tomllib.loads if path.suffix == ".toml" else json.loads
    entry = read(path.read_text("utf-8"))[CLIENTS[client].key]["memkit"]
    assert entry["args"][-4:] == ["--store", str(store), "--user", "ada"] and "+" in told["diff"]
    assert run(words) == 0 and not json.loads(capsys.readouterr().out)["data"]["changed"]
    assert run([*words, "--remove"]) == 0
    assert "memkit" not in path.read_text("utf-8")


def test_install_says_what_was_done(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The last line: that nothing was written, where, or what to do next."""
    path = tmp_path / "mcp.json"
    words = ["mcp", "install", "--client", "cursor", "--user", "ada", "--config", str(path), "--store", str(store)]

    def last(*more: str) -> str:
        assert run([*words, *more]) == 0
        return capsys.readouterr().out.splitlines()[-1]

    assert last("--dry-run") == "Nothing was written: leave out --dry-run to write it." and not path.exists()
    assert last() == f"Written to {path}: restart cursor, which then starts the server itself."
    assert last() == last("--dry-run") == f"{path} is already up to date."
    assert last("--remove") == f"Removed from {path}: restart cursor."
    assert last("--remove") == f"{path} has no entry for memkit."


@pytest.mark.parametrize(
    ("name", "client", "content"),
    [
        ("mcp.json", "cursor", b'\xef\xbb\xbf{\r\n  "mcpServers": {}\r\n}\r\n'),
        ("config.toml", "codex", b'model = "o3" # mine\r\n[mcp_servers.other]\r\ncommand = "y"\r\n'),
    ],
)
def test_a_file_of_an_editor_of_windows_stays_one(
    store: Path, tmp_path: Path, name: str, client: str, content: bytes
) -> None:
    """Its mark and its ends of lines are no part of the change that is shown."""
    path = tmp_path / name
    path.write_bytes(content)
    words = ["mcp", "install", "--client", client, "--user", "ada", "--config", str(path), "--store", str(store)]

    assert run(words) == 0
    written = path.read_bytes()
    assert run([*words, "--remove"]) == 0

    assert b"memkit" in written and written[:4] == content[:4]
    assert written.count(b"\n") == written.count(b"\r\n") > content.count(b"\n")
    assert path.read_bytes()[:20] == content[:20] and b"memkit" not in path.read_bytes()


def test_install_without_a_user_is_refused(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No entry is written with which the server cannot start; a user that only a variable names is written out."""
    path = tmp_path / "mcp.json"
    words = ["mcp", "install", "--client", "cursor", "--config", str(path), "--store", str(store)]

    assert run(words) == 2
    (told,) = capsys.readouterr().err.splitlines()
    assert "--user" in told and "'memkit config set user NAME'" in told and not path.exists()
    assert run([*words, "--remove"]) == 0
    monkeypatch.setenv("MEMKIT_USER", "ada")
    assert run(words) == 0
    assert json.loads(path.read_text("utf-8"))["mcpServers"]["memkit"]["args"][-2:] == ["--user", "ada"]
    monkeypatch.delenv("MEMKIT_USER")
    assert run(["config", "set", "user", "ada", "--store", str(store)]) == 0
    assert run(words) == 0
    assert "--user" not in json.loads(path.read_text("utf-8"))["mcpServers"]["memkit"]["args"]
