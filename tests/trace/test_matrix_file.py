"""A profile's matrix is read by plans."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.errors import AssayError
from assay.plans.fitted_order import PROFILE_MATRIX, read_matrix
from assay.trace.matrix import MATRIX_FILE, matrix_text
from assay.trace.reading import read_profile
from profiles import header, sent, two_ranks, write_profile


def test_a_profiles_folder_is_a_matrix(tmp_path: Path) -> None:
    text = matrix_text(read_profile(two_ranks(tmp_path)))
    assert text is not None
    (tmp_path / MATRIX_FILE).write_text(text)
    assert read_matrix(tmp_path).tolist() == [[0.0, 4000.0], [0.0, 0.0]]
    assert MATRIX_FILE == PROFILE_MATRIX


def test_ranks_that_send_nothing_are_in_it(tmp_path: Path) -> None:
    ranks = {str(r): [header(r, 1.0, 3), *([sent(1, 2, 9)] if r == 0 else [])] for r in range(3)}
    text = matrix_text(read_profile(write_profile(tmp_path, ranks)))
    assert text is not None
    (tmp_path / MATRIX_FILE).write_text(text)
    assert read_matrix(tmp_path).shape == (3, 3)


def test_a_profile_of_some_ranks_is_no_matrix(tmp_path: Path) -> None:
    folder = write_profile(tmp_path, {"0": [header(0, 1.0, 2), sent(1, 2, 9)]})
    assert matrix_text(read_profile(folder)) is None
    with pytest.raises(AssayError, match="matrix can't be read"):
        read_matrix(folder)
