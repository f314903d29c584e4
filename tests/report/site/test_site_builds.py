"""A site is rebuilt where runs changed, and stays whole whatever happens to a build."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from assay.errors import AssayError
from assay.report.site import build
from sites import built, check_links, pages_of, two_stores

INTERRUPTED = """
import os, signal, sys
from pathlib import Path
sys.path[:0] = sys.argv[3:]
from sites import built
left = int(sys.argv[2])
replace = Path.replace
def ending(self, target):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return replace(self, target)
Path.replace = ending
root = Path(sys.argv[1])
built(root / "stores", root / "site")
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Two stores and their site, copied by each test that changes them."""
    root = tmp_path_factory.mktemp("finished")
    two_stores(root / "stores")
    built(root / "stores", root / "site")
    return root


@pytest.fixture
def site(finished, tmp_path):
    """A copy of the stores and of their site."""
    for name in ("stores", "site"):
        shutil.copytree(finished / name, tmp_path / name, copy_function=shutil.copy2)
    # The stamps of folders are copied, but those of a copied run may differ in nanoseconds.
    built(tmp_path / "stores", tmp_path / "site")
    return tmp_path


def stamps(folder: Path) -> dict[str, int]:
    return {name: (folder / name).stat().st_mtime_ns for name in pages_of(folder)}


def test_nothing_is_written_if_nothing_changed(site):
    before = stamps(site / "site")
    again = built(site / "stores", site / "site")
    assert (again.new, again.removed, again.written) == (0, 0, 0)
    assert stamps(site / "site") == before


def test_a_new_run_rewrites_its_own_pages(site):
    before = stamps(site / "site")
    _, second = two_stores(site / "more")
    (new,) = second.write(1)
    shutil.copytree(new, site / "stores" / "b" / new.name)
    found = built(site / "stores", site / "site")
    assert (found.new, found.removed, found.runs) == (1, 0, 55)
    after = stamps(site / "site")
    changed = {name for name in after if after[name] != before.get(name)}
    assert {"index.html", "machines/beta/index.html", "search/beta.0.js"} <= changed
    assert not [name for name in changed if "alpha" in name]
    assert new.name in (site / "site/index.html").read_text()


def test_a_site_in_steps_is_the_same_as_one_at_once(site, tmp_path):
    first, _ = two_stores(site / "more")
    for new in first.write(4):  # more than 5% of 30 runs, so that the history is judged again
        shutil.copytree(new, site / "stores" / "a" / new.name)
        built(site / "stores", site / "site")
    built(site / "stores", site / "whole")
    pages, whole = pages_of(site / "site"), pages_of(site / "whole")
    assert pages.keys() == whole.keys()
    assert [name for name in pages if pages[name] != whole[name]] == []


def test_removed_runs_and_machines_vanish(site):
    gone = sorted((site / "stores/a").iterdir())[3]
    shutil.rmtree(gone)
    found = built(site / "stores", site / "site")
    assert (found.new, found.removed) == (0, 1)
    assert not [name for name, text in pages_of(site / "site").items() if gone.name in text]
    shutil.rmtree(site / "stores/b")
    assert built(site / "stores", site / "site").removed == 24
    assert not [name for name, text in pages_of(site / "site").items() if "beta" in text + name]
    assert not list((site / "site/.assay-site").glob("beta*"))
    check_links(site / "site")


def test_another_version_rebuilds_all(site, monkeypatch):
    before = stamps(site / "site")
    (site / "site/machines/alpha/index.html").write_text("an old page")
    monkeypatch.setattr(build, "site_version", lambda: "another")
    found = built(site / "stores", site / "site")
    assert found.new == 54
    assert all(found != before[name] for name, found in stamps(site / "site").items())
    assert "an old page" not in (site / "site/machines/alpha/index.html").read_text()


def test_a_damaged_state_is_rebuilt(site):
    whole = pages_of(site / "site")
    (site / "site/.assay-site/site.msgpack").write_bytes(b"\x93nonsense")
    (site / "site/.assay-site/alpha.values").write_bytes(b"")
    assert built(site / "stores", site / "site").new == 54
    assert pages_of(site / "site") == whole


@pytest.mark.parametrize("renames", [0, 1, 5])
def test_a_killed_build_leaves_a_whole_site(site, renames):
    gone = sorted((site / "stores/a").iterdir())[3]
    shutil.rmtree(gone)
    command = [sys.executable, "-c", INTERRUPTED, str(site), str(renames), *sys.path]
    assert subprocess.run(command, check=False).returncode == -9
    assert check_links(site / "site") > 20
    if not renames:
        assert gone.name in (site / "site/search/alpha.0.js").read_text()
    built(site / "stores", site / "site")
    built(site / "stores", site / "whole")
    assert pages_of(site / "site") == pages_of(site / "whole")
    assert sorted(path.name for path in (site / "site/.assay-site").iterdir()) == [
        "alpha.values",
        "beta.values",
        "lock",
        "site.msgpack",
    ]


def test_builds_at_once_wait_for_each_other(site):
    shutil.rmtree(sorted((site / "stores/a").iterdir())[3])
    errors = []

    def build_again() -> None:
        try:
            built(site / "stores", site / "site")
        except Exception as error:
            errors.append(error)

    both = [threading.Thread(target=build_again) for _ in range(2)]
    for each in both:
        each.start()
    for each in both:
        each.join()
    assert errors == []
    built(site / "stores", site / "whole")
    assert pages_of(site / "site") == pages_of(site / "whole")


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_what_is_no_site_is_refused(finished, tmp_path, kind):
    output = tmp_path / "output"
    if kind == "folder":
        output.mkdir()
        (output / "thesis.tex").write_text("mine")
    else:
        output.write_text("mine")
    with pytest.raises(AssayError):
        built(finished / "stores", output)
    if kind == "folder":
        assert [path.name for path in output.iterdir()] == ["thesis.tex"]
    else:
        assert output.read_text() == "mine"
