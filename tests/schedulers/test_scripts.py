"""Job scripts: recorded, compared with the manuals, and run with hostile values."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from assay.config import SchedulerConfig
from assay.errors import AssayError
from assay.schedulers.batch import Batch
from assay.schedulers.flux import FluxScheduler
from assay.schedulers.lsf import LsfScheduler
from assay.schedulers.model import JobRequest
from assay.schedulers.pbs import ClassicPbsScheduler, PbsScheduler
from assay.schedulers.script import template
from assay.schedulers.slurm import SlurmScheduler
from schedulers_syntax import SYNTAX, SyntaxProblem, read

RECORDED = Path(__file__).parents[1] / "data" / "schedulers"
MAKERS: dict[str, Callable[[], Batch]] = {
    "slurm": SlurmScheduler,
    "pbs": PbsScheduler,
    "pbs-classic": ClassicPbsScheduler,
    "lsf": LsfScheduler,
    "flux": FluxScheduler,
}
KINDS = pytest.mark.parametrize("kind", MAKERS)
COMMAND = ("/opt/venv/bin/python", "-m", "assay", "job", "/scratch/runs/a run", "--number", "1")
CONSTRAINTS = {
    "slurm": "skylake&ib",
    "pbs": "ncpus=64:model=rome",
    "pbs-classic": "ppn=64:ib",
    "lsf": "type==any && ib",
    "flux": "rome and not ib",
}
DIRECTIVES = {
    "slurm": "--qos=debug",
    "pbs": "-m n",
    "pbs-classic": "-m n",
    "lsf": "-sp 50",
    "flux": "--urgency=20",
}


def make_request(kind: str, *, tasks: int = 1, **changes: object) -> JobRequest:
    """The recorded script, with everything in it that the scheduler supports."""
    options = SchedulerConfig(
        partition="batch",
        account="project7",
        reservation=None if kind in ("flux", "pbs") else "friday",
        constraint=CONSTRAINTS[kind],
        modules=("gcc/13", "openmpi"),
        directives=(DIRECTIVES[kind],),
        setup=("ulimit -l unlimited",),
    )
    known: dict[str, object] = {
        "name": "assay-seth-network",
        "command": COMMAND,
        "directory": Path("/scratch/runs/a run"),
        "nodes": 4,
        "walltime": 26 * 3600 + 61.5,
        "output": Path("/scratch/runs/a run/jobs/1.out"),
        "tasks": tasks,
        "options": options,
        "environment": {"ASSAY_CACHE": "/scratch/cache", "ASSAY_NOTE": "it's"},
    }
    return JobRequest(**{**known, **changes})  # type: ignore[arg-type]


def bare(kind: str, **changes: object) -> JobRequest:
    return make_request(kind, options=SchedulerConfig(), environment={}, **changes)


# ---- recorded scripts, and the manuals -------------------------------------------------------


@KINDS
@pytest.mark.parametrize("tasks", [1, 4])
def test_scripts_are_the_recorded_ones(kind: str, tasks: int) -> None:
    recorded = RECORDED / f"{kind}{'-array' if tasks > 1 else ''}.sh"
    assert MAKERS[kind]().script(make_request(kind, tasks=tasks)) == recorded.read_text()


@KINDS
@pytest.mark.parametrize("tasks", [1, 4])
@pytest.mark.parametrize("short", [False, True])
def test_scripts_keep_to_the_documented_syntax(kind: str, tasks: int, short: bool) -> None:
    changes: dict[str, object] = {"walltime": 60.0} if short else {}
    for request in (make_request(kind, tasks=tasks, **changes), bare(kind, tasks=tasks, **changes)):
        directives, shell = read(kind, MAKERS[kind]().script(request))
        assert len({(option, value) for option, value in directives}) == len(directives)
        assert shell[-1].startswith("exec -- ")


ARRAYS = {
    "slurm": ("--array", "0-9%3"),
    "pbs": ("-J", "0-9%3"),
    "pbs-classic": ("-t", "0-9%3"),
    "lsf": ("-J", "assay-seth-network[1-10]%3"),
}


@pytest.mark.parametrize("kind", ARRAYS)
def test_an_array_is_throttled(kind: str) -> None:
    options = SchedulerConfig(at_once=3)
    script = MAKERS[kind]().script(make_request(kind, tasks=10, options=options))
    option, value = ARRAYS[kind]
    assert (option, value) in {(o, v and v.strip('"')) for o, v in read(kind, script)[0]}
    few = MAKERS[kind]().script(make_request(kind, tasks=3, options=options))
    assert "%3" not in few


def test_named_nodes_are_requested_of_slurm_alone() -> None:
    hosts = ("n01", "n02", "m7")
    script = SlurmScheduler().script(bare("slurm", nodes=3, hosts=hosts))
    assert ("--nodelist", "n[01-02],m7") in read("slurm", script)[0]
    with pytest.raises(AssayError, match="to named nodes"):
        PbsScheduler().script(bare("pbs", nodes=3, hosts=hosts))
    with pytest.raises(AssayError, match="Flux has no arrays"):
        FluxScheduler().script(make_request("flux", tasks=9, options=SchedulerConfig(at_once=3)))


@KINDS
def test_every_option_reaches_the_script(kind: str) -> None:
    """Each value follows the option that the manual gives it."""
    expected = {
        "slurm": {
            ("--job-name", "assay-seth-network"),
            ("--output", "/scratch/runs/a run/jobs/1.out"),
            ("--nodes", "4"),
            ("--ntasks-per-node", "1"),
            ("--exclusive", None),
            ("--mem", "0"),
            ("--time", "26:01:02"),
            ("--no-requeue", None),
            ("--signal", "B:TERM@60"),
            ("--partition", "batch"),
            ("--account", "project7"),
            ("--reservation", "friday"),
            ("--constraint", "skylake&ib"),
            ("--qos", "debug"),
        },
        "pbs": {
            ("-N", "assay-seth-network"),
            ("-l", "select=4:ncpus=64:model=rome"),
            ("-l", "place=scatter:exclhost"),
            ("-l", "walltime=26:01:02"),
            ("-q", "batch"),
            ("-A", "project7"),
            ("-m", "n"),
            ("-S", "/bin/bash"),
            ("-j", "oe"),
            ("-o", "/dev/null"),
            ("-r", "n"),
        },
        "pbs-classic": {
            ("-N", "assay-seth-netw"),
            ("-l", "nodes=4:ppn=64:ib"),
            ("-l", "walltime=26:01:02"),
            ("-l", "advres=friday"),
            ("-n", None),
            ("-q", "batch"),
            ("-A", "project7"),
            ("-m", "n"),
            ("-S", "/bin/bash"),
            ("-j", "oe"),
            ("-o", "/dev/null"),
            ("-r", "n"),
        },
        "lsf": {
            ("-J", "assay-seth-network"),
            ("-o", "/dev/null"),
            ("-n", "4"),
            ("-R", "span[ptile=1]"),
            ("-R", "select[type==any && ib]"),
            ("-x", None),
            ("-W", "26:02"),
            ("-rn", None),
            ("-wa", "TERM"),
            ("-wt", "0:01"),
            ("-q", "batch"),
            ("-P", "project7"),
            ("-U", "friday"),
            ("-sp", "50"),
        },
        "flux": {
            ("--job-name", "assay-seth-network"),
            ("--output", "/scratch/runs/a run/jobs/1.out"),
            ("--nodes", "4"),
            ("--exclusive", None),
            ("--time-limit", "93662s"),
            ("--signal", "SIGTERM@60s"),
            ("--queue", "batch"),
            ("--bank", "project7"),
            ("--requires", "rome and not ib"),
            ("--urgency", "20"),
        },
    }
    directives, shell = read(kind, MAKERS[kind]().script(make_request(kind)))
    assert set(directives) == expected[kind]
    order = ["export ASSAY_TASK=", "cd -- ", "module load gcc/13", "module load openmpi"]
    order += ["ulimit -l unlimited", "export ASSAY_CACHE=", "export ASSAY_NOTE=", "exec -- "]
    places = [next(i for i, line in enumerate(shell) if line.startswith(x)) for x in order]
    assert places == sorted(places)


@KINDS
def test_a_short_job_is_not_warned_at_its_beginning(kind: str) -> None:
    def warned(walltime: float) -> bool:
        directives, _ = read(kind, MAKERS[kind]().script(bare(kind, walltime=walltime)))
        return any(option in ("--signal", "-wa") for option, _ in directives)

    assert not warned(120.0)
    assert warned(600.0) == (kind in ("slurm", "lsf", "flux"))


@KINDS
def test_a_job_is_held_until_its_start_time(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """At this local time, in any time zone, and never before."""
    expected = {
        "slurm": ("--begin", "2026-11-22T17:59:59"),
        "pbs": ("-a", "202611221759.59"),
        "pbs-classic": ("-a", "202611221759.59"),
        "lsf": ("-b", "2026:11:22:18:00"),  # in whole minutes
        "flux": ("--begin-time", "2026-11-22 17:59:59"),
    }
    monkeypatch.setenv("TZ", "EST+5")
    time.tzset()
    try:
        begin = 1795388398.2  # 2026-11-22 22:59:58.2 UTC
        script = MAKERS[kind]().script(bare(kind, begin=begin))
    finally:
        monkeypatch.undo()
        time.tzset()
    directives, shell = read(kind, script)
    assert [d for d in directives if d[0] == expected[kind][0]] == [expected[kind]]
    plain, same = read(kind, MAKERS[kind]().script(bare(kind)))
    assert set(directives) - set(plain) == {expected[kind]}
    assert shell == same


def test_an_arrays_output_is_one_file_per_task_and_no_other_pattern() -> None:
    request = bare("slurm", tasks=2, output=Path("/runs/50%j/100%a.out"))
    directives = dict(read("slurm", SlurmScheduler().script(request))[0])
    assert directives["--output"] == "/runs/50%%j/100%%a-%a.out"


@KINDS
def test_nodes_are_shared_only_on_request(kind: str) -> None:
    request = bare(kind)
    shared = make_request(kind, options=SchedulerConfig(exclusive=False), environment={})
    alone = {option for option, _ in read(kind, MAKERS[kind]().script(request))[0]}
    words = {value for _, value in read(kind, MAKERS[kind]().script(shared))[0]}
    options = {option for option, _ in read(kind, MAKERS[kind]().script(shared))[0]}
    if kind == "pbs":
        assert "place=scatter" in words and "place=scatter:exclhost" not in words
    else:
        assert alone & {"--exclusive", "-n", "-x"} and kind != "pbs"
        assert not options & ({"--exclusive", "-x"} if kind != "pbs-classic" else {"-n"})


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("slurm", "#SBATCH --nodez=4"),
        ("slurm", "#SBATCH --nodes=four"),
        ("slurm", "#SBATCH --time=1h"),
        ("slurm", '#SBATCH --output="/a%q"'),
        ("slurm", "#SBATCH --exclusive=4"),
        ("pbs", "#PBS -J 4"),
        ("pbs", "#PBS -l select=4 -l place=scattered"),
        ("pbs-classic", "#PBS -N sixteencharacters"),
        ("pbs-classic", "#PBS -J 0-3"),
        ("lsf", "#BSUB -W 1:00:00"),
        ("lsf", "#BSUB -q"),
        ("flux", "# flux: --time-limit=1:00:00"),
        ("flux", "# flux: --output={{id}}"),
        ("flux", "#flux: --nodes=1"),
    ],
)
def test_the_checkers_detect_mistakes(kind: str, line: str) -> None:
    with pytest.raises(SyntaxProblem):
        read(kind, f"#!/bin/bash\n{line}\n\nexec -- true\n")


@KINDS
def test_the_checkers_detect_a_directive_among_the_commands(kind: str) -> None:
    for mark in {syntax.mark for syntax in SYNTAX.values()}:
        with pytest.raises(SyntaxProblem):
            read(kind, f"#!/bin/bash\nexec -- true\n{mark}--nodes=1\n")


@KINDS
def test_tasks_of_an_array_are_numbered_from_0_and_have_files_of_their_own(
    kind: str, tmp_path: Path
) -> None:
    """With the variable that the scheduler sets for task number 2, by its manual."""
    # sbatch(1), OUTPUT ENVIRONMENT VARIABLES; PBS User's Guide, job arrays; Torque's qsub(1B);
    # bsub(1), -J.
    variables = {
        "slurm": {"SLURM_ARRAY_TASK_ID": "2"},
        "pbs": {"PBS_ARRAY_INDEX": "2"},
        "pbs-classic": {"PBS_ARRAYID": "2"},
        "lsf": {"LSB_JOBINDEX": "3"},
        "flux": {"ASSAY_TASK": "2"},  # given by `flux batch --env`
    }
    request = bare(
        kind,
        tasks=4,
        command=("/bin/sh", "-c", "echo task $ASSAY_TASK"),
        directory=tmp_path,
        output=tmp_path / "o.out",
    )
    scheduler = MAKERS[kind]()
    done = run_script(scheduler.script(request), tmp_path, variables[kind])
    assert request.output_of(2) == tmp_path / "o-2.out"
    if scheduler.writes_output:
        assert done.stdout == b"task 2\n"
    else:
        assert request.output_of(2).read_bytes() == b"task 2\n"
    directives = dict(read(kind, scheduler.script(request))[0])
    indices = {"slurm": "--array", "pbs": "-J", "pbs-classic": "-t"}
    if kind in indices:
        assert directives[indices[kind]] == "0-3"
    if kind == "lsf":
        assert directives["-J"] == "assay-seth-network[1-4]"
    if kind == "slurm":
        assert directives["--output"] == f"{tmp_path}/o-%a.out"


def test_a_scheduler_has_a_template_and_a_checker() -> None:
    templates = {path.stem for path in template("slurm").parent.iterdir()}
    assert templates == set(MAKERS) == set(SYNTAX)
    assert {kind: maker().name for kind, maker in MAKERS.items()} == {x: x for x in templates}


# ---- hostile values --------------------------------------------------------------------------

# The last is Python's representation of a byte that is no UTF-8.
NASTY = "'\"`$(){}[]\\\n\r\t#%!*?~;&|<> -=,:/.aZ9é漢\u2028\x1b\x7f\udcff"
characters = st.characters(exclude_characters="\0", exclude_categories=["Cs"])
texts = st.text(st.one_of(st.sampled_from(NASTY), characters), max_size=12)
examples = settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])


def run_script(
    script: str, folder: Path, variables: dict[str, str]
) -> subprocess.CompletedProcess[bytes]:
    """Run it with bash, no program on PATH, and only the given environment."""
    nowhere = folder / "nowhere"
    nowhere.mkdir(exist_ok=True)
    path = folder / "script.sh"
    path.write_bytes(script.encode("utf-8", "surrogateescape"))
    return subprocess.run(
        ["/bin/bash", str(path)],
        cwd=folder,
        env={"PATH": str(nowhere), **variables},
        capture_output=True,
        timeout=20,
        check=False,
    )


def stand_in(folder: Path) -> Path:
    """A program that writes its arguments and one variable to a file in its folder."""
    program = folder / "stand-in"
    program.write_text('#!/bin/sh\n{ printf "%s\\0" "$VALUE" "$PWD" "$@"; } >"${0%/*}/arrived"\n')
    program.chmod(0o700)
    return program


@examples
@given(st.sampled_from(list(MAKERS)), st.lists(texts, max_size=4), texts, texts)
@example("slurm", ["\n\\x41'", "\\", "'"], "\r\\'$(touch x)", "a\n#SBATCH -x\\n")
@example("pbs", ["-x", "--", ""], "\udcff\n", "é'\"")
def test_exactly_the_words_arrive_and_nothing_else_is_run(
    kind: str, words: list[str], value: str, place: str
) -> None:
    place = place.replace("/", "-").strip(".") or "x"
    assume(len(os.fsencode(place)) < 200)
    with tempfile.TemporaryDirectory() as folder_name:
        folder = Path(folder_name)
        (folder / "in").mkdir()
        directory = folder / "in" / place
        directory.mkdir()
        program = stand_in(folder)
        request = JobRequest(
            name="assay",
            command=(str(program), *words),
            directory=directory,
            nodes=1,
            walltime=600.0,
            output=folder / "out",
            environment={"VALUE": value},
        )
        script = MAKERS[kind]().script(request)
        read(kind, script)
        done = run_script(script, folder, {})
        assert done.returncode == 0, done
        assert done.stderr == b""
        arrived = (folder / "arrived").read_bytes().split(b"\0")[:-1]
        expected = [value, str(directory), *words]
        assert arrived == [os.fsencode(text) for text in expected]
        left = {path.name for path in folder.rglob("*") if path.name != "out"}
        assert left == {"in", place, "stand-in", "arrived", "nowhere", "script.sh"}


@settings(examples, max_examples=300)
@given(st.sampled_from(list(MAKERS)), texts, texts, texts, texts)
@example("slurm", 'a\\"b', "p\\", "c'\"#$(d)", "50%j and %%.out")
@example("flux", 'a\\"b', "p\\", "c'\"#$(d)", "50%j and %%.out")
def test_a_directive_holds_the_requested_value_or_the_request_is_refused(
    kind: str, name: str, partition: str, constraint: str, file: str
) -> None:
    file = file.replace("/", "-").strip(".") or "x"
    request = bare(kind, name=name, output=Path("/out") / file)
    options = SchedulerConfig(partition=partition, constraint=constraint)
    request = JobRequest(**{**vars(request), "options": options})
    try:
        script = MAKERS[kind]().script(request)
    except AssayError as error:
        assert error.what.endswith(".") and error.fix
        assert "\n" not in error.what
        return
    found = dict(read(kind, script)[0])
    plain = dict(read(kind, MAKERS[kind]().script(bare(kind)))[0])
    assert set(found) - set(plain) <= {"-q", "--partition", "--queue", "--constraint", "--requires"}
    if kind in ("slurm", "flux"):
        assert found["--job-name"] == name
        assert found["--partition" if kind == "slurm" else "--queue"] == partition
        assert found["--constraint" if kind == "slurm" else "--requires"] == constraint
        output = found["--output"]
        assert output is not None
        assert (output.replace("%%", "%") if kind == "slurm" else output) == str(request.output)
    else:
        assert found["-q"] == partition
        assert name.startswith(str(found["-N" if kind != "lsf" else "-J"]))


@KINDS
@pytest.mark.parametrize(
    ("changes", "hint"),
    [
        ({"name": "two\nlines"}, r"The name 'two\\nlines' can't be written into a job script"),
        ({"name": ""}, "The name '' can't be written into a job script"),
        ({"options": SchedulerConfig(partition="a\n#SBATCH --uid=0")}, "The partition 'a"),
        ({"options": SchedulerConfig(account="\x1b[31m")}, "The account"),
        ({"options": SchedulerConfig(directives=("--a=1\n--b",))}, "The directive"),
        ({"options": SchedulerConfig(directives=("rm -rf",))}, "it is not an option"),
        ({"options": SchedulerConfig(modules=("--force",))}, "The module"),
        ({"environment": {"A B": "x"}}, "it is not a valid name"),
        ({"environment": {"A": "\0"}}, "NUL"),
        ({"environment": {"A": "\ud800"}}, "not valid text"),
        ({"command": ("a", "\0")}, "NUL"),
    ],
)
def test_values_without_a_notation_are_refused(
    kind: str, changes: dict[str, object], hint: str
) -> None:
    with pytest.raises(AssayError, match=re.escape(hint) if "\\" not in hint else hint) as error:
        MAKERS[kind]().script(make_request(kind, **changes))
    assert error.value.where == "[scheduler]" and error.value.fix


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("slurm", {"output": Path("/a\\b")}),
        ("slurm", {"output": Path("/a\n#SBATCH --uid=0")}),
        ("flux", {"output": Path("/a\n# flux: --nodes=99")}),
        ("pbs", {"name": "two words"}),
        ("pbs", {"name": "1st"}),
        ("pbs", {"options": SchedulerConfig(partition="a", reservation="b")}),
        ("pbs", {"options": SchedulerConfig(constraint="a -l x=1")}),
        ("pbs", {"options": SchedulerConfig(constraint="ncpus=2+8:ncpus=2")}),
        ("pbs", {"options": SchedulerConfig(constraint="rome")}),
        ("pbs-classic", {"options": SchedulerConfig(constraint="ppn=2+8:ppn=2")}),
        ("pbs-classic", {"options": SchedulerConfig(account="a b")}),
        ("lsf", {"name": "a[1-1000]"}),
        ("lsf", {"options": SchedulerConfig(constraint='ib]" -R "select[x')}),
        ("flux", {"options": SchedulerConfig(reservation="friday")}),
        ("flux", {"output": Path("/a/{{id}}")}),
        ("flux", {"name": 'a"""'}),
    ],
)
def test_each_scheduler_refuses_what_only_it_can_not_express(
    kind: str, changes: dict[str, object]
) -> None:
    with pytest.raises(AssayError, match="can't be written into a job script"):
        MAKERS[kind]().script(make_request(kind, **changes))


@pytest.mark.parametrize(
    "changes",
    [
        *({"command": ()}, {"nodes": 0}, {"tasks": 0}, {"walltime": 0}),
        *({"walltime": float("inf")}, {"begin": float("inf")}),
    ],
)
def test_wrong_calls_are_errors(changes: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"job needs|walltime|begin"):
        SlurmScheduler().script(make_request("slurm", **changes))


def test_a_module_that_can_not_be_loaded_ends_the_job(tmp_path: Path) -> None:
    options = SchedulerConfig(modules=("gcc/13",), setup=("module() { echo loads $*; false; }",))
    request = bare("slurm", directory=tmp_path, command=("/bin/echo", "ran"))
    script = SlurmScheduler().script(JobRequest(**{**vars(request), "options": options}))
    # The function must be defined before, as where a site provides modules.
    known = script.replace("command -v module", "module() { echo loads $*; false; }; : ", 1)
    done = run_script(known, tmp_path, {})
    assert (done.returncode, done.stdout) == (1, b"loads load gcc/13\n")
