"""Files of runs are opened without following links, and get the permissions of the umask."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from assay.errors import AssayError
from assay.plain_files import ensure_file, plain_folder, read_plain, reading, writing
from assay.records.files import append_line, hold, write_atomically


def test_no_link_is_opened(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("kept")
    link.symlink_to(target)
    for use in (read_plain, reading, writing, ensure_file, plain_folder):
        with pytest.raises(OSError, match="it is a link"):
            use(link)
    with pytest.raises(AssayError, match="it is a link"):
        append_line(link, b"{}")
    with pytest.raises(AssayError, match="it is a link"), hold(link):
        pass
    dangling = tmp_path / "dangling"
    dangling.symlink_to(tmp_path / "new")
    with pytest.raises(AssayError, match="it is a link"), hold(dangling):
        pass
    assert not (tmp_path / "new").exists()
    write_atomically(link, b"replaced")  # the name, not what it led to
    assert not link.is_symlink()
    assert target.read_text() == "kept"


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        read_plain(tmp_path / "pipe")
    with pytest.raises(AssayError):
        append_line(tmp_path / "pipe", b"{}")


@pytest.mark.parametrize("mask", [0o077, 0o022, 0o002, 0o027])
def test_the_umask_decides(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        write_atomically(tmp_path / "whole", b"")
        write_atomically(tmp_path / "script", b"", mode=0o777)
        append_line(tmp_path / "lines", b"{}")
        with hold(tmp_path / "lock"):
            pass
    finally:
        os.umask(before)
    for name in ("whole", "lines", "lock"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o666 & ~mask, name
    assert stat.S_IMODE((tmp_path / "script").stat().st_mode) == 0o777 & ~mask
