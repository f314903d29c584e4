"""Hosts that make the sets slow that they are in, where cells ran on several sets of hosts."""

from __future__ import annotations

import math
from collections.abc import Sequence

from assay.answers.model import Evidence
from assay.answers.select import Part, placement_text
from assay.hostnames import expand_hosts, names_text
from assay.kernels import parameters_text
from assay.stats.fleet import STATED
from assay.stats.membership import FEWEST_SETS, Presence, find_presence
from assay.stats.repeats import Repeats
from assay.units import counted


def presence_part(repeats: Sequence[Repeats]) -> Part | None:
    """What hosts do to the sets that they are in; None where no cell ran on enough sets to tell,
    or only on sets without a host in common, of which the causes tell (``stats/candidates.py``).
    """
    told = [each for each in repeats if _tells(each)]
    if not told:
        return None
    known = [each.take([bool(hosts) for hosts in each.hosts]) for each in told]
    hosts = [[expand_hosts(text) for text in each.hosts] for each in known]
    found = find_presence([each.cost for each in known], hosts)
    sets = max(len(set(each.hosts)) for each in known)
    if found:
        remark = "; ".join(_sentence(each, known) for each in found)
    else:
        remark = f"of {counted(sets, 'set')} of hosts, no host makes those slower that it is in"
    return Part(
        evidence=[_evidence(each, known) for each in found],
        advice=[
            f"Measure {names_text(each.hosts)} alone beside others: `assay run --per-node`."
            for each in found
        ],
        method=[
            "Which host makes sets slow: a regression of the logarithm of the cost on membership, "
            f"a set counting once; at most {STATED:.0%} of the hosts named are false on average."
        ],
        remark=remark,
    )


def _tells(repeats: Repeats) -> bool:
    sets = {text for text in repeats.hosts if text}
    if len(sets) < FEWEST_SETS:
        return False
    hosts = [host for text in sets for host in expand_hosts(text)]
    return len(set(hosts)) < len(hosts)


def _cell_text(repeats: Repeats) -> str:
    words = f"{repeats.cell.kernel} {parameters_text(repeats.cell)}".rstrip()
    return f"{words}, {placement_text(repeats.cell.placement)}"


def _sentence(each: Presence, repeats: Sequence[Repeats]) -> str:
    longer = math.expm1(each.effect)
    who = " or ".join(each.hosts) if len(each.hosts) <= 3 else names_text(each.hosts)
    never = ", which were always together," if len(each.hosts) > 1 else ""
    return (
        f"sets with {who}{never} take {longer:.1%} longer in {_cell_text(repeats[each.cell])} "
        f"({each.sets} of {counted(each.of, 'set')}, p = {each.p:.2g}, adjusted)"
    )


def _evidence(each: Presence, repeats: Sequence[Repeats]) -> Evidence:
    low, high = each.interval
    return Evidence(
        label=f"{names_text(each.hosts)} in the set: {_cell_text(repeats[each.cell])}",
        metric="cost beside sets without",
        unit="",
        value=math.exp(each.effect),
        ci95=(math.exp(low), math.exp(high)),
        limit=None,
        limit_source=None,
        share=None,
        share_ci95=None,
        cells=[repeats[each.cell].cell.id],
        note=f"in {each.sets} of {counted(each.of, 'set')}; p = {each.p:.2g}, adjusted over hosts",
    )
