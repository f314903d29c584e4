"""Judges stored runs by a contract, with the other attempts in their stores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.acceptance.attempts import RunInStore, attempts_of, gaps_of, stored_beside
from assay.acceptance.contract import Contract
from assay.acceptance.measured import ContractRun, measured_in, named_runs
from assay.records.directory import RunDirectory
from assay.report.acceptance.bundle import BundleRequest, bundle_request, write_bundle
from assay.report.acceptance.outages import read_outages
from assay.subjects.acceptance.findings import find
from assay.subjects.acceptance.model import AcceptanceFindings


@dataclass(frozen=True)
class JudgedContract:
    """Findings with what they rest on."""

    contract: Contract
    runs: list[RunDirectory]
    measured: list[ContractRun]
    stored: list[RunInStore]
    #: The logs of outages.
    outages: Sequence[Path]
    found: AcceptanceFindings
    #: The archive to write; None without ``--bundle``.
    request: BundleRequest | None

    def bundle(self) -> str:
        """Write the requested archive, and return the digest of its content. Raises AssayError."""
        assert self.request is not None
        return write_bundle(
            self.request,
            self.contract,
            judged=self.runs,
            measured=self.measured,
            stored=self.stored,
            outages=self.outages,
            found=self.found,
        )


def judge(
    contract: Contract,
    root: Path,
    names: Sequence[str],
    outages: Sequence[Path] = (),
    *,
    bundle: Path | None = None,
    key: Path | None = None,
) -> JudgedContract:
    """Judge the runs of these names in the folder ``root``, and logs of outages.

    ``bundle``, ``key``: the archive to write, and the key that signs it. Raises AssayError.
    """
    # Without links, so that a run has the name that its store lists.
    runs = [RunDirectory(run.path.resolve()) for run in named_runs(root, names)]
    # Before the runs are read: a file that changes from now on is noticed.
    request = bundle_request(bundle, key, runs)
    measured = [each for run in runs for each in measured_in(run)]
    stored = stored_beside(runs)
    found = find(
        contract,
        measured,
        read_outages(outages, contract),
        attempts_of(contract, measured, stored),
        gaps_of((each.store, each.link) for each in stored),
    )
    return JudgedContract(
        contract=contract,
        runs=runs,
        measured=measured,
        stored=stored,
        outages=outages,
        found=found,
        request=request,
    )
