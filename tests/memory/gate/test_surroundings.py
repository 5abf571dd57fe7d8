# ruff: noqa: E501 (one way to say it a row)
"""Secrets by what is done with them: every way to tell a password is found, and ordinary sentences are not."""

from __future__ import annotations

import random
import string

import pytest
from growth import grows_with_its_length
from test_secrets import TOKENS

from memkit.runtime.memory.gate.secrets import SECRET, find_secrets

CHANCE = random.Random(20)
WORDINGS = (
    "{}",
    "my token is {}",
    "use {} for the deploy",
    "remember this: {}",
    "The key we got: {}.",
    "curl with {} please",
    "({})",
)
TOLD = (
    "set the database credentials to {}", "login admin / {}", "creds are bob:{}", "sshpass -p {} ssh host", "mysql -uroot -p{} shop", "the p\u0430ssword is {}", "my password is {}", "password: {}", "pwd={}", "the wifi password is {}", "secret: {}", "api key: {}",
    "login with ada and {}", "user ada password {}", "username: ada, password: {}", "sign in as root/{}", "log in: root {}", "contraseña es {}", "das Passwort lautet {}", "mot de passe : {}", "senha: {}", "密码是{}", "パスワードは{}", "비밀번호는 {}", "пароль: {}", "{} is the password",
    "heslo je {}", "wachtwoord is {}", "hasło to {}", "şifre {}", "lösenord: {}", "salasana on {}", "adgangskode: {}", "парола: {}", "κωδικός: {}", "mật khẩu là {}", "kata sandi: {}", "the root account's password became {}", "I changed my login to {}", "admin:{}@db",
    "htpasswd -b f ada {}", "redis-cli -a {} ping", "smbclient -U ada%{} //h/s", "vault login {}", "docker login -u ada -p {}", "echo {} | sudo -S ls", "openssl enc -k {}", "zip -P {} a.zip b", "7z x a.7z -p{}", "http -a ada:{} :8000", "PGPASSWORD={} psql", "unlock it with {} as the passcode",
)  # fmt: skip
ORDINARY = (
    "I changed my login to the new account", "The login page is at /auth/v2", "sign in as a guest", "Open it with vim9 or code", "connect with Ada at 10am", "user stories: US-123 and US-124", "My account is at bank24", "login with GitHub and Google", "The credentials are in the vault", "auth: OAuth2",
    "log in: step 2", "zip -r a.zip src2", "mysql -u root shop2", "docker login ghcr.io", "redis-cli -n 1 get key1", "unlock level 12 with 3 keys", "hasło jest w sejfie", "The account is user:admin", "accounts: 12/34", "sealed for each user: AES-256-GCM", "I decrypt with gpg2", "to:bob2@example.org",
    "Ada's user name is ada99", "We sign in/out at 9am", "The user and the account2 are linked", "openssl version 3", "7z l a.7z", "ssh -p 2222 host", "mkdir -p src2/lib3", "psql -p 5432 shop", "sudo -S apt2",
)  # fmt: skip


def password() -> str:
    """Return something that people take for a password."""
    letters = "".join(CHANCE.choices(string.ascii_letters, k=CHANCE.randint(4, 8)))
    return letters + "".join(CHANCE.choices(string.digits, k=CHANCE.randint(2, 4))) + CHANCE.choice(["", "", "!", "#k"])


def found(text: str) -> bool:
    """Return whether a secret is seen."""
    return bool(find_secrets(text, frozenset({SECRET})))


def test_a_token_with_a_prefix_is_found_in_any_wording() -> None:
    """At least 99 of 100, in seven wordings."""
    missed = [
        (kind, wording)
        for kind, token in TOKENS.items()
        for wording in WORDINGS
        if not find_secrets(wording.format(token))
    ]

    assert len(missed) * 100 <= len(TOKENS) * len(WORDINGS), missed


def test_a_password_is_found_by_what_is_said_of_it() -> None:
    """At least 95 of 100, in more than fifty wordings and twenty languages."""
    asked = [told.format(password()) for told in TOLD for _ in range(20)]
    missed = [text for text in asked if not found(text)]

    assert len(missed) * 20 <= len(asked), missed[:20]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_sentences_about_logins_pass(text: str) -> None:
    """What is a word, a version, a path or a place is no password."""
    assert not found(text)


@pytest.mark.parametrize(
    "unit",
    [
        "login a ",
        "creds: a / ",
        "user:",
        "mysql ",
        "docker login ",
        "p\u0430ss ",
        "unlock with ",
        "echo a | sudo ",
        "password for a to ",
    ],
)
def test_it_is_read_in_time_that_grows_with_its_length(unit: str) -> None:
    """No pattern looks at the rest of a text again and again."""
    assert grows_with_its_length(lambda text: find_secrets(text), unit, 20_000)


@pytest.mark.parametrize(
    "text",
    [
        "暗証番号は4711です", "비밀번호는 4711입니다", "A jelszavam kutya123", "הסיסמה שלי היא kelev123", "the pin for the alarm is 0 4 7 1", "my PIN: four seven one one",
        "My passcode is one two three four", "my password is h u n t e r 2", "alarm code 4471", "The door code is 2580#", "The safe opens with 12-34-56",
    ],
)  # fmt: skip
def test_a_code_is_found_however_it_is_told(text: str) -> None:
    """Digits one by one or as words, letters one by one, before the verb of a language without blanks, or right behind its name."""
    assert found(text)


@pytest.mark.parametrize(
    "text",
    [
        "Postal PIN code of the office is 560001", "the postal code is 4711", "The compressor showed alarm code 4471", "The alarm code 4471 means low pressure", "The board uses pin: 1, 2, 3, 4",
        "The door code has four digits", "The door code is 4 digits long", "My passcode is one of four", "The password is a b testing idea", "パスワードは8文字です", "パスワードは2024年に変えた", "A jelszavam hosszú", "הסיסמה שלי היא ארוכה",
        "The safe opens with a key", "The shop opens with 12-34-56 on its sign", "error code 4471", "entry code paths 4471",
    ],
)  # fmt: skip
def test_what_only_looks_like_a_code_is_none(text: str) -> None:
    """Numbers of places, faults, pins of a board and lengths."""
    assert not found(text)
