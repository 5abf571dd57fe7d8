"""The file in which keys travel: encrypted with a passphrase, one versioned JSON object.

The passphrase is stretched by scrypt (RFC 7914) with the cost that the file names, and what comes of it encrypts the
keys with AES-256-GCM; everything else in the file is authenticated with them.
"""

from __future__ import annotations

import json
import os
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any

from memkit.errors import MissingExtra, NegativeAnswer, UsageError
from memkit.privacy.sealer import MISSING, NONCE, has_cryptography
from memkit.runtime.memory.record.lines import encode_data

FORMAT = "memkit-keys"
VERSION = 1
COST = {"n": 2**17, "r": 8, "p": 1}
"""128 MB and a third of a second a guess, as OWASP's password storage cheat sheet asks for."""
MOST = {"n": 2**20, "r": 16, "p": 16}
"""What a file may ask for; a hostile one would take all memory."""
SALT = 16
LARGEST = 16 * 1024 * 1024
"""Bytes of a file that is read: keys of more than 100,000 users."""


def encrypted(key_id: str, keys: Mapping[str, bytes], passphrase: str) -> bytes:
    """Return the content of a file that holds ``keys``; raises ``MissingExtra`` without ``cryptography``."""
    salt, nonce = os.urandom(SALT), os.urandom(NONCE)
    head: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "key_id": key_id,
        "kdf": {"name": "scrypt", **COST, "salt": _text(salt)},
        "cipher": {"name": "AES-256-GCM", "nonce": _text(nonce)},
    }
    content = encode_data({name: key.hex() for name, key in keys.items()}).encode()
    sealed = _cipher(passphrase, salt, COST).encrypt(nonce, content, encode_data(head).encode())
    return (json.dumps(head | {"keys": _text(sealed)}, indent=2) + "\n").encode()


def decrypted(content: bytes, passphrase: str) -> tuple[str, dict[str, bytes]]:
    """Return whose keys a file holds, as the store's key_id, and the keys by name.

    Raises:
        UsageError: It is no such file, or one of a newer memkit.
        NegativeAnswer: The passphrase does not open it, or it was changed.
        MissingExtra: ``cryptography`` is not installed.
    """
    head = _parsed(content)
    try:
        sealed = b64decode(head.pop("keys"), validate=True)
        salt, nonce = (
            b64decode(head[part][name], validate=True) for part, name in (("kdf", "salt"), ("cipher", "nonce"))
        )
        cost = {name: int(head["kdf"][name]) for name in COST}
        key_id = str(head["key_id"])
    except (KeyError, TypeError, ValueError):
        raise UsageError("This is no export of keys: parts of it are missing or damaged.") from None
    if any(not 0 < cost[name] <= MOST[name] for name in MOST) or cost["n"] & (cost["n"] - 1) or len(nonce) != NONCE:
        raise UsageError("This is no export of keys: what it asks of scrypt or AES is out of bounds.")
    cipher = _cipher(passphrase, salt, cost)
    from cryptography.exceptions import InvalidTag

    try:
        keys = json.loads(cipher.decrypt(nonce, sealed, encode_data(head).encode()))
        return key_id, {name: bytes.fromhex(key) for name, key in keys.items()}
    except InvalidTag:
        raise NegativeAnswer(
            "The passphrase does not open the file, or the file was changed. Nothing was imported."
        ) from None


def _parsed(content: bytes) -> dict[str, Any]:
    try:
        head = json.loads(content)
    except (ValueError, RecursionError):
        head = None
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise UsageError("This is no export of keys. 'memkit key export FILE' writes one.")
    if head.get("version") != VERSION:
        raise UsageError(f"This export has version {head.get('version')!r:.20}, and this memkit reads {VERSION}.")
    return head


def _cipher(passphrase: str, salt: bytes, cost: Mapping[str, int]) -> Any:
    if not has_cryptography():
        raise MissingExtra(MISSING)
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

    stretched = Scrypt(salt=salt, length=32, **cost).derive(passphrase.encode("utf-8", "surrogatepass"))
    return AESGCM(stretched)


def _text(data: bytes) -> str:
    return b64encode(data).decode()
