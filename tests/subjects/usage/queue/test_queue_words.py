"""Changes in words: percentages, factors, intervals, and no sign of zero."""

from __future__ import annotations

import pytest

from assay.subjects.usage.queue.words import percent, signed


@pytest.mark.parametrize(
    ("value", "interval", "text"),
    [
        (0.032, (0.01, 0.051), "+3.2% [1.0, 5.1]"),
        (-0.315, (-0.431, -0.287), "−31.5% [−43.1, −28.7]"),
        (0.0098, (-0.0133, 0.0939), "+0.98% [−1.33, 9.39]"),
        (-0.00001, (-0.00001, 0.00001), "0.00% [0.00, 0.00]"),
        (1.5, (0.4, 1.9), "+150% [40, 190]"),
        (4.0, (3.1, 5.0), "×5.0 [4.1, 6.0]"),
        (2362.0, (22.0, 5700.5), "×2,363 [23, 5,702]"),
        (None, None, "–"),
        (0.25, None, "+25.0%"),
    ],
)
def test_a_change(value: float | None, interval: tuple[float, float] | None, text: str) -> None:
    assert signed(value, interval) == text


def test_no_sign_where_the_words_have_it() -> None:
    assert percent(0.114, None) == "11.4%"
