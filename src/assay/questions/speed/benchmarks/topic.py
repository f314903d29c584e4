"""The NAS Parallel Benchmarks as a topic of speed."""

from __future__ import annotations

from assay.kernels.naming import benchmark_codes
from assay.questions.common.question import Topic
from assay.questions.speed.benchmarks.answer import part
from assay.questions.speed.benchmarks.figures import figures
from assay.questions.speed.benchmarks.findings import find
from assay.questions.speed.benchmarks.tables import headline_table, tables

# Names of the kernels that this topic reports.
KERNELS = tuple(benchmark_codes())
TOPIC = Topic(
    name="benchmarks",
    find=find,
    part=part,
    figures=figures,
    tables=tables,
    leading=headline_table,
    kernels=KERNELS,
)
