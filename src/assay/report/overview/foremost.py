"""Finds what readers must know before they use any number of the report."""

from __future__ import annotations

from collections.abc import Sequence

from assay.questions.common.answer import Answer


def foremost_finding(answers: Sequence[Answer]) -> str:
    """The most important finding, in one sentence, or in two if the second says what to do; empty
    if there is none.

    In this order: an impossible number, since the measurement is then in doubt; a setting that
    costs a large part of the performance; other processes on the measured nodes.
    """
    impossible = [each.sentence for answer in answers for each in answer.impossible]
    if impossible:
        count = len(dict.fromkeys(impossible))
        more = f" ({count - 1} more below)" if count > 1 else ""
        return f"{impossible[0]}{more}"
    return next((sentence for answer in answers for sentence in answer.urgent), "")
