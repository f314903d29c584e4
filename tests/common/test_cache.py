"""Only files of this user or root are executed from the cache."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from assay import cache
from assay.cache import cache_folder, cache_home
from assay.errors import AssayError

OTHER = 12345
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "above" / "cache"))
    return tmp_path / "above" / "cache"


def test_it_is_created_for_its_user_alone(home: Path) -> None:
    assert cache_folder("builds") == home / "builds"
    assert home.stat().st_mode & 0o777 == 0o700
    assert cache_folder("builds") == home / "builds"


@pytest.mark.parametrize("place", [".", "..", "builds"])
def test_a_world_writable_folder_is_refused(home: Path, place: str) -> None:
    folder = cache_folder("builds")
    open_one = (home / place).resolve()
    open_one.chmod(0o777)
    with pytest.raises(AssayError, match="may be written by all users") as error:
        cache_folder("builds")
    assert error.value.where == str(open_one)
    assert "ASSAY_CACHE" in error.value.fix
    open_one.chmod(0o1777)
    if place == "..":  # as /tmp: files in it stay their owners'
        assert cache_folder("builds") == folder
    else:
        with pytest.raises(AssayError):
            cache_folder("builds")


@as_root
@pytest.mark.parametrize("place", [".", "..", "builds"])
def test_a_folder_of_another_user_is_refused(home: Path, place: str) -> None:
    cache_folder("builds")
    os.chown(home / place, OTHER, OTHER)
    with pytest.raises(AssayError, match="belongs to the user with the number 12345"):
        cache_folder("builds")


@as_root
def test_a_link_of_another_user_on_the_path_is_refused(home: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    home.parent.symlink_to(tmp_path / "mine")
    assert cache_folder() == home
    os.lchown(home.parent, OTHER, OTHER)
    with pytest.raises(AssayError, match="belongs to the user with the number 12345"):
        cache_folder()


def test_without_a_home_it_is_a_private_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def homeless() -> Path:
        raise RuntimeError

    for name in ("ASSAY_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(cache.Path, "home", homeless)
    monkeypatch.setattr(cache.tempfile, "gettempdir", lambda: str(tmp_path))
    made = cache_folder()
    assert made == cache_home() == tmp_path / f"assay-cache-{os.getuid()}"
    assert made.stat().st_mode & 0o777 == 0o700
    made.chmod(0o755)
    with pytest.raises(AssayError, match="open to others"):
        cache_folder()
    made.rmdir()
    (tmp_path / "planted").mkdir(mode=0o700)
    made.symlink_to(tmp_path / "planted")
    with pytest.raises(AssayError, match="is a link"):
        cache_folder()
