"""Secrets are found in sentences that were written without the detector at hand, and ordinary ones pass."""

from __future__ import annotations

import random
import string
from pathlib import Path

from memkit.runtime.memory.gate.secrets import find_secrets

LINES = (Path(__file__).parent / "told.txt").read_text(encoding="utf-8").splitlines()
WORDS = ("key", "token", "Bearer", "client_secret")
"""Where these announce, a token is told and no password."""
PASSWORDS = (
    "hunter22", "Tr0ub4dor&3", "S0mmer2024!", "kitten99", "zxcvbn!1", "P@ssw0rd77", "bluewhale42", "MyDog#Rex9",
    "letmein!9", "Bergziege7", "xK9$mmQ2", "Juli2024", "n3wyork", "fluffy_cat8", "R3dPanda!", "correcthorsebattery",
)  # fmt: skip
ORDINARY = (
    "{} forgot the password again and had to reset it", "the password policy of {} asks for 12 characters",
    "the token bucket of {} holds 500 requests", "{} keeps the house key under the mat", "login with {} is disabled",
    "the API key page of {} is under Settings > Developers", "the credentials of {} expired on 2026-03-04",
    "password: see {}", "the password field of {} must not be empty", "api_key = self.api_key  # {}",
    "the secret of {} is stored in the vault, not in git", "sign in with {} and wait", "the door code of {} is changed",
    "export API_KEY=$KEY  # {}", "le mot de passe de {} est obligatoire", "das Passwort von {} ist falsch",
)  # fmt: skip
NAMES = ("Ada", "the team", "GitHub", "Grafana", "PostgreSQL", "us-east-1", "python3.11", "v2.4.1", "sha-256", "node18")


def test_secrets_in_context_are_found() -> None:
    """At least 95 of a hundred, told in 140 ways."""
    draw = random.Random(20)
    told = []
    for line in LINES:
        for _ in range(4):
            made = "".join(draw.choices(string.ascii_letters + string.digits + "!#$%&*", k=draw.randint(8, 14)))
            key = "".join(draw.choices(string.ascii_letters + string.digits, k=draw.choice((20, 24, 32))))
            secret = key if any(word in line for word in WORDS) else draw.choice((made, draw.choice(PASSWORDS)))
            told.append(line.replace("\\n", "\n").replace("\\t", "\t").replace("{}", secret))

    missed = [text for text in told if not find_secrets(text)]

    assert len(told) > 500
    assert len(missed) <= len(told) // 20, missed


def test_ordinary_sentences_about_secrets_pass() -> None:
    """None is an alarm, whoever or whatever they speak of."""
    alarms = [text for line in ORDINARY for name in NAMES if find_secrets(text := line.format(name))]

    assert alarms == []
