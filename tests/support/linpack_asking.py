"""The answer to the question of speed on planted Linpack results."""

from __future__ import annotations

from asking import reply_to
from assay.questions.common.question import Measured
from assay.questions.speed.linpack.findings import find
from linpack_builder import (
    cell,
    dgemm,
    hockney,
    run_of,
)

ORDERS = [2000, 3000, 4000, 6000, 8000, 12_000, 20_000]
RATE = hockney(110e9, 2500)


def speed(cells, run=None):
    return reply_to("speed", cells, run or run_of(cells)).answer


def found_in(cells, run=None):
    return find(Measured(run or run_of(cells), cells))


def rows(answer):
    return {row.label: row for row in answer.evidence}


def said(sentences, word):
    return [sentence for sentence in sentences if word in sentence]


def seth():
    """Results of Edmundsson et al. (2004), 5.3 and 5.4, cell by cell."""
    rmax = cell(480.7e9, order=116_100, nodes=120, ppn=2)
    one = cell(480.7e9 / 110, order=10_000, nodes=1, ppn=2)
    return [rmax, one, dgemm(2.664e9, n=5490), dgemm(2.5e9, n=30), dgemm(5.208e9, threads=2)]
