"""Prints what archives hold, and what a verification found."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from assay.console import print_json
from assay.report.acceptance.verify import VerifiedArchive, verify
from assay.units import counted, listed

if TYPE_CHECKING:
    from rich.console import Console

_MOST = 20


def print_bundled(path: Path, digest: str, console: Console | None) -> None:
    """Print where the archive is, and the digest that identifies its content."""
    if console is not None:
        text = f"Archive: {path} (SHA-256 of its content: {digest})"
        console.print(text, markup=False, soft_wrap=True)


def present_verified(
    archive: Path, contract: Path | None, signers: Path | None, console: Console | None
) -> int:
    """Verify an archive and print the result, without a console as JSON; returns the exit status.

    Raises AssayError as ``verify`` does.
    """
    found = verify(archive, contract, signers)
    if console is None:
        print_json(found)
    else:
        for line in _lines(found):
            console.print(line, markup=False, soft_wrap=True)
    return 0 if found.verified else 1


def _lines(found: VerifiedArchive) -> list[str]:
    """The result in sentences: the verdict on the archive first."""
    count = len(found.differences)
    if found.verified:
        head = "Verified: the archive is intact, and its runs give the same numbers."
    else:
        head = f"Not verified: {counted(count, 'difference')}."
    lines = [f"{found.file}: {head}"]
    lines += [f"  {each.what}" for each in found.differences[:_MOST]]
    if count > _MOST:
        lines.append(f"  {count - _MOST} more (--json prints all of them).")
    lines.append(f"SHA-256 of the content: {found.digest}")
    if found.contract:
        outcome = f"; by the runs' records: {found.outcome}" if found.outcome else ""
        lines.append(f"Contract: {found.title} (SHA-256 {found.contract}){outcome}.")
    if found.judged:
        lines.append(f"Judged: {_named(found.judged)}.")
    if found.not_judged:
        lines.append(f"Not judged: {_named(found.not_judged)}.")
    lines.append(_signature(found))
    return [*lines, *(f"Note: {each}" for each in found.notes)]


def _named(names: list[str]) -> str:
    shown = names[:_MOST]
    return listed([*shown, f"{len(names) - _MOST} more"] if len(names) > _MOST else shown)


def _signature(found: VerifiedArchive) -> str:
    check = found.signature
    return {
        "valid": f"Signature: valid, by {check.signer} with the key {check.key}.",
        "unknown": f"Signature: by the unknown key {check.key}.",
        "unlisted": f"Signature: fits the key {check.key}. --allowed-signers says whose it is.",
        "invalid": "Signature: doesn't belong to this archive.",
        "unsigned": "Signature: none. An archive without one can be changed as a whole.",
        "unchecked": f"Signature: not checked, with the key {check.key}.",
    }[check.state]
