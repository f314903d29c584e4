"""Code factors of a run: assay's kernels against the site's executables measured beside them.

A comparison of machines that ran different codes is valid only after dividing by the factor between
the codes (``stats.compare.code_factor``). ``factors_of`` returns the factors that a run measured.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from assay.kernels import known_kernel
from assay.kernels.naming import cell_name
from assay.kernels.npb.common import is_plain
from assay.kernels.outside import is_beside
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.records.model import RunData
from assay.stats.compare.code_factor import CodeFactor, code_factor
from assay.stats.core.launches import launch_interval
from assay.stats.repeats.repeats import Repeats, repeats_of
from assay.units import Interval

# Names of codes with versions and further words. Names that match the same expression are versions
# of one code.
_PROGRAMS = tuple(
    re.compile(name)
    for name in (
        r"(?:NASA's )?NPB ?[\d.]*",
        r"HPL(?:[ ,].*)?",
        r"HPCG(?:[ ,].*)?",
        r"STREAM(?:[ ,].*)?",
    )
)


@dataclass(frozen=True)
class CodeRate:
    """A code's result in one cell."""

    #: The measured cell.
    cell: Cell
    #: Median over launches, in the unit of the factor's results.
    median: float
    #: 95% interval.
    ci95: Interval | None


@dataclass(frozen=True)
class CellFactor:
    """The speed of assay's kernel over the speed of the site's executable, in one cell."""

    #: Name of assay's kernel.
    kernel: str
    #: Name of the kernel's cell without the placement, which both codes share.
    title: str
    #: Placement, the same for both codes.
    placement: Placement
    #: Toolchain of the kernel.
    toolchain: str
    #: The executable's file name.
    program: str
    #: ``tool``, ``version``: name and version that the executable prints; ``version`` is None if it
    #: prints none.
    tool: str
    version: str | None
    #: SHA-256 digest of the executable.
    sha256: str
    #: The unit of both results.
    unit: str
    #: "more" or "less": which result is better.
    better: str
    #: ``own``, ``site``: results of the kernel and of the executable, in ``unit``.
    own: CodeRate
    site: CodeRate
    #: Speed of the kernel over the speed of the executable.
    factor: CodeFactor

    @property
    def code(self) -> str:
        """``NASA's NPB 3.4.1``."""
        return " ".join(filter(None, (self.tool, self.version)))


def factors_of(run: RunData, without: Collection[str] = ()) -> list[CellFactor]:
    """The code factors of a run, in the plan's order; empty if nothing was measured beside it.

    ``without``: ids of cells that must not be used. Failed launches and launches with wrong results
    are left out. A kernel's cell that was measured with several toolchains has a factor for each
    toolchain.
    """
    if not any(is_beside(cell.kernel) for cell in run.manifest.plan.cells):
        return []
    found = [each for each in repeats_of(run) if each.cell.id not in without]
    sites = [each for each in found if is_beside(each.cell.kernel)]
    facts = _facts(run)
    factors = [
        _factor(own, site, facts.get(site.cell.id, ("", None)))
        for own in found
        for site in sites
        if _corresponds(own.cell, site.cell)
    ]
    return [factor for factor in factors if factor is not None]


def factor_of(factors: Sequence[CellFactor], cell: Cell, code: str) -> CellFactor | None:
    """The factor of the code of ``cell`` over ``code``; None if none was measured.

    The factor measured in ``cell`` itself is preferred, then one with the same parameters, then one
    of the same kernel. Among equals the factor on the most cores is chosen, then the one with the
    most launches. Toolchain and code (tuned or plain) are always the same as in ``cell``.
    """
    parameters = cell.parameters
    fitting = [
        each
        for each in factors
        if each.kernel == cell.kernel
        and each.toolchain == cell.toolchain
        and is_plain(each.own.cell.parameters) == is_plain(parameters)
        and same_program(each.code, code)
    ]
    return max(
        fitting,
        key=lambda each: (
            each.own.cell.id == cell.id,
            each.own.cell.parameters == parameters,
            each.placement.ranks * each.placement.threads,
            min(each.factor.launches),
        ),
        default=None,
    )


def same_program(one: str, other: str) -> bool:
    """Whether two codes are the same program, possibly in different versions.

    The names of NASA's NPB, HPL, HPCG and STREAM are recognised as importers and papers write them.
    Ports, vendors' versions and unnamed codes count as different programs.
    """
    return any(name.fullmatch(one) and name.fullmatch(other) for name in _PROGRAMS)


def _corresponds(own: Cell, site: Cell) -> bool:
    """Whether the executable's cell was measured beside the kernel's cell."""
    if own.kernel != site.parameters.get("of") or own.placement != site.placement:
        return False
    wanted = dict(word.split("=", 1) for word in str(site.parameters["at"]).split())
    kernel = known_kernel(own.kernel)
    parameters = kernel.parameters if kernel else ()
    # Such a parameter changes the operation; an omitted one that is tacit chooses between codes.
    changing = {p.name: p.default for p in parameters if p.omitted and not p.tacit}
    if any(
        own.parameters.get(name, usual) != usual
        for name, usual in changing.items()
        if name not in wanted
    ):
        return False
    given = {p.name: p.default for p in parameters} | own.parameters
    return all(str(given.get(name)) == value for name, value in wanted.items())


def _factor(own: Repeats, site: Repeats, facts: tuple[str, str | None]) -> CellFactor | None:
    values = own.values
    if site.unit == "B/s" and own.unit == "op/s":  # a message rate beside a bandwidth
        values = values * float(own.cell.parameters["bytes"])
    elif (own.unit, own.better) != (site.unit, site.better):
        return None
    factor = code_factor(values, site.values, site.better)
    if factor is None:
        return None
    return CellFactor(
        kernel=own.cell.kernel,
        title=cell_name(own.cell),
        placement=own.cell.placement,
        toolchain=own.cell.toolchain,
        program=str(site.cell.parameters["program"]).rpartition("/")[2],
        tool=facts[0] or _untold(site.cell),
        version=facts[1],
        sha256=str(site.cell.parameters["sha256"]),
        unit=site.unit,
        better=site.better,
        own=CodeRate(own.cell, float(np.median(values)), launch_interval(values)),
        site=CodeRate(site.cell, float(np.median(site.values)), launch_interval(site.values)),
        factor=factor,
    )


def _untold(site: Cell) -> str:
    """A name for an executable that doesn't print one: ``the site's NPB``."""
    kernel = known_kernel(site.kernel)
    title = kernel.title if kernel is not None else site.kernel
    return title[:1].lower() + title[1:]


def printed_codes(run: RunData) -> dict[str, str]:
    """The names and versions that the executables of a run print, by cell: ``NASA's NPB 3.4``."""
    facts = _facts(run)
    return {cell: " ".join(filter(None, words)) for cell, words in facts.items() if words[0]}


def _facts(run: RunData) -> dict[str, tuple[str, str | None]]:
    """Tool and version that the executables printed, by cell."""
    found: dict[str, tuple[str, str | None]] = {}
    for measurement in run.measurements:
        if is_beside(measurement.cell.kernel) and measurement.record.status == "ok":
            facts = measurement.record.facts
            version = facts.get("version")
            found[measurement.cell.id] = (
                str(facts.get("tool", "")),
                None if version is None else str(version),
            )
    return found
