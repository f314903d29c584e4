"""Hostile inputs for all parsers: by a seed a parser's name, a text, and the call with it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from assay.config import load_config
from assay.hostnames import expand_hosts
from assay.model.expression import parse_expression
from assay.model.plan import PlanContext
from assay.model.rank_order import read_order
from assay.model.replication import Replication
from assay.plans.adapters import read_adapter
from assay.plans.app import read_app
from assay.plans.fitted_order import read_matrix
from assay.plans.overrides import amended
from assay.plans.suites import load_plan
from assay.plans.words import plan_from_words
from assay.records.stream import decode_line
from assay.schedulers.commands import CommandResult
from assay.schedulers.flux import FluxScheduler
from assay.schedulers.lsf import LsfScheduler
from assay.schedulers.pbs import ClassicPbsScheduler, PbsScheduler
from assay.schedulers.slurm import SlurmScheduler
from assay.subjects.history.query import moment
from assay.toml import parse_toml
from assay.units import parse_quantity

CONTEXT = PlanContext(cores=4, memory=1 << 33)
LEVELS = (
    *("1", "all", "half", "1e400", "-inf", "nan", "inf", "9" * 5000, "²", "1e-400", "0x10"),
    *("(" * 3000 + "1" + ")" * 3000, "1" + "+1" * 3000, "-" * 3000 + "1", "2**2**2**2**2**2"),
    *("9**999**9", "(9**999)**999", "1..", "..", "1..4", "1..4:x2", "0..1e9:+1", "1..1e300:x1.1"),
    *("1..4:+0.0000001", "-inf..4:x2", "nan..4:+1", "4..1:+1", " " * 2500 + "x", "1" + " " * 2500),
    *("1 " + "K" * 2500, "1KX", "64KiB", "3 fortnights", "nonsense", "1%", "a,b", ",", "", "[/x]"),
    *("\x1b[2J", "\udcff", "\0", "cores / ppn", "min()", "sqrt(-1)", "1/0", "'a' * 9", "ranks"),
)
PLANS = (
    'schema = 1\n[[measure]]\nkernel = "npb.cg"\nppn = {x}\n',
    'schema = 1\n[[measure]]\nkernel = "npb.cg"\nthreads = {x}\nclass = "S"\n',
    'schema = 1\n[replication]\nbudget = {x}\n[[measure]]\nkernel = "npb.ep"\n',
    'schema = 1\n[[measure]]\nkernel = "compute.dgemm"\nn = {{ from = {x}, to = 99, steps = 3 }}\n',
    'schema = 1\n[[measure]]\nkernel = "compute.dgemm"\nn = {{ from = {x}, to = 9, step = {x} }}\n',
    'schema = 1\n[[measure]]\nkernel = "memory.stream"\nnodes = {x}\nnode_set = {x}\n',
)
CONFIGS = (
    "[defaults]\npatience = {x}\n",
    "[prices]\nnode = {x}\n",
    "[cluster]\nhosts = [{x}]\n",
    '[scheduler]\nkind = "slurm"\nwalltime = {x}\n',
)
ANSWERS = (
    "JobId=7 JobName=assay\n   JobState=RUNNING Reason=None Dependency=(null)\n"
    "   Requeue=0 Restarts=0 BatchFlag=1 Reboot=0 ExitCode={x}:0\n",
    "7|N/A|PENDING|{x}\n7_[{x}]|N/A|RUNNING|None\n",
    "7_{x}|COMPLETED|0:{x}\n",
    "7|COMPLETED|{x}|{x}|{x}|{x}|{x}|n1\n",
    "f7|COMPLETED|{x}||\n",
    '{{"Jobs": {{"7.s": {{"job_state": "F", "Exit_status": {x}}}}}}}',
    '{{"RECORDS": [{{"JOBID": "7", "STAT": "EXIT", "EXIT_CODE": "{x}"}}]}}',
    "Job Id: 7.s\n    job_state = C\n    exit_status = {x}\n",
    "{x}",
    "",
)
RECORD = (
    '{{"record":"measurement","measurement":"a-{x}","kernel":"k","status":"ok","start":0.0,'
    '"wall":{x},"parameters":{{}},"series":[{{"metric":"time","unit":"s","rank":null,"peer":null,'
    '"starts":[{x}],"values":[1.0]}}]}}'
)
LETTERS = "0123456789eE+-*/().,:;=[]{}<>'\"% \t\nxXkKMGiBsmhd_²µ\x1b\0\udcffa"
SCHEDULERS = (SlurmScheduler, FluxScheduler, PbsScheduler, ClassicPbsScheduler, LsfScheduler)


def _text(draw: random.Random) -> str:
    """A hostile level with random changes, or random letters."""
    if draw.random() < 0.2:
        return "".join(draw.choices(LETTERS, k=draw.randrange(60)))
    text = draw.choice(LEVELS)
    for _ in range(draw.choice((0, 0, 1, 1, 3))):
        at = draw.randrange(len(text) + 1)
        text = text[:at] + draw.choice((draw.choice(LETTERS), draw.choice(LEVELS))) + text[at:]
        if draw.random() < 0.4 and text:
            at = draw.randrange(len(text))
            text = text[:at] + text[at + draw.randrange(9) :]
    return text


def _toml(draw: random.Random, text: str) -> str:
    """In TOML syntax: bare, or as a string."""
    if draw.random() < 0.5:
        return text
    return msgspec.json.encode(text.encode("utf-8", "replace").decode()).decode()


def _schedule(kind: type, text: str) -> None:
    scheduler = kind()
    for status in (0, 1):
        scheduler.run = lambda *_, s=status, **__: CommandResult(s, text, "")
        for ask in (scheduler.status, scheduler.names, scheduler.accounting):
            _shrug(lambda ask=ask: ask(["7"]))


def _shrug(call: Callable[[], object]) -> None:
    from assay.errors import AssayError

    try:
        call()
    except AssayError as error:
        assert len(str(error)) < 100_000
        assert error.what


def inputs(seed: int, folder: Path) -> Iterator[tuple[str, str, Callable[[], object]]]:
    """An endless sequence: a parser's name, the text, and the function that parses it."""
    draw = random.Random(seed)
    file = folder / "file.toml"

    def written(text: str, read: Callable[[Path], object]) -> object:
        file.write_bytes(text.encode("utf-8", "surrogateescape"))
        return read(file)

    units = ("s", "B", "B/s", "Hz", "1", "")
    simple: tuple[tuple[str, Callable[[str], object]], ...] = (
        ("quantity", lambda t: parse_quantity(t, draw.choice(units))),
        ("expression", lambda t: parse_expression(t).number({"ranks": 4, "cores": 2, "ppn": 1})),
        ("hosts", expand_hosts),
        ("order", lambda t: read_order(t, "")),
        ("adapter", lambda t: read_adapter(t, "")),
        ("moment", lambda t: moment(t, "")),
        ("budget", lambda t: amended(Replication(), {"budget": t})),
        ("launches", lambda t: amended(Replication(), {"launches": t, "samples": t})),
        ("app", lambda t: read_app(t, t, t, None)),
        ("timeout", lambda t: read_app("a", None, None, t)),
        ("matrix", lambda t: read_matrix(Path("m"), t)),
        ("words", lambda t: plan_from_words("npb.cg", [t], context=CONTEXT)),
        ("class", lambda t: plan_from_words("npb.cg", [f"class={t}"], context=CONTEXT)),
        ("n", lambda t: plan_from_words("compute.dgemm", [f"n={t}"], context=CONTEXT)),
        ("kernel", lambda t: plan_from_words(t, [], context=CONTEXT)),
        (
            "ppn",
            lambda t: plan_from_words(
                "npb.ep", [], context=CONTEXT, placement={draw.choice(("ppn", "threads")): t}
            ),
        ),
        ("toml", lambda t: parse_toml(t, Path("x.toml"))),
        ("record", lambda t: decode_line(t.encode("utf-8", "surrogateescape"), where="")),
        (
            "measurement",
            lambda t: decode_line(RECORD.format(x=t).encode("utf-8", "replace"), where=""),
        ),
        ("plan", lambda t: written(t, lambda p: load_plan(p, CONTEXT, 1))),
        (
            "plan's level",
            lambda t: written(
                draw.choice(PLANS).format(x=_toml(draw, t)), lambda p: load_plan(p, CONTEXT, 1)
            ),
        ),
        (
            "config",
            lambda t: written(draw.choice(CONFIGS).format(x=_toml(draw, t)), load_config),
        ),
        (
            "scheduler",
            lambda t: _schedule(draw.choice(SCHEDULERS), draw.choice(ANSWERS).format(x=t)),
        ),
    )
    while True:
        name, parse = draw.choice(simple)
        text = _text(draw)
        yield name, text, lambda parse=parse, text=text: _shrug(lambda: parse(text))
