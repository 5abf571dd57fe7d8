"""``memkit fake-llm``, run as a person runs it."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-m", "memkit", "fake-llm"]


@contextmanager
def serving(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Run the command, and interrupt it at the end."""
    process = subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=900)


def said(base_url: str, text: str) -> str:
    """Return what the model at ``base_url`` answers to ``text``."""
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]}).encode()
    with urllib.request.urlopen(base_url + "/chat/completions", body, timeout=900) as response:
        answer: str = json.load(response)["choices"][0]["message"]["content"]
        return answer


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command to its end."""
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=900)


def test_it_prints_the_base_url_serves_and_ends_when_interrupted(tmp_path: Path) -> None:
    """A YAML script is served under the printed address, with a log on standard error, and 130 is the exit."""
    script = tmp_path / "script.yaml"
    script.write_text("- text: Hello\n", encoding="utf-8")

    with serving("--script", str(script)) as process:
        assert process.stdout is not None and process.stderr is not None
        base_url = process.stdout.readline().strip()
        answer = said(base_url, "Hi")
        logged = process.stderr.readline()
        with pytest.raises(urllib.error.HTTPError) as caught:
            said(base_url, "again")
        caught.value.close()
        exhausted = process.stderr.readline()

    assert answer == "Hello"
    assert logged == "POST /v1/chat/completions 200\n"
    assert "500 The script is exhausted" in exhausted
    assert process.returncode == 130


def test_rules_from_json_are_served_on_the_given_port(tmp_path: Path) -> None:
    """A JSON script may hold rules; ``--json`` prints the address in the envelope."""
    script = tmp_path / "rules.json"
    script.write_text(json.dumps([{"when": "my name is (\\w+)", "reply": {"text": "Hi ${1}"}}]), encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    with serving("--script", str(script), "--port", str(port), "--json") as process:
        assert process.stdout is not None
        envelope = json.loads(process.stdout.readline())
        answer = said(envelope["data"]["base_url"], "my name is Ada")
        process.send_signal(signal.SIGINT)
        left = process.stdout.read()

    assert left == ""  # one command, one envelope
    assert envelope["schema"] == "memkit.fake-llm/1" and envelope["ok"] is True
    url = f"http://127.0.0.1:{port}/v1"
    variables = envelope["data"].pop("environment")
    assert envelope["data"] == {"base_url": url, "protocol": "chat"}
    assert variables["OPENAI_BASE_URL"] == url and variables["OPENAI_API_KEY"]
    assert answer == "Hi Ada"


CLIENT = """
import openai, sys
model = openai.OpenAI(max_retries=0)
print(model.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hi"}]).choices[0].message.content)
sys.exit(int(sys.argv[1]))
"""


def test_a_program_finds_the_server_by_its_environment_and_gives_the_exit_code(tmp_path: Path) -> None:
    """Base URL and key come to it in the vendor's own variables; what the script has left is told."""
    script = tmp_path / "script.yaml"
    script.write_text("[Hello, Never asked for.]\n", encoding="utf-8")

    done = run("--script", str(script), "--", sys.executable, "-c", CLIENT, "4")

    assert (done.returncode, done.stdout) == (4, "Hello\n")
    assert done.stderr.splitlines() == [
        "POST /v1/chat/completions 200",
        f"Answers in {script} that were never requested: 1.",
    ]


def test_the_account_of_a_program_is_an_envelope(tmp_path: Path) -> None:
    """With ``--json`` standard output is the envelope alone: every request, its refusal, and what was left."""
    script = tmp_path / "script.yaml"
    script.write_text("[]\n", encoding="utf-8")

    done = run("--json", "--script", str(script), "--", sys.executable, "-c", CLIENT, "0")

    envelope = json.loads(done.stdout)
    (request,) = envelope["data"]["requests"]
    assert (done.returncode, envelope["ok"], envelope["data"]["exit"]) == (1, False, 1)
    assert request["status"] == 500 and "exhausted" in request["error"]
    assert envelope["data"]["unused"] == 0


def test_a_program_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    """One line names it, and the server is gone."""
    script = tmp_path / "script.yaml"
    script.write_text("[]\n", encoding="utf-8")

    done = run("--script", str(script), "--", "./no-such-program")

    assert done.returncode == 2 and "./no-such-program cannot be started" in done.stderr


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.yaml", "- txt: Hello\n", "Did you mean 'text'"),
        ("a.yaml", "- {text: Half of, stop: size}\n", "`stop` is 'size'; it can be length or failed"),
        ("a.yaml", "- text: [\n", "a.yaml:"),
        ("a.yaml", "text: Hello\n", "a list of answers"),
        ("a.json", "[{]", "is not JSON"),
        ("a.json", "[" * 100_000, "is not JSON"),
        ("a.json", None, "cannot be read"),
    ],
)
def test_a_broken_script_is_one_line_and_exit_2(tmp_path: Path, name: str, content: str | None, reason: str) -> None:
    """Nothing is served from a script with a mistake in it."""
    script = tmp_path / name
    if content is not None:
        script.write_text(content, encoding="utf-8")

    done = run("--script", str(script))

    assert (done.returncode, done.stdout) == (2, "")
    assert reason in done.stderr and done.stderr.count("\n") == 1


def test_a_taken_port_is_exit_3(tmp_path: Path) -> None:
    """A port that somebody else listens on is said to be taken."""
    script = tmp_path / "script.yaml"
    script.write_text("- text: Hello\n", encoding="utf-8")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = run("--script", str(script), "--port", str(taken.getsockname()[1]))

    assert done.returncode == 3 and "Choose another --port" in done.stderr


def test_an_unknown_protocol_is_a_usage_error(tmp_path: Path) -> None:
    """A misspelt protocol gets a suggestion."""
    done = run("--script", "x.yaml", "--protocol", "chatt")

    assert done.returncode == 2 and "Did you mean 'chat'" in done.stderr
