from __future__ import annotations

import os
from pathlib import Path

import pytest

from assay.config import (
    BlasConfig,
    ClusterConfig,
    Config,
    SchedulerConfig,
    ToolchainConfig,
    find_config,
    load_config,
)
from assay.errors import AssayError

WHOLE = """\
[system]
name = "alba"

[toolchains.site]
mpi_prefix = "mpi/here"
cxx = "g++-13"
flags = "-O2 -g"
launch_flags = ["--mca", "btl", "self,sm"]
environment = { UCX_TLS = "sm" }
blas = { libraries = ["openblas"], include = "/opt/i", suffix = "64_", int64 = true, name="o" }

[prices]
currency = "EUR"
node = 6500
kwh = 0.31

[site]
city = "Ghent"

[defaults]
toolchain = "site"
runs = "../runs"
patience = "2 h"

[cluster]
hosts = ["node1", "10.0.0.2", "fd00::3"]
remote_shell = "bin/shell"
local_address = "10.0.0.1"
"""


@pytest.fixture(autouse=True)
def nowhere(tmp_path, monkeypatch):
    """No config of the user who runs the tests is found."""
    monkeypatch.delenv("ASSAY_CONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")


def put(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_all_tables_are_read(tmp_path):
    config = load_config(put(tmp_path / "etc/assay.toml", WHOLE))
    assert config.system.name == "alba"
    assert config.toolchains == {
        "site": ToolchainConfig(
            mpi_prefix="mpi/here",
            cxx="g++-13",
            flags="-O2 -g",
            launch_flags=("--mca", "btl", "self,sm"),
            environment={"UCX_TLS": "sm"},
            blas=BlasConfig(("openblas",), "/opt/i", "", "64_", True, "o"),
        )
    }
    assert config.prices.currency == "EUR"
    assert config.prices.amounts == {"node": 6500, "kwh": 0.31}
    assert config.site == {"city": "Ghent"}
    assert config.defaults.toolchain == "site"
    assert config.runs == tmp_path / "etc" / "../runs"
    assert config.patience == 7200.0
    assert config.resolve("mpi/here") == tmp_path / "etc/mpi/here"
    assert config.resolve("~/x") == tmp_path / "home/x"
    assert config.where("prices", "kwh") == f"{tmp_path}/etc/assay.toml:15"


def test_without_a_file_there_are_defaults():
    assert load_config() == Config()
    assert Config().runs == Path("runs")
    assert Config().patience == load_config().patience == 600.0
    assert Config().where("prices") == ""


def test_search_order(tmp_path, monkeypatch):
    """Each file found hides the ones after it."""
    inner = tmp_path / "work/a/b"
    inner.mkdir(parents=True)
    order = [tmp_path / "named.toml", inner / "assay.toml", tmp_path / "work/assay.toml"]
    order += [tmp_path / "xdg/assay/assay.toml"]
    for path in order:
        put(path)
    monkeypatch.setenv("ASSAY_CONFIG", str(order[0]))
    assert find_config(inner) == order[0]
    monkeypatch.delenv("ASSAY_CONFIG")
    for path in order[1:]:
        assert find_config(inner) == path
        path.unlink()
    assert find_config(inner) is None
    monkeypatch.delenv("XDG_CONFIG_HOME")
    user = put(tmp_path / "home/.config/assay/assay.toml")
    assert find_config(inner) == user


@pytest.mark.parametrize("border", ["work/repository/.git", "home/x"])
def test_the_search_ends_at_the_repository_and_at_home(tmp_path, border):
    put(tmp_path / "assay.toml")
    (tmp_path / border).mkdir(parents=True)
    start = (tmp_path / border).parent / "deep"
    start.mkdir(parents=True)
    assert find_config(start) is None
    assert find_config(tmp_path / "work") == tmp_path / "assay.toml"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[sytem]", ":1: Unknown key 'sytem'. Did you mean 'system'?"),
        (
            "\n[toolchains.x]\nmpicx = 'a'",
            ":3: Unknown key 'mpicx' in [toolchains.x]. Did you mean",
        ),
        ("[toolchains.x]\nblas = {libs = 1}", ":2: Unknown key 'libs' in [toolchains.x.blas]. Did"),
        ("[toolchains.x]\nblas = {}", ":2: [toolchains.x.blas] has no 'libraries'."),
        (
            "[toolchains.x]\nflags = ['-O3']",
            ":2: 'toolchains.x.flags' must be a string, not an arr",
        ),
        ("[toolchains]\nx = 1", ":2: 'toolchains.x' must be a table, not a whole number."),
        ("[prices]\nnode = 'much'", ":2: 'prices.node' must be a number, not a string."),
        ("[prices]\nnode = -1.0", ":2: 'prices.node' must be a finite amount"),
        ("[prices]\nnode = nan", ":2: 'prices.node' must be a finite amount"),
        ("[prices]\ncurrency = 1", ":2: 'prices.currency' must be a string."),
        ("[site]\nracks = 4", ":2: 'site.racks' must be a string, not a whole number."),
        ("[defaults]\nrun = 'x'", ":2: Unknown key 'run' in [defaults]. Did you mean 'runs'?"),
        ("[defaults]\npatience = 0", ":2: 'defaults.patience' must be above 0."),
        ("[defaults]\npatience = 'long'", ":2: 'long'"),
        ("[defaults\n", ":1: The file is not valid TOML: "),
    ],
)
def test_mistakes_name_file_line_key_and_the_nearest_word(tmp_path, text, message):
    path = put(tmp_path / "assay.toml", text)
    with pytest.raises(AssayError) as error:
        load_config(path)
    assert str(error.value).startswith(str(path) + message)


