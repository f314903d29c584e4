"""Who may have written a file: owners, groups, access control lists, links on the way."""

from __future__ import annotations

import grp
import os
import pwd
import struct
from pathlib import Path

import pytest

from assay import ownership
from assay.ownership import TRUSTED_GROUPS, foreign_link, untrusted_above, why_untrusted

OTHER = 12345
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


@pytest.fixture
def databases(monkeypatch: pytest.MonkeyPatch):
    """Databases of users and groups; ``enumerated``: whether they list all users."""

    def of(users: dict[str, tuple[int, int]], groups: dict[str, tuple[int, list[str]]]) -> None:
        entries = [
            pwd.struct_passwd((name, "x", uid, gid, "", "/", "/bin/sh"))
            for name, (uid, gid) in users.items()
        ]
        by_group = {gid: grp.struct_group((n, "x", gid, m)) for n, (gid, m) in groups.items()}
        listed = [each for each in entries if enumerated[0]]
        monkeypatch.setattr(pwd, "getpwall", lambda: listed)
        monkeypatch.setattr(pwd, "getpwuid", {e.pw_uid: e for e in entries}.__getitem__)
        monkeypatch.setattr(pwd, "getpwnam", {e.pw_name: e for e in entries}.__getitem__)
        monkeypatch.setattr(grp, "getgrgid", by_group.__getitem__)
        ownership._others_in.cache_clear()

    enumerated = [True]
    of.enumerated = enumerated
    yield of
    monkeypatch.undo()
    ownership._others_in.cache_clear()


def _own(group: int, user: int) -> bool:
    ownership._others_in.cache_clear()
    return ownership._others_in(group, user) is None


def test_a_private_group_has_nobody_else_in_it(databases) -> None:
    users = {"alba2": (1000, 1000), "root": (0, 0), "alba": (1000, 1000), "seth": (1001, 1001)}
    for members in ([], ["alba"], ["root"], ["alba", "root"], ["alba2"]):
        databases(users, {"alba": (1000, members)})
        assert _own(1000, 1000), members
    for members in (["seth"], ["alba", "seth"], ["unknown"]):
        databases(users, {"alba": (1000, members)})
        assert not _own(1000, 1000), members
    databases({**users, "seth": (1001, 1000)}, {"alba": (1000, [])})  # his primary group
    assert not _own(1000, 1000)
    databases(users, {"staff": (1000, [])})  # of another name: others may be added any day
    assert not _own(1000, 1000)


def test_without_a_list_of_users_the_group_must_have_the_users_number(databases) -> None:
    databases.enumerated[0] = False
    databases({"alba": (1000, 1000)}, {"alba": (1000, [])})
    assert _own(1000, 1000)
    databases({"alba": (1000, 1000)}, {"alba": (1000, ["seth"])})
    assert not _own(1000, 1000)
    databases({"alba": (1000, 77)}, {"alba": (1000, [])})
    assert not _own(1000, 1000)
    databases({"alba": (1000, 500)}, {"alba": (500, [])})
    assert not _own(500, 1000)


def test_a_user_without_an_entry_has_no_private_group(databases) -> None:
    databases({}, {})
    assert not _own(1000, 1000)
    assert _own(0, 0)
    assert not _own(0, 1000)


def _acl(path: Path, *entries: tuple[int, int, int]) -> None:
    content = struct.pack("<I", 2)
    for tag, permissions, number in sorted(entries):
        content += struct.pack("<HHI", tag, permissions, number & 0xFFFFFFFF)
    try:
        os.setxattr(path, "system.posix_acl_access", content)
    except OSError:
        pytest.skip("no access control lists here")


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ([(2, 6, OTHER), (16, 6, -1)], "the user with the number 12345 (an access control list)"),
        ([(8, 6, OTHER), (16, 6, -1)], "the group with the number 12345"),
        ([(2, 4, OTHER), (16, 6, -1)], None),  # reads only
        ([(2, 6, OTHER), (16, 4, -1)], None),  # masked
        ([(2, 6, os.geteuid()), (16, 6, -1)], None),
    ],
)
def test_access_control_lists(
    tmp_path: Path, entries: list[tuple[int, int, int]], words: str | None
) -> None:
    path = tmp_path / "file"
    path.touch()
    _acl(path, (1, 6, -1), *entries[:1], (4, 4, -1), *entries[1:], (32, 4, -1))
    why = why_untrusted(path)
    assert why is None if words is None else words in (why or "")


@as_root
def test_every_link_on_the_way_is_checked(tmp_path: Path) -> None:
    (tmp_path / "real" / "below").mkdir(parents=True)
    (tmp_path / "open").mkdir()
    (tmp_path / "open" / "second").symlink_to(tmp_path / "real")
    (tmp_path / "first").symlink_to("open/second")
    path = tmp_path / "first" / "below"
    assert untrusted_above(path) is None
    assert foreign_link(path) is None
    (tmp_path / "open").chmod(0o777)  # others can put another link there
    assert untrusted_above(path) == (tmp_path / "open", "may be written by all users")
    (tmp_path / "open").chmod(0o755)
    os.lchown(tmp_path / "open" / "second", OTHER, OTHER)
    found = foreign_link(path)
    assert found is not None and found[0] == tmp_path / "open" / "second"
    assert untrusted_above(path) == (found[0], "belongs to the user with the number 12345")


def test_links_in_a_circle_end(tmp_path: Path) -> None:
    for name, target in (("a", "b/x"), ("b", "a/y"), ("c", "c/c/c")):
        (tmp_path / name).symlink_to(target)
        foreign_link(tmp_path / name / "run")
        untrusted_above(tmp_path / name / "run")


@as_root
def test_a_group_that_the_user_trusts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    group = next(each for each in grp.getgrall() if each.gr_gid != 0)
    path = tmp_path / "file"
    path.touch()
    os.chown(path, 0, group.gr_gid)
    path.chmod(0o664)
    assert f"the group '{group.gr_name}'" in (why_untrusted(path) or "")
    for names in ("", ",", "x", f"x{group.gr_name}"):
        monkeypatch.setenv(TRUSTED_GROUPS, names)
        assert why_untrusted(path)
    monkeypatch.setenv(TRUSTED_GROUPS, f"x, {group.gr_name}")
    assert why_untrusted(path) is None
    path.chmod(0o666)
    assert why_untrusted(path) == "may be written by all users"
