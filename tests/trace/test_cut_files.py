"""Trace files of ranks that were ended while they wrote the beginning."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.errors import AssayError
from assay.trace.reading_trace import trace_summary
from assay.trace.trace_files import read_rank_file


@pytest.mark.parametrize("content", [b"", b"assay"])
def test_a_file_without_its_beginning_is_no_error_of_the_summary(
    content: bytes, tmp_path: Path
) -> None:
    (tmp_path / "rank-0.trace").write_bytes(content)
    assert trace_summary(tmp_path) == "trace: no process of the program wrote a whole one."
    with pytest.raises(AssayError, match="its rank ended before it wrote a call"):
        read_rank_file(tmp_path / "rank-0.trace")


def test_no_file_is_another_sentence(tmp_path: Path) -> None:
    assert trace_summary(tmp_path) == "trace: no process of the program wrote one."
