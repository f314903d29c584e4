"""Results of other programs for the same numbers: tests/data/statistics, and their source."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "data" / "statistics"
PYTHON: dict[str, Any] = json.loads((FOLDER / "python.json").read_text())
R: dict[str, Any] = json.loads((FOLDER / "r.json").read_text())
INPUTS: dict[str, list[float]] = PYTHON["inputs"]
DESIGN: dict[str, list[Any]] = PYTHON["design"]


def recorded(call: str) -> Any:
    """The result of the only call that begins with this text."""
    (found,) = [
        each["result"]
        for each in [*PYTHON["results"], *R["results"]]
        if each["call"].startswith(call)
    ]
    return found
