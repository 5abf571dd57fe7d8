"""Who vouches for a skill's package: an OpenSSF model signature (``skill.oms.sig``), verified offline by public keys.

The signature is a Sigstore bundle with a DSSE envelope, whose payload names every file with its SHA-256. What is not
named in it, or differs, is not vouched for; git's own files are no part of a skill.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memkit.errors import EnvironmentFault, UsageError
from memkit.skills.package import Package

SIGNATURE = "skill.oms.sig"
_END = b"-----END PUBLIC KEY-----"


def read_keys(path: Path) -> list[bytes]:
    """Return the public keys of a file, each as PEM; raises ``UsageError`` where there is none."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"skills.keys: {path} cannot be read: {error.strerror or error}.") from error
    keys = [part + _END + b"\n" for part in content.split(_END)[:-1]]
    if not keys:
        raise UsageError(f"skills.keys: {path} has no public key. Put PEM blocks of 'PUBLIC KEY' there.")
    return keys


def why_not_signed(package: Package, keys: Sequence[bytes]) -> str:
    """Return why a package is not vouched for by one of the keys, as a sentence; nothing where it is."""
    files = {path: file.content for path, file in package.own.items()}
    found = files.pop(SIGNATURE, None)
    if found is None:
        return f"It has no {SIGNATURE}."
    try:
        bundle = json.loads(found)
        envelope = bundle.get("dsseEnvelope") or bundle["dsse_envelope"]
        payload = b64decode(envelope["payload"], validate=True)
        kind = str(envelope.get("payloadType") or envelope["payload_type"])
        signatures = [b64decode(one["sig"], validate=True) for one in envelope["signatures"]]
        statement = json.loads(payload)
        named = _named(statement)
    except (ValueError, KeyError, TypeError, AttributeError, Base64Error, RecursionError):
        return f"{SIGNATURE} is no OpenSSF model signature."
    if not any(_verifies(key, _encoded(kind, payload), one) for key in keys for one in signatures):
        return f"{SIGNATURE} was made by none of the keys in skills.keys."
    return _differs(named, {path: hashlib.sha256(content).hexdigest() for path, content in files.items()})


def _named(statement: dict[str, Any]) -> dict[str, str]:
    resources = statement["predicate"]["resources"]
    named = {str(one["name"]): str(one["digest"]) for one in resources}
    if any(one.get("algorithm", "sha256") != "sha256" for one in resources) or len(named) != len(resources):
        raise ValueError("an unknown digest, or a file that is named twice")
    together = hashlib.sha256(b"".join(bytes.fromhex(str(one["digest"])) for one in resources)).hexdigest()
    if statement["subject"][0]["digest"]["sha256"] != together:
        raise ValueError("the digest of all is another")
    return named


def _differs(named: dict[str, str], there: dict[str, str]) -> str:
    changed = sorted(path for path in named.keys() & there.keys() if named[path] != there[path])
    for paths, what in (
        (changed, "differs from"),
        (sorted(there.keys() - named.keys()), "is not in"),
        (sorted(named.keys() - there.keys()), "is missing, and in"),
    ):
        if paths:
            return f"{paths[0]} {what} what was signed" + (
                f", and so are {len(paths) - 1} others." if len(paths) > 1 else "."
            )
    return ""


def _encoded(kind: str, payload: bytes) -> bytes:
    """Return what a DSSE signature is made over."""
    return b"DSSEv1 %d %s %d %s" % (len(kind.encode()), kind.encode(), len(payload), payload)


def _verifies(key: bytes, message: bytes, signature: bytes) -> bool:
    try:
        from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec, ed25519
    except ImportError as error:
        message_text = "Signatures need the extra 'sealing': pip install 'memkit-agent[sealing]'."
        raise EnvironmentFault(message_text) from error
    try:
        public = serialization.load_pem_public_key(key)
        if isinstance(public, ec.EllipticCurvePublicKey):
            bits = public.curve.key_size
            digest = hashes.SHA256() if bits <= 256 else hashes.SHA384() if bits <= 384 else hashes.SHA512()
            public.verify(signature, message, ec.ECDSA(digest))
        elif isinstance(public, ed25519.Ed25519PublicKey):
            public.verify(signature, message)
        else:
            return False
    except (InvalidSignature, UnsupportedAlgorithm, ValueError):
        return False
    return True
