"""Checks what the command line asks of an acceptance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from assay.acceptance.contract import Contract
from assay.errors import AssayError
from assay.report.destination import Destination

_COMMAND = "assay accept"


def checked_contract(path: Path | None) -> Path:
    """The contract's file. Raises AssayError if none was named."""
    if path is None:
        raise AssayError(
            "The contract is missing.",
            where=_COMMAND,
            fix="Name its file; 'assay accept --example > contract.toml' writes an example.",
        )
    return path


def checked_runs(
    runs: Sequence[str] | None, contract: Contract, *, plan: bool, target: Destination | None
) -> Sequence[str]:
    """The runs to read. Raises AssayError if a verdict needs runs and has none, or if a plan is to
    be a file."""
    if plan:
        if target is not None:
            raise AssayError(
                "A plan is printed, not written to a file.",
                where="--plan",
                fix="Remove the option for the report, or use --json.",
            )
        return runs or ()
    if not runs and (contract.commitments or contract.variations):
        raise AssayError(
            "There are no runs to judge.",
            where=_COMMAND,
            fix="Name them with --run, or ask for --plan.",
        )
    return runs or ()


def check_archive(
    runs: Sequence[str] | None,
    *,
    plan: bool,
    bundle: Path | None,
    key: Path | None,
    verify: Path | None,
    signers: Path | None,
    target: Destination | None,
    others: Mapping[str, bool],
) -> None:
    """Raise AssayError for options about archives that contradict each other. ``others``: further
    options, and whether they were given."""
    if verify is None:
        if signers is not None:
            raise AssayError(
                "There is no signature to check.",
                where=f"--allowed-signers {signers}",
                fix="Name the archive with --verify.",
            )
        if key is not None and bundle is None:
            raise AssayError(
                "There is nothing to sign.",
                where=f"--sign {key}",
                fix="Add --bundle acceptance.tar.gz: the archive is signed.",
            )
        if bundle is not None and plan:
            raise AssayError(
                "A plan has no verdict to archive.",
                where=f"--bundle {bundle}",
                fix="Leave out --plan, and name the runs with --run.",
            )
        return
    excluded = {
        "--run": bool(runs),
        "--plan": plan,
        "--bundle": bundle is not None,
        "--sign": key is not None,
        "--output, --html and --format": target is not None,
        **others,
    }
    for option, given in excluded.items():
        if given:
            raise AssayError(
                f"An archive is verified by itself, without {option}.",
                where=f"--verify {verify}",
                fix="Leave out one of the two; --json prints the result for programs.",
            )