def test_a_named_file_must_exist(tmp_path, monkeypatch):
    with pytest.raises(AssayError, match="can't be read"):
        load_config(tmp_path / "none.toml")
    monkeypatch.setenv("ASSAY_CONFIG", str(tmp_path / "none.toml"))
    with pytest.raises(AssayError, match="ASSAY_CONFIG names"):
        load_config()


def test_a_cluster_is_its_hosts(tmp_path):
    hosts = ("node1", "10.0.0.2", "fd00::3")
    config = load_config(put(tmp_path / "etc/assay.toml", WHOLE))
    shell = str(tmp_path / "etc/bin/shell")
    assert config.cluster == ClusterConfig(hosts, shell, "10.0.0.1")
    plain = load_config(put(tmp_path / "assay.toml", '[cluster]\nhosts = ["a"]\n'))
    assert plain.cluster == ClusterConfig(("a",), "ssh", None)
    assert load_config(put(tmp_path / "none.toml")).cluster is None


@pytest.mark.parametrize(
    ("written", "hosts"),
    [
        ('["n[00001-10000]"]', [f"n{number:05d}" for number in range(1, 10001)]),
        ('["login", "n[1-2,08-10].hpc, m4"]',
         ["login", "n1.hpc", "n2.hpc", "n08.hpc", "n09.hpc", "n10.hpc", "m4"]),
        ('["r[1-2]n[09-10]"]', ["r1n09", "r1n10", "r2n09", "r2n10"]),
    ],
)  # fmt: skip
def test_hosts_of_a_cluster_in_brackets(tmp_path, written, hosts):
    config = load_config(put(tmp_path / "assay.toml", f"[cluster]\nhosts = {written}\n"))
    assert config.cluster is not None
    assert config.cluster.hosts == tuple(hosts)


def test_the_slowest_link_is_a_rate(tmp_path):
    for written, rate in (('"10 Gbit/s"', 1.25e9), ("1e9", 1e9), ('"2 MB/s"', 2e6)):
        text = f'[cluster]\nhosts = ["a"]\nslowest_link = {written}\n'
        cluster = load_config(put(tmp_path / "assay.toml", text)).cluster
        assert cluster is not None and cluster.slowest_rate == rate
    assert ClusterConfig(("a",)).slowest_rate is None
    with pytest.raises(AssayError, match="slowest_link"):
        _ = ClusterConfig(("a",), slowest_link="10 s").slowest_rate


@pytest.mark.parametrize(
    ("lines", "complaint", "line"),
    [
        ("hosts = []", "'cluster.hosts' is empty", 2),
        ('hosts = ["a",\n"b,,c"]', "'b,,c': The list of hosts is invalid", 3),
        ('hosts = ["-x"]', "'-x' is not a host's name", 2),
        ('hosts = ["a", "b",\n"a"]', "'a' is listed twice", 3),
        ('hosts = ["a"]\nshell = "ssh"', "shell", 3),
        ('remote_shell = "ssh"', "hosts", 1),
        ('hosts = ["a",\n"n[1-3"]', "'n[1-3': The list of hosts is invalid", 3),
        ('hosts = ["n[5-3]"]', "'n[5-3]': The range 5-3 ends before it begins", 2),
        ('hosts = ["n[1-200000]"]', "names more than 100,000 hosts", 2),
        ('hosts = ["n[1-60000]",\n"m[1-60000]"]', "names more than 100,000 hosts", 3),
        ('hosts = ["n[1-9]",\n"n7"]', "'n7' is listed twice", 3),
        ('hosts = ["n[1-2]$"]', "'n1$' is not a host's name", 2),
    ],
)
def test_wrong_clusters(tmp_path, lines, complaint, line):
    path = put(tmp_path / "assay.toml", f"[cluster]\n{lines}\n")
    with pytest.raises(AssayError) as error:
        load_config(path)
    assert complaint in error.value.what
    assert error.value.where == f"{path}:{line}"


