"""Standard streams that are closed, full or of another encoding end no command with a trace."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from memkit.cli.main import run

TEXT = "Größe — Zoë 🎉"


def shell(command: str, store: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a line of bash in which ``memkit`` is this memkit on ``store``."""
    import os

    line = f'memkit() {{ {sys.executable} -m memkit --store {store} "$@"; }}; {command}'
    variables = os.environ | environment
    return subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, check=False, env=variables, encoding="utf-8"
    )


@pytest.fixture
def filled(store: Path) -> Path:
    """Return a store with one record that is not ASCII."""
    assert run(["memory", "add", TEXT, "--user", "ada", "--store", str(store)]) == 0
    return store


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("memkit memory list > /dev/full", 3),
        ("memkit memory list --json > /dev/full", 3),
        ("memkit bogus 2> /dev/full", 2),
        ("memkit config set name other 2> /dev/full", 0),
        ("memkit memory list >&-", 0),
        ("memkit memory add 'tea at four' --user ada >&-", 0),
        ("memkit chat -p hello --user ada <&-", 0),
        ("memkit chat --user ada <&-", 2),
        ("memkit memory list --json | true; exit ${PIPESTATUS[0]}", 0),
    ],
)
def test_a_stream_that_takes_nothing_is_no_bug(command: str, code: int, filled: Path) -> None:
    """A full disk behind standard output is exit 3; a closed stream or a reader that left is nobody to be told."""
    done = shell(command, filled)

    assert done.returncode == code, done
    assert "Traceback" not in done.stderr
    assert "bug in memkit" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_messages_on_a_full_disk_end_no_command(filled: Path, tmp_path: Path) -> None:
    """What a command says besides its answer can be lost; the answer comes."""
    subprocess.run(["cp", "-r", str(filled), str(tmp_path / "copy")], check=True)
    told, full = (shell(f"memkit memory export --user ada {end}", tmp_path / "copy") for end in ("", "2> /dev/full"))

    assert "memkit trust" in told.stderr
    assert (full.returncode, full.stdout, full.stderr) == (0, told.stdout, "")


def test_messages_on_a_full_disk_end_no_server(filled: Path) -> None:
    """Its address cannot be printed, and it answers all the same."""
    pytest.importorskip("uvicorn")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "memkit", "--store", str(filled), "serve", "--http", f"127.0.0.1:{port}"]
    with Path("/dev/full").open("w") as full, subprocess.Popen(command, stderr=full) as serving:
        try:
            while serving.poll() is None:
                with suppress(OSError), socket.create_connection(("127.0.0.1", port)) as connection:
                    connection.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
                    assert connection.recv(12) == b"HTTP/1.1 401"
                    break
                time.sleep(0.05)
            assert serving.poll() is None
        finally:
            serving.terminate()


@pytest.mark.parametrize("flag", ["", "--json"])
def test_a_full_disk_is_said_on_the_other_stream(flag: str, filled: Path) -> None:
    """An envelope that cannot be printed does not take the reason with it."""
    done = shell(f"memkit memory list {flag} > /dev/full", filled)

    assert (done.returncode, done.stderr.count("No space left on device")) == (3, 1)


@pytest.mark.parametrize(
    "variables", [{"PYTHONIOENCODING": "latin-1"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}]
)
def test_text_is_utf_8_whatever_the_locale_says(variables: dict[str, str], filled: Path) -> None:
    """What is given, stored and printed is the same text in every locale."""
    added = shell("memkit memory add 'Zoë owns a bicycle' --user ada && memkit memory list", filled, **variables)

    assert added.returncode == 0, added
    assert TEXT in added.stdout
    assert "Zoë owns a bicycle" in added.stdout


def test_input_that_is_no_text_is_read_as_escapes(filled: Path) -> None:
    """Bytes that are not UTF-8 on standard input end nothing."""
    done = shell("printf 'hello \\xff' | memkit chat --user ada --json", filled)

    assert done.returncode == 0, done


@pytest.mark.parametrize("flag", ["", "--jsonl", "-p 'I like tea.'"])
def test_a_mark_of_byte_order_is_no_part_of_what_is_piped_in(flag: str, filled: Path) -> None:
    """Programs of Windows write one in front of their text."""
    piped = r"printf '\xef\xbb\xbfI like kiwis.\r\n'"

    said = shell(f"{piped} | memkit chat --user zoe --session pipe --consent {flag}", filled)
    shown = shell("memkit sessions show pipe --user zoe --json", filled)

    assert said.returncode == shown.returncode == 0, (said, shown)
    assert "I like kiwis." in shown.stdout and "feff" not in shown.stdout


NOISY = """
import os, subprocess, sys

def look():
    print("PRINTED"), sys.__stdout__.write("OLD\\n"), os.write(1, b"RAW\\n"), subprocess.run(["echo", "CHILD"])
    return "seen"
"""


@pytest.mark.parametrize("flag", ["--json -p hi", "--jsonl"])
def test_what_a_tool_writes_to_standard_output_stands_not_in_a_result(flag: str, filled: Path, tmp_path: Path) -> None:
    """Neither by print, nor through the descriptor, nor from a program that it starts."""
    place = tmp_path / "copy"
    subprocess.run(["cp", "-r", str(filled), str(place)], check=True)
    (place / "noisy.py").write_text(NOISY)
    tools = 'tools: [{name: look, description: Looks, run: "noisy:look"}]'
    (place / "memkit.yaml").write_text(f"name: test\nformat: 2\n{tools}\n")
    (tmp_path / "script.yaml").write_text("- {tool: look, args: {}}\n- {text: done}\n")
    trusted = "memkit trust --yes > /dev/null 2>&1"
    done = shell(
        f"{trusted}; echo hi | memkit chat --user ada {flag} --provider scripted:{tmp_path}/script.yaml", place
    )

    assert [json.loads(line)["data"]["message"] for line in done.stdout.splitlines()] == ["done"], done
    assert all(each in done.stderr for each in ("PRINTED", "OLD", "RAW", "CHILD"))
