"""Tables of code factors, and of published results with the codes divided out."""

from __future__ import annotations

from assay.kernels.naming import placement_text
from assay.questions.common.code_factors import CellFactor
from assay.questions.common.tables import Entry, Table, TableBuilder, quantity
from assay.questions.speed.codes.findings import CodesFindings, PublishedComparison


def tables(found: CodesFindings) -> list[Table]:
    """assay's code beside the site's, and the published results with a known code factor."""
    divided = [each for each in found.published if each.machine is not None]
    return [
        *([_factors(found)] if found.factors else []),
        *([_published(divided)] if divided else []),
    ]


def _factors(found: CodesFindings) -> Table:
    several = len({each.toolchain for each in found.factors}) > 1

    def placement(each: CellFactor) -> str:
        text = placement_text(each.placement)
        return f"{text} · {each.toolchain}" if several else text

    return (
        TableBuilder(found.factors)
        .text("benchmark", "Benchmark", lambda each: each.title)
        .text("placement", "Placement", placement)
        .numbers(
            "own", "assay's code", lambda each: quantity(each.own.median, each.unit, each.own.ci95)
        )
        .numbers(
            "site", "Yours", lambda each: quantity(each.site.median, each.unit, each.site.ci95)
        )
        .numbers(
            "factor",
            "Speed of assay's / yours",
            lambda each: quantity(each.factor.value, "", each.factor.interval),
        )
        .text("program", "Executable", lambda each: each.program)
        .text("code", "Code", lambda each: each.code, tone="quiet")
        .text("launches", "Launches", lambda each: " and ".join(map(str, each.factor.launches)))
        .table(
            "codes-beside",
            "assay's code beside yours",
            notes=[
                "Both ran on the same ranks in the same randomised blocks. To compare a rate of "
                "assay's code with published rates of the other code, divide it by the factor "
                "(docs/beside.md)."
            ],
        )
    )


def _published(found: list[PublishedComparison]) -> Table:
    def factor(each: PublishedComparison) -> Entry:
        known = each.factor
        return quantity(known.factor.value, "", known.factor.interval) if known else Entry("")

    return (
        TableBuilder(found)
        .text("what", "Published", lambda each: f"{each.what}, {each.system}")
        .text("processes", "Processes", lambda each: str(each.processes or ""))
        .numbers("cores", "Cores here", lambda each: Entry(str(each.cores), each.cores))
        .numbers(
            "ratio", "Rate here / published", lambda each: quantity(each.ratio, "", each.ratio_ci95)
        )
        .numbers("factor", "Code factor", factor)
        .numbers(
            "machine",
            "Codes divided out",
            lambda each: quantity(each.machine, "", each.machine_ci95),
        )
        .text("figure", "Figure", lambda each: each.figure, tone="quiet")
        .table(
            "codes-published",
            "Published results, with the codes divided out",
            notes=[
                "The factor comes from the executable measured here. The published code was "
                "another version, built with another compiler, and may be faster or slower than "
                "yours. "
                "`assay references FIGURE` shows what is printed."
            ],
        )
    )