def test_groups_of_nodes_are_read(tmp_path):
    path = tmp_path / "assay.toml"
    path.write_text('[system.groups.rack]\na = "n[1-4]"\nb = "n[5-8],m1"\n[system.groups.switch]\n')
    assert load_config(path).system.groups == {
        "rack": {"a": "n[1-4]", "b": "n[5-8],m1"},
        "switch": {},
    }


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ('b = "n[4-8]"', "The host 'n4' is in two groups: a and b."),
        ('b = "n[8-"', "The list of hosts is invalid."),
        ("b = 3", "'system.groups.rack.b' must be"),
    ],
)
def test_wrong_groups_of_nodes(tmp_path, line, complaint):
    path = tmp_path / "assay.toml"
    path.write_text(f'[system.groups.rack]\na = "n[1-4]"\n{line}\n')
    with pytest.raises(AssayError) as caught:
        load_config(path)
    assert caught.value.where == f"{path}:3"
    assert complaint in caught.value.what


def test_a_scheduler_section_is_read(tmp_path):
    text = """\
[scheduler]
kind = "slurm"
partition = "batch"
exclusive = false
walltime = "12 h"
modules = ["gcc/13"]
directives = ["--qos=debug"]
"""
    section = load_config(put(tmp_path / "assay.toml", text)).scheduler
    assert section == SchedulerConfig(
        kind="slurm",
        partition="batch",
        exclusive=False,
        walltime="12 h",
        modules=("gcc/13",),
        directives=("--qos=debug",),
    )
    assert section.longest == 43200.0
    assert SchedulerConfig().longest == float("inf")
    assert SchedulerConfig().exclusive
    assert load_config(put(tmp_path / "none.toml")).scheduler is None


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("queue = 'x'", "Unknown key 'queue' in [scheduler]"),
        ("walltime = 0", "walltime must be above 0"),
        ("walltime = '12 apples'", "12 apples"),
        ("modules = 'gcc'", "'scheduler.modules' must be"),
    ],
)
def test_wrong_schedulers(tmp_path, line, complaint):
    path = put(tmp_path / "assay.toml", f"[scheduler]\n{line}\n")
    with pytest.raises(AssayError) as error:
        load_config(path)
    assert complaint in error.value.what
    assert error.value.where == f"{path}:2"


def come_upon(monkeypatch, folder):
    monkeypatch.delenv("ASSAY_CONFIG", raising=False)
    monkeypatch.chdir(folder)
    return load_config()


def test_a_config_writable_by_others_is_refused_unless_named(tmp_path, monkeypatch):
    path = put(tmp_path / "assay.toml", '[system]\nname = "alba"\n')
    path.chmod(0o644)
    assert come_upon(monkeypatch, tmp_path).system.name == "alba"
    path.chmod(0o646)
    (tmp_path / "below").mkdir()
    for folder in (tmp_path, tmp_path / "below"):
        with pytest.raises(AssayError, match="may be written by all users") as error:
            come_upon(monkeypatch, folder)
        assert error.value.where == str(path)
        assert "--config" in error.value.fix and "ASSAY_CONFIG" in error.value.fix
    assert load_config(path).system.name == "alba"
    monkeypatch.setenv("ASSAY_CONFIG", str(path))
    assert load_config().system.name == "alba"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_config_of_another_user_is_refused(tmp_path, monkeypatch):
    path = put(tmp_path / "assay.toml", '[system]\nname = "alba"\n')
    os.chown(path, 12345, 0)
    with pytest.raises(AssayError, match="belongs to the user with the number 12345"):
        come_upon(monkeypatch, tmp_path)
    # A link of theirs to a file of mine: they control what the file's relative paths mean.
    mine = put(tmp_path / "mine" / "assay.toml", '[system]\nname = "alba"\n')
    path.unlink()
    path.symlink_to(mine)
    os.lchown(path, 12345, 0)
    with pytest.raises(AssayError, match="belongs to the user with the number 12345"):
        come_upon(monkeypatch, tmp_path)
    os.lchown(path, 0, 0)
    assert come_upon(monkeypatch, tmp_path).system.name == "alba"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_group_counts_unless_it_is_the_users_own(tmp_path, monkeypatch):
    path = put(tmp_path / "assay.toml", '[system]\nname = "alba"\n')
    path.chmod(0o664)
    assert come_upon(monkeypatch, tmp_path).system.name == "alba"
    os.chown(path, 0, 54321)
    with pytest.raises(AssayError, match="may be written by the group with the number 54321"):
        come_upon(monkeypatch, tmp_path)
    path.chmod(0o644)
    assert come_upon(monkeypatch, tmp_path).system.name == "alba"


def test_what_starts_ranks_and_agents_is_a_choice_of_two(tmp_path):
    text = '[toolchains.site]\nmpicxx = "cc"\nlauncher = "srun"\n'
    text += '[cluster]\nhosts = ["a"]\nstarter = "slurm"\n'
    config = load_config(put(tmp_path / "assay.toml", text))
    assert config.toolchains["site"].launcher == "srun"
    assert config.cluster is not None and config.cluster.starter == "slurm"
    for word in ("srun", "slurm"):
        with pytest.raises(AssayError) as error:
            load_config(put(tmp_path / "assay.toml", text.replace(word, "rsh")))
        assert "rsh" in str(error.value)
