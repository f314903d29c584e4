"""The attempts at a contract in reports: which runs were judged, and which were not."""

from __future__ import annotations

from assay.acceptance.attempts import Attempt, AttemptedCell
from assay.questions.common.tables import NOTHING, Entry, Table, TableBuilder, count, quantity
from assay.subjects.acceptance.model import AcceptanceFindings
from assay.units import counted, format_minute, listed

_MOST_NAMED = 8
_MOST_ROWS = 20


def attempt_caveats(found: AcceptanceFindings) -> list[str]:
    """Attempts that weren't judged, and what is missing in the stores."""
    left = [each for each in found.attempts if not each.judged]
    caveats = []
    if left:
        named = [f"{each.name} ({each.state})" for each in left[:_MOST_NAMED]]
        named += [f"{len(left) - _MOST_NAMED} more"] if len(left) > _MOST_NAMED else []
        caveats.append(
            f"{counted(len(left), 'run')} of this machine measured cells of the contract and "
            f"{'was' if len(left) == 1 else 'were'} not judged: {listed(named)}. A choice of runs "
            "holds no risk."
        )
    gaps = found.gaps[:_MOST_NAMED]
    if len(found.gaps) > _MOST_NAMED:
        gaps.append(f"{len(found.gaps) - _MOST_NAMED} more gaps are in the findings.")
    return [*caveats, *gaps]


def attempt_tables(found: AcceptanceFindings) -> list[Table]:
    """Attempts with the medians of their cells; none if all of them were judged."""
    if all(each.judged for each in found.attempts):
        return []
    rows: list[tuple[Attempt, AttemptedCell | None]] = []
    for each in found.attempts:
        rows += [(each, cell) for cell in each.cells] or [(each, None)]
    names = {each.number: each.name for each in found.commitments}

    def commitment(row: tuple[Attempt, AttemptedCell | None]) -> str:
        return "" if row[1] is None else names.get(row[1].number, str(row[1].number))

    return [
        TableBuilder(rows)
        .text("run", "Run", lambda row: row[0].name)
        .column("begun", "Begun (UTC)", lambda row: _time(row[0]))
        .text("state", "State", lambda row: row[0].state)
        .text("judged", "Judged", lambda row: "yes" if row[0].judged else "no")
        .text("commitment", "Commitment", commitment)
        .text("cell", "Cell", lambda row: "" if row[1] is None else row[1].cell)
        .numbers("launches", "Launches", lambda row: count(row[1].launches) if row[1] else NOTHING)
        .numbers("median", "Median", lambda row: _median(row[1]))
        .text("problem", "Why not", lambda row: row[1].problem if row[1] else row[0].problem)
        .table(
            "acceptance-attempts",
            "Attempts",
            caption="All runs of this machine in the same folder that measured a cell of the "
            "contract, judged or not. Runs that were deleted are named only if a later run "
            "recorded them.",
            folded=len(rows) > _MOST_ROWS,
        )
    ]


def _time(each: Attempt) -> Entry:
    return NOTHING if each.utc is None else Entry(format_minute(each.utc), each.utc)


def _median(cell: AttemptedCell | None) -> Entry:
    if cell is None or cell.median is None:
        return NOTHING
    return quantity(cell.median, cell.unit)
