"""The replication rule as the command line changes it."""

from __future__ import annotations

import pytest

from assay.errors import AssayError
from assay.model.replication import Replication
from assay.plans.overrides import amended


def test_given_options_change_and_the_rest_stays() -> None:
    rule = amended(
        Replication(precision=0.02),
        {"budget": "2 min", "launches": "3..8", "samples": "40000", "precision": None},
    )
    assert (rule.budget, rule.min_launches, rule.max_launches) == (120.0, 3, 8)
    assert (rule.max_samples, rule.precision) == (40000, 0.02)
    assert amended(rule, {"launches": "4"}).min_launches == 4
    assert amended(rule, {"launches": "4"}).max_launches == 4


@pytest.mark.parametrize(
    ("text", "fewest", "most"), [("40000", 5, 40000), ("3", 3, 3), ("1..7", 1, 7), ("9..9", 9, 9)]
)
def test_samples_set_the_maximum_or_both(text: str, fewest: int, most: int) -> None:
    rule = amended(Replication(), {"samples": text})
    assert (rule.min_samples, rule.max_samples) == (fewest, most)


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"launches": "many"}, "--launches"),
        ({"launches": "9..3"}, "--launches"),
        ({"samples": "x"}, "--samples"),
        ({"samples": "9..3"}, "--samples"),
        ({"samples": "0"}, "--samples"),
        ({"precision": "200%"}, "--precision"),
        ({"budget": "5 parsecs"}, "--budget"),
    ],
)
def test_nonsense_names_the_option(changes: dict[str, str], where: str) -> None:
    with pytest.raises(AssayError) as caught:
        amended(Replication(), changes)
    assert caught.value.where == where
