"""Findings from profiles compared function by function."""

from __future__ import annotations

from collections.abc import Sequence

from assay.models.program.sampled.changes import changes
from assay.models.program.sampled.growth import growth
from assay.subjects.profile.compared.model import (
    COMPARED_SCHEMA,
    ChangedFunction,
    ChangedProfile,
    ComparedProfile,
    GrowingFunction,
    ProfileComparison,
    ProfileGrowth,
)
from assay.subjects.profile.compared.sides import ProfileSide

_MOST = 1000


def find_changes(sides: Sequence[ProfileSide], margin: float = 0.01) -> ProfileComparison:
    """Compare each profile with the first one of its number of ranks, and the sizes.

    ``margin``: relative difference within which functions count as the same.
    """
    first: dict[int, ProfileSide] = {}
    changed = []
    for side in sides:
        reference = first.setdefault(len(side.counts.ranks), side)
        if reference is not side:
            changed.append(_changed(reference, side, margin))
    return ProfileComparison(
        schema=COMPARED_SCHEMA,
        margin=margin,
        sides=[_side(side) for side in sides],
        changes=changed,
        growth=_growth(sides),
        unknown=[f"{side.name}: {doubt}" for side in sides for doubt in side.doubts],
    )


def _side(side: ProfileSide) -> ComparedProfile:
    counts = side.counts
    return ComparedProfile(
        name=side.name,
        command=side.run.command,
        utc=side.run.utc,
        ranks=len(counts.ranks),
        samples=int(counts.activities.sum()),
        computing=float((counts.computing * counts.seconds).sum()),
    )


def _changed(before: ProfileSide, after: ProfileSide, margin: float) -> ChangedProfile:
    found = changes(before.counts, after.counts, margin)
    return ChangedProfile(
        before=before.name,
        after=after.name,
        seconds_before=found.before,
        seconds_after=found.after,
        functions=[
            ChangedFunction(
                function=one.place.name,
                module=one.place.module,
                before=one.before,
                after=one.after,
                ratio=one.ratio,
                ci95=one.interval,
                p=one.p,
                verdict=one.verdict,
            )
            for one in found.functions[:_MOST]
        ],
        found=len(found.functions),
    )


def _growth(sides: Sequence[ProfileSide]) -> ProfileGrowth | None:
    found = growth([side.counts for side in sides])
    if found is None:
        return None
    limit = found.limits
    return ProfileGrowth(
        sizes=found.sizes,
        next_size=found.next_size,
        times=found.times,
        next_time=found.next_time,
        limit="" if limit is None else limit.place.name,
        functions=[
            GrowingFunction(
                function=one.place.name,
                module=one.place.module,
                times=one.times,
                shares=one.shares,
                exponent=one.exponent,
                ci95=one.interval,
                next_time=one.next_time,
                next_share=one.next_share,
            )
            for one in found.functions[:_MOST]
        ],
    )
