"""The table of all cells names a user's program, and has its whole command once."""

from __future__ import annotations

from msgspec.structs import replace

from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.report.cell_table import cell_table
from report_builder import make_summary

BARRIER = make_summary(Cell("network.barrier", {}, Placement(ppn=2), "site"), 1.0)
LONG = "mpirun -n {ranks} /home/someone/solver/bin/solver.x --input case.toml"


def table(*commands: str):
    cells = [
        Cell("app", {"command": command}, Placement(ppn=ppn), "site")
        for command in commands
        for ppn in (1, 2)
    ]
    return cell_table([replace(BARRIER, cell=cell, kernel="app", id=cell.id) for cell in cells])


def test_a_command_stands_once_and_its_program_in_each_row():
    found = table(LONG)
    assert [row[1].text for row in found.rows] == ["solver.x --input case.toml"] * 2
    assert found.caption.count(LONG) == 1
    assert f"`solver.x --input case.toml` is the command `{LONG}`." in found.caption
    assert found.caption.startswith("2 cells: one row per kernel, parameters and placement")


def test_commands_of_one_name_stand_in_each_row():
    other = LONG.replace("/home/someone", "/opt")
    found = table(LONG, other)
    assert [row[1].text for row in found.rows] == [
        f"command={c}" for c in (LONG, LONG, other, other)
    ]
    assert LONG not in found.caption


def test_a_short_command_needs_no_sentence():
    found = table("solver.x")
    assert found.rows[0][1].text == "command=solver.x"
    assert "is the command" not in found.caption
