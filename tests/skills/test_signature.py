# ruff: noqa: E501 (one case a row reads better than wrapped rows)
"""A skill is vouched for by a signature over every file of it, verified by key and without a network."""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from pathlib import Path

import pytest

from memkit.cli.main import run
from memkit.skills.package import SIGNATURE, open_package, read_keys, why_not_signed

pytest.importorskip("cryptography")

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

KIND = "application/vnd.in-toto+json"
SKILL = "---\nname: tidy\ndescription: Tidies a document when asked to.\n---\n\n# Tidy\n\n1. Read it.\n"


def sign(folder: Path, key: ec.EllipticCurvePrivateKey) -> None:
    """Write a signature as the OpenSSF tool does."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != SIGNATURE)
    resources = [
        {"name": path.relative_to(folder).as_posix(), "algorithm": "sha256", "digest": hashlib.sha256(path.read_bytes()).hexdigest()}
        for path in paths
    ]  # fmt: skip
    together = hashlib.sha256(b"".join(bytes.fromhex(one["digest"]) for one in resources)).hexdigest()
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": folder.name, "digest": {"sha256": together}}],
        "predicateType": "https://model_signing/signature/v1.0",
        "predicate": {"resources": resources},
    }
    payload = json.dumps(statement).encode()
    message = b"DSSEv1 %d %s %d %s" % (len(KIND), KIND.encode(), len(payload), payload)
    made = key.sign(message, ec.ECDSA(hashes.SHA256()))
    envelope = {
        "payload": b64encode(payload).decode(),
        "payloadType": KIND,
        "signatures": [{"sig": b64encode(made).decode()}],
    }
    (folder / SIGNATURE).write_text(
        json.dumps({"mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json", "dsseEnvelope": envelope})
    )


@pytest.fixture
def key() -> ec.EllipticCurvePrivateKey:
    """Make a key."""
    return ec.generate_private_key(ec.SECP256R1())


@pytest.fixture
def signed(tmp_path: Path, key: ec.EllipticCurvePrivateKey) -> Path:
    """Write a signed skill."""
    folder = tmp_path / "tidy"
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL)
    (folder / "scripts/a.py").write_text("print(1)\n")
    sign(folder, key)
    return folder


def public(path: Path, *keys: ec.EllipticCurvePrivateKey) -> Path:
    """Write public keys into a file."""
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    path.write_bytes(b"".join(key.public_key().public_bytes(serialization.Encoding.PEM, form) for key in keys))
    return path


def test_a_signature_by_a_known_key_is_enough(tmp_path: Path, signed: Path, key: ec.EllipticCurvePrivateKey) -> None:
    """It may be any of several keys."""
    keys = read_keys(public(tmp_path / "keys.pem", ec.generate_private_key(ec.SECP256R1()), key))

    assert why_not_signed(open_package(signed), keys) == ""


@pytest.mark.parametrize(
    ("change", "told"),
    [("edit", "differs"), ("add", "is not in"), ("remove", "is missing"), ("unsigned", "has no skill.oms.sig"), ("other", "not made by any key"),
     ("garbage", "is not an OpenSSF"), ("payload", "not made by any key")],
)  # fmt: skip
def test_any_change_is_named(
    tmp_path: Path, signed: Path, key: ec.EllipticCurvePrivateKey, change: str, told: str
) -> None:
    """A file that was changed, added or removed, another key, another payload, and no signature at all."""
    signature = signed / SIGNATURE
    if change == "edit":
        (signed / "scripts/a.py").write_text("print(2)\n")
    elif change == "add":
        (signed / "b.txt").write_text("x")
    elif change == "remove":
        (signed / "scripts/a.py").unlink()
    elif change == "unsigned":
        signature.unlink()
    elif change == "garbage":
        signature.write_text('{"dsseEnvelope": [1]}')
    elif change == "payload":
        bundle = json.loads(signature.read_text())
        bundle["dsseEnvelope"]["payloadType"] = "text/plain"
        signature.write_text(json.dumps(bundle))
    keys = read_keys(
        public(tmp_path / "keys.pem", ec.generate_private_key(ec.SECP256R1()) if change == "other" else key)
    )

    assert told in why_not_signed(open_package(signed), keys)


def test_a_store_can_ask_for_a_signature(
    tmp_path: Path, signed: Path, key: ec.EllipticCurvePrivateKey, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without one by its keys nothing is imported (exit 1); with one the skill is."""
    store = tmp_path / "store"
    assert run(["init", str(store)]) == 0
    ask = ["--store", str(store), "skill", "import", str(signed)]
    for setting in ("skills.keys", "keys.pem"), ("skills.signatures", "required"):
        assert run(["--store", str(store), "config", "set", *setting]) == 0
    public(store / "keys.pem", ec.generate_private_key(ec.SECP256R1()))

    assert run(ask) == 1
    assert "not made by any key" in capsys.readouterr().err
    public(store / "keys.pem", key)
    assert run(ask) == 0
    (store / "keys.pem").write_text("no key")
    assert run(ask) == 2


def test_a_scan_asks_for_it_too(tmp_path: Path, signed: Path, key: ec.EllipticCurvePrivateKey) -> None:
    """With ``--keys`` an unsigned skill is flagged."""
    keys = str(public(tmp_path / "keys.pem", key))

    assert run(["skill", "scan", str(signed), "--keys", keys]) == 0
    (signed / SIGNATURE).unlink()
    assert run(["skill", "scan", str(signed), "--keys", keys]) == 1
