"""The fixture ``fake_llm``, in a run of pytest of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TESTS = """
import os
import socket

import pytest

PORTS = []


def test_two_protocols_side_by_side(fake_llm):
    import anthropic, openai

    chat, messages = fake_llm("chat", ["one"]), fake_llm("anthropic", ["two"], api_key="right")
    words = [{"role": "user", "content": "Hi"}]
    assert openai.OpenAI().chat.completions.create(model="m", messages=words).choices[0].message.content == "one"
    said = anthropic.Anthropic().messages.create(model="m", max_tokens=9, messages=words)
    assert said.content[0].text == "two"
    PORTS.extend([chat.port, messages.port])


def test_nothing_of_it_is_left():
    assert not {"OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY"} & set(os.environ)
    for port in PORTS:
        with socket.socket() as client:
            assert client.connect_ex(("127.0.0.1", port)) != 0


def test_a_script_that_cannot_be_played_fails_the_test(fake_llm):
    with pytest.raises(Exception, match="Did you mean 'text'"):
        fake_llm("chat", [{"txt": "x"}])
"""


def test_servers_and_their_variables_end_with_the_test(tmp_path: Path) -> None:
    """Each test has its own servers, found by the environment, and none after it."""
    (tmp_path / "test_agent.py").write_text(TESTS, encoding="utf-8")

    # The plugin is loaded by its module's name, so that it is there once, whether memkit is installed or not.
    plugin = ["-p", "memkit.pytest_plugin"]
    command = [sys.executable, "-m", "pytest", "-q", *plugin, "-p", "no:cacheprovider", str(tmp_path)]
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, env=alone, capture_output=True, text=True, timeout=900)

    assert done.returncode == 0 and "3 passed" in done.stdout, done.stdout
