"""Signatures of archives by OpenSSH (ssh-keygen -Y, PROTOCOL.sshsig).

The signed text is the list of files, in the namespace ``assay-acceptance``, so that a signature for
another purpose doesn't fit.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from assay.errors import AssayError

NAMESPACE = "assay-acceptance"
_PROGRAM = "ssh-keygen"
_BEGIN, _END = "-----BEGIN SSH SIGNATURE-----\n", "-----END SSH SIGNATURE-----\n"
_MAGIC, _WIDTH = b"SSHSIG", 70
_VERSION_BYTES = 4

#: ``valid``: of an allowed signer. ``unknown``: right, but the key isn't that of an allowed signer.
#: ``unlisted``: right, and no list of allowed signers was given. ``invalid``: not of this archive.
#: ``unsigned``: there is none. ``unchecked``: there is one, but no ssh-keygen.
SignatureState = Literal["valid", "unknown", "unlisted", "invalid", "unsigned", "unchecked"]


@dataclass(frozen=True)
class SignatureCheck:
    """What is known about the signature of an archive."""

    state: SignatureState
    #: The allowed signer whose key it is; otherwise empty.
    signer: str = ""
    #: Fingerprint of the key, as ``ssh-keygen -l`` prints it; empty without a key.
    key: str = ""


def sign(content: bytes, key: Path) -> bytes:
    """The signature of bytes by a key. Raises AssayError without ssh-keygen, and if it fails."""
    program = _program()
    if program is None:
        raise AssayError(
            "There is no ssh-keygen to sign with.",
            where=f"--sign {key}",
            fix="Install OpenSSH 8.1 or newer, or leave out --sign.",
        )
    done = _run([program, "-Y", "sign", "-f", str(key), "-n", NAMESPACE], content)
    if done.returncode != 0 or not done.stdout.startswith(_BEGIN.encode()):
        why = _reason(done.stderr)
        raise AssayError(
            f"ssh-keygen can't sign: {why}.",
            where=f"--sign {key}",
            fix="Name a private key, or the public key of a key that your agent holds.",
        )
    return done.stdout


def check_signers(path: Path | None) -> None:
    """Raise AssayError if the file of allowed signers can't be read."""
    if path is None:
        return
    try:
        path.read_bytes()
    except OSError as error:
        raise AssayError(
            f"The file can't be read: {error.strerror}.", where=f"--allowed-signers {path}"
        ) from None


def check_signature(
    content: bytes, signature: bytes | None, signers: Path | None
) -> SignatureCheck:
    """Whether a signature fits, and whose it is.

    ``signers``: a file of allowed signers (ssh-keygen(1)), or None.
    """
    if signature is None:
        return SignatureCheck("unsigned")
    key = _fingerprint(signature)
    if not key:
        return SignatureCheck("invalid")
    program = _program()
    if program is None:
        return SignatureCheck("unchecked", key=key)
    with tempfile.TemporaryDirectory(prefix="assay-signature-") as folder:
        file = Path(folder) / "signature"
        file.write_bytes(signature)

        def run(*words: str) -> subprocess.CompletedProcess[bytes]:
            return _run([program, "-Y", *words, "-s", str(file)], content)

        if run("check-novalidate", "-n", NAMESPACE).returncode != 0:
            return SignatureCheck("invalid", key=key)
        if signers is None:
            return SignatureCheck("unlisted", key=key)
        named = run("find-principals", "-f", str(signers)).stdout.decode("utf-8", "replace")
        for signer in named.split("\n"):
            if not signer:
                continue
            verified = run("verify", "-f", str(signers), "-I", signer, "-n", NAMESPACE)
            if verified.returncode == 0:
                return SignatureCheck("valid", signer=signer, key=key)
    return SignatureCheck("unknown", key=key)


def _program() -> str | None:
    return shutil.which(_PROGRAM)


def _run(command: Sequence[str], content: bytes) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command, input=content, capture_output=True, check=False)


def _reason(stderr: bytes) -> str:
    """The last line that isn't about what is being signed."""
    lines = stderr.decode("utf-8", "replace").strip().splitlines()
    told = [line.strip() for line in lines if not line.startswith("Signing ")]
    return told[-1].rstrip(".") if told else "it gives no reason"


def _fingerprint(signature: bytes) -> str:
    """The fingerprint of a signature's key; empty if it isn't exactly as ssh-keygen writes it.

    The armour has exactly one valid form, so that no byte of it can change unnoticed.
    """
    try:
        text = signature.decode("ascii")
        if not (text.startswith(_BEGIN) and text.endswith(_END)):
            return ""
        body = text.removeprefix(_BEGIN).removesuffix(_END)
        raw = base64.b64decode(body.replace("\n", ""), validate=True)
    except (ValueError, binascii.Error):
        return ""
    again = base64.b64encode(raw).decode()
    lines = [again[at : at + _WIDTH] + "\n" for at in range(0, len(again), _WIDTH)]
    if "".join(lines) != body or not raw.startswith(_MAGIC):
        return ""
    at = len(_MAGIC) + _VERSION_BYTES
    length = int.from_bytes(raw[at : at + 4], "big")
    key = raw[at + 4 : at + 4 + length]
    if not length or len(key) != length:
        return ""
    digest = base64.b64encode(hashlib.sha256(key).digest()).decode().rstrip("=")
    return f"SHA256:{digest}"
