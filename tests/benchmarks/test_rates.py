"""The runner that checks stated rates, and the rates of comparisons with few trials."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks" / "rates"


@pytest.fixture
def frame(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """benchmarks/rates/__main__.py; its imports are removed afterwards."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(FOLDER))
    spec = importlib.util.spec_from_file_location("rates_frame", FOLDER / "__main__.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) and FOLDER.as_posix() in str(
            sys.modules[name].__file__
        ):
            del sys.modules[name]


@pytest.mark.parametrize(
    ("kind", "found", "stated", "verdict"),
    [
        ("detection", 95, 0.95, "met"),
        ("detection", 92, 0.95, "within chance"),
        ("detection", 75, 0.95, "missed"),
        ("coverage", 100, 0.95, "met"),
        ("false alarm", 5, 0.05, "met"),
        ("false alarm", 12, 0.05, "within chance"),
        ("false alarm", 20, 0.05, "missed"),
        ("false alarm", 0, 0.001, "met"),
    ],
)
def test_a_rate_is_on_the_right_side_or_not(
    frame: ModuleType, kind: str, found: int, stated: float, verdict: str
) -> None:
    rate = frame.Rate("it happens", "planted", found, 100, stated, kind)
    assert rate.verdict == verdict
    low, high = rate.interval
    assert low <= found / 100 <= high
    line = "| " + " | ".join(frame.cells(rate)) + " |"
    assert ("**missed**" in line) == (verdict == "missed")
    assert ("≤" in line) == (kind == "false alarm")


def test_each_module_has_rates(frame: ModuleType) -> None:
    """Each can be imported: they use helpers of the tests, which are renamed at times."""
    assert len(frame.modules()) >= 13
    for name in frame.modules():
        assert callable(importlib.import_module(name).rates), name


def test_small_rates_keep_their_digits(frame: ModuleType) -> None:
    from rate import percent

    assert [percent(p) for p in (0.0, 0.0004, 0.05, 0.9994, 1.0)] == [
        "0.0%",
        "0.04%",
        "5.0%",
        "99.94%",
        "100.0%",
    ]


def test_results_are_written_and_a_missed_rate_is_reported(
    frame: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "planted_rates.py").write_text(
        '"""Planted rates.\n\nMore."""\n'
        "from rate import Rate\n"
        "def rates(trials, seed):\n"
        "    yield Rate('this holds', f'seed {seed}', trials, trials, 0.9, 'detection')\n"
        "    yield Rate('this fails', 'nothing', 0, trials, 0.9, 'detection')\n"
    )
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{frame.BEGIN}\nwhat was there\n{frame.END}\nafter\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name, value in {
        "HERE": tmp_path,
        "README": readme,
        "RESULTS": tmp_path / "results.json",
    }.items():
        monkeypatch.setattr(frame, name, value)
    monkeypatch.setattr(sys, "argv", ["rates", "--trials", "200", "--seed", "7"])
    assert frame.main() == 1
    text = readme.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "what was there" not in text
    assert "## Planted rates" in text
    assert "| this fails | nothing | detection | ≥ 90.0% | 0.0% [0.0%, 1.8%] | 200 |" in text
    found = json.loads((tmp_path / "results.json").read_text())
    assert [row["found"] for row in found["planted_rates"]["rates"]] == [200, 0]
    readme.write_text("untouched")
    monkeypatch.setattr(sys, "argv", ["rates", "--quick"])
    assert frame.main() == 1
    assert readme.read_text() == "untouched"
    sys.modules.pop("planted_rates", None)


def test_every_module_of_rates_can_be_imported(frame: ModuleType) -> None:
    # They use helpers of the tests, whose names change.
    names = frame.modules()
    assert "placement" in names
    for name in names:
        assert callable(importlib.import_module(name).rates)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("trials", [12, 40])
def test_the_stated_rates_of_comparisons_are_approximately_met(
    frame: ModuleType, trials: int
) -> None:
    import comparisons

    seen = 0
    for rate in comparisons.rates(trials, 2003):
        seen += 1
        # Few trials may miss by chance; a rate that is far off is detected nevertheless.
        low, high = rate.interval
        far = low > 2 * rate.stated if rate.kind == "false alarm" else high < rate.stated - 0.05
        assert not far, rate
    assert seen > 80
