"""Planted jobs of several clusters as sacct prints them with their steps, and sums by hand."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass

COLUMNS = (
    "JobID", "Cluster", "User", "Account", "Partition", "State", "Submit", "Start", "End",
    "AllocCPUS", "AllocNodes", "ReqMem", "AllocTRES", "TRESUsageInTot", "TotalCPU",
    "ConsumedEnergyRaw", "NodeList",
)  # fmt: skip
# A job runs while January ends.
BEGIN = datetime.datetime(2026, 1, 30, 4)


@dataclass(frozen=True)
class SacctJob:
    """A job with two steps. Times in s after ``BEGIN``, memory in MiB, energy in J."""

    job: int
    cluster: str
    user: str
    account: str
    submit: int
    wait: int
    run: int
    cpus: int
    computed: float
    memory: int
    used: int
    gpus: int = 0
    energy: int = 0

    @property
    def cpu(self) -> float:
        """The CPU efficiency as seff defines it."""
        return self.computed / (self.run * self.cpus)

    @property
    def month(self) -> str:
        return _time(self.submit + self.wait + self.run)[:7]


def _time(seconds: int) -> str:
    return (BEGIN + datetime.timedelta(seconds=seconds)).isoformat()


def _clock(seconds: float) -> str:
    """A duration as sacct prints it: short ones have milliseconds."""
    days, rest = divmod(int(seconds), 86400)
    hours, minutes, left = rest // 3600, rest // 60 % 60, rest % 60
    if days:
        return f"{days}-{hours:02}:{minutes:02}:{left:02}"
    if hours:
        return f"{hours:02}:{minutes:02}:{left:02}"
    return f"{minutes:02}:{left:02}.{round(seconds * 1000) % 1000:03}"


def planted_jobs(count: int = 300, clusters: Iterable[str] = ("alpha", "beta")) -> list[SacctJob]:
    """Jobs over 60 days. Both clusters number their jobs from 1."""
    names = list(clusters)
    return [
        SacctJob(
            job=1 + n // len(names),
            cluster=names[n % len(names)],
            user=f"u{n % 7}",
            account=f"a{n % 7 % 3}",
            submit=17280 * n,
            wait=600 * (n % 5),
            run=1800 + 977 * (n % 23),
            cpus=2 ** (n % 5),
            computed=(1800 + 977 * (n % 23)) * 2 ** (n % 5) * (1 + n % 9) // 10,
            memory=1024 * (1 + n % 4),
            used=100 * (1 + n % 10),
            gpus=n % 3,
            energy=1000 * (n % 11),
        )
        for n in range(count)
    ]


def sacct_text(jobs: Iterable[SacctJob], columns: Iterable[str] = COLUMNS) -> str:
    """A table of sacct with these jobs, each with a batch step and a step 0."""
    shown = list(columns)
    lines = ["|".join(shown)]
    for job in jobs:
        start = job.submit + job.wait
        gres = f",gres/gpu={job.gpus}" if job.gpus else ""
        row = {
            "JobID": str(job.job), "Cluster": job.cluster, "User": job.user,
            "Account": job.account, "Partition": "batch", "State": "COMPLETED",
            "Submit": _time(job.submit), "Start": _time(start), "End": _time(start + job.run),
            "AllocCPUS": str(job.cpus), "AllocNodes": "1", "ReqMem": f"{job.memory}M",
            "AllocTRES": f"billing={job.cpus},cpu={job.cpus}{gres},mem={job.memory}M,node=1",
            "TotalCPU": _clock(job.computed), "ConsumedEnergyRaw": str(job.energy),
            "NodeList": f"n{1 + job.job % 4}",
        }  # fmt: skip
        part = {**row, "User": "", "Partition": "", "ReqMem": "", "ConsumedEnergyRaw": ""}
        steps = [
            {
                **part, "JobID": f"{job.job}.{name}", "TotalCPU": _clock(job.computed * share),
                "TRESUsageInTot": f"cpu={_clock(job.computed * share)},energy=0,"
                f"fs/disk=12,mem={used}K,pages=1,vmem={2 * used}K",
            }
            for name, share, used in (("batch", 0.25, 512), ("0", 0.75, job.used * 1024))
        ]  # fmt: skip
        lines += ["|".join(each.get(name, "") for name in shown) for each in (row, *steps)]
    return "\n".join(lines) + "\n"
