"""The cost of a cell's launches against the covariate that explains most of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.stats.attribution.attribution import CauseShare
from assay.stats.attribution.covariates import scaled_covariate
from assay.stats.repeats.repeats import Repeats

# Maximum number of points (more are counted in boxes); number of boxes per axis.
_MAX_POINTS, _BOXES = 1500, 48


@dataclass(frozen=True)
class ScatterBox:
    """The launches within a range of the covariate and of the slowness."""

    #: Lower end of the covariate.
    x: float
    #: Upper end of the covariate.
    x_end: float
    #: Lower end of the slowness.
    y: float
    #: Upper end of the slowness.
    y_end: float
    #: Number of launches in the box.
    count: int


@dataclass(frozen=True)
class CovariateScatter:
    """The launches of one cell against its leading covariate."""

    #: Label of the cell.
    label: str
    #: Share of the cell's leading covariate.
    share: CauseShare
    #: Number of launches with a value of the covariate.
    launches: int
    #: Pairs of the covariate and the slowness (share of the median), if there are few launches.
    points: tuple[tuple[float, float], ...]
    #: Numbers of launches in boxes, if there are many launches.
    boxes: tuple[ScatterBox, ...]
    #: The greatest magnitude of the covariate.
    largest: float


def leading_covariate(shares: Sequence[CauseShare]) -> CauseShare | None:
    """The first share that belongs to a covariate, not to a factor such as hosts."""
    return next((share for share in shares if share.quick is not None), None)


def scatter_of(label: str, share: CauseShare, repeats: Repeats) -> CovariateScatter:
    """The cost over the median against the covariate; launches without a value of it are left
    out.
    """
    covariate = scaled_covariate(repeats, share.covariate)
    known = np.isfinite(covariate)
    x = covariate[known]
    y = repeats.cost[known] / float(np.median(repeats.cost)) - 1.0
    points: tuple[tuple[float, float], ...] = ()
    boxes: tuple[ScatterBox, ...] = ()
    if x.size > _MAX_POINTS:
        counts, at_x, at_y = np.histogram2d(x, y, bins=_BOXES)
        boxes = tuple(
            ScatterBox(
                float(at_x[i]),
                float(at_x[i + 1]),
                float(at_y[j]),
                float(at_y[j + 1]),
                int(counts[i, j]),
            )
            for i, j in np.argwhere(counts > 0)
        )
    else:
        points = tuple(zip(x.tolist(), y.tolist(), strict=True))
    return CovariateScatter(
        label=label,
        share=share,
        launches=int(x.size),
        points=points,
        boxes=boxes,
        largest=float(np.abs(x).max(initial=0.0)),
    )
