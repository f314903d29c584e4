"""The answer to how much nodes differ, and which to check."""

from __future__ import annotations

from collections import Counter

from assay.questions.common.answer import Answer, Confidence
from assay.questions.common.contention import capped, impossible_contention, together
from assay.questions.common.gate import gated
from assay.questions.common.selection import quantity_text
from assay.stats.fleet.calibration import MIN_LAUNCHES
from assay.stats.fleet.clusters import LEAST_KIND
from assay.stats.fleet.fleet import STATED
from assay.stats.fleet.node_groups import GROUP_LEVEL
from assay.stats.fleet.node_tail import TAIL_LEVEL
from assay.stats.fleet.peers import MIN_VALUES
from assay.subjects.nodes.findings import NodesFindings
from assay.subjects.nodes.model import (
    NodeFailure,
    NodeKind,
)
from assay.subjects.nodes.words import (
    MAX_NAMED,
    cell_evidence,
    chance_text,
    deviation_text,
    explained_evidence,
    group_evidence,
    group_text,
    kind_evidence,
    kinds_by_value,
    kinds_text,
    members_count,
    over_devices,
    signed,
    suspect_evidence,
    suspect_text,
)
from assay.units import (
    counted,
    format_change,
    format_probability,
    format_share,
    listed,
)

QUESTION = "nodes"
TITLE = "How alike are its nodes?"
# The minimum number of launches per node for high confidence.
SURE_LAUNCHES = 6
# High confidence needs at most this share of clean fleets with a node as far beyond the others.
# Confidence is low if only slow nodes above this size would be named.
SURE_BEYOND, _TOO_LARGE = 0.01, 0.2
# Maximum number of nodes that recommendations and caveats name, and of members without results
# that one sentence names.
_MAX_CHECKS, _MAX_ABSENT = 5, 10
_METHOD = (
    "A node is reported under three conditions. First, it is significantly slower than the others "
    "over all cells and launches, given the variation between nodes (outlying nodes are "
    "excluded from the reference). Second, at most 5% of fleets without slow nodes, resampled "
    "from this fleet's launches, have an equally significant node. Third, at most "
    f"{TAIL_LEVEL:.0%} of fleets without slow nodes, in which nodes differ as the other nodes of "
    f"this fleet do, have a node as far away. On average, at most {STATED:.0%} of the reported "
    "nodes are false positives (Benjamini & Hochberg 1995; docs/methods/nodes.md)."
)
_KIND_METHOD = (
    "Kinds of nodes are separated by values where two clusters explain them much better than one "
    "distribution with a tail, or than slow nodes of different slowness (likelihood ratio, 33 or "
    f"more for 50 nodes). A smaller cluster has at least {LEAST_KIND} nodes."
)
_GROUP_METHOD = (
    "A group of nodes, such as a rack, is reported if it is slower as a whole than the median "
    f"group: at most {GROUP_LEVEL:.0%} of random divisions of the nodes into such groups have an "
    "equally slow group in any measured quantity (permutations, max T, Westfall & Young 1993). "
    "The effects of slow groups are removed before nodes are compared."
)
_DEVICE_METHOD = (
    "Each device is also compared by itself with the devices of all nodes, by the same method, in "
    "cells that name its number."
)
_ABSENT = {
    "missing": "No result from {}",
    "failed": "{} did not measure",
    "unfinished": "{} did not finish",
}


def answer(found: NodesFindings) -> Answer:
    """The verdict over nodes; unmeasured if no cell was measured on two of them."""
    if not found.cells:
        return Answer(
            question=QUESTION,
            title=TITLE,
            status="unmeasured",
            verdict=f"Not measured: {counted(found.measured, 'node')} of {found.expected} "
            "cannot be compared.",
            confidence=None,
            confidence_why="",
            caveats=_absent(found),
        )
    confidence, why = _confidence(found)
    contention = together(node.contention for node in found.measurements)
    judged = Answer(
        question=QUESTION,
        title=TITLE,
        status="answered",
        verdict=_verdict(found),
        confidence=confidence,
        confidence_why=why,
        evidence=[
            *(group_evidence(each) for each in found.slow_groups),
            *(kind_evidence(each) for each in kinds_by_value(found)),
            *(suspect_evidence(each) for each in (*found.suspects, *found.device_suspects)),
            *(explained_evidence(each) for each in found.explained[:_MAX_CHECKS]),
            *(cell_evidence(cell) for cell in found.cells),
            *(over_devices(cell_evidence(cell)) for cell in found.device_cells),
        ],
        advice=[
            *(
                f"Check {each.title} ({members_count(each)}): {each.suspicion}."
                for each in found.slow_groups[:_MAX_CHECKS]
            ),
            *(
                f"Check {each.node}: {each.suspicion} ({each.evidence})."
                for each in (*found.suspects, *found.device_suspects)[:_MAX_CHECKS]
            ),
        ],
        caveats=[*_absent(found), *(_caveats(found) if found.examined else [])],
        method=[
            "Each node measured the same cells separately, at the same time as the others if the "
            "scheduler started them together. A node's value is the median of its launches' "
            "medians; the deviation is from the median over nodes, in percent and in robust "
            "standard deviations (1.4826 times the median absolute deviation, Hampel 1974).",
            *([_METHOD] if found.examined else []),
            *([_KIND_METHOD] if found.kinds_by_value else []),
            *([_GROUP_METHOD] if found.groups else []),
            *([_DEVICE_METHOD] if found.device_cells else []),
        ],
        limits=[
            "Interference between nodes, over the network and on shared storage, is not measured."
        ],
    )
    return gated(capped(judged, contention), impossible_contention(contention))


def _verdict(found: NodesFindings) -> str:
    """What to check or, if there is nothing to check, how much the nodes differ."""
    text = f"{_groups_text(found)}{kinds_text(found)}{_suspects_text(found)}{_devices_text(found)}"
    if found.suspects or found.slow_groups or found.device_suspects:
        return text.rstrip()
    return f"{text}{_widest_text(found)}"


def _devices_text(found: NodesFindings) -> str:
    """The devices to check; empty if there are none."""
    suspects = found.device_suspects
    if not suspects:
        return ""
    named = "; ".join(suspect_text(each) for each in suspects[:MAX_NAMED])
    more = f"; and {len(suspects) - MAX_NAMED} more" if len(suspects) > MAX_NAMED else ""
    return f"{len(suspects)} of {counted(found.devices, 'device')} to check. {named}{more}. "


def _confidence(found: NodesFindings) -> tuple[Confidence, str]:
    why = f"{found.measured} of {found.expected} nodes measured"
    if found.measured < MIN_VALUES:
        return "low", f"{why}: too few to identify which one deviates."
    if not found.suspects and (found.seen is None or found.seen > _TOO_LARGE):
        return "low", f"{why}, {_unseen_text(found)}."
    if found.fewest_launches < SURE_LAUNCHES:
        fewest = f"fewer than {SURE_LAUNCHES} launches per node"
        few = found.launches < MIN_LAUNCHES or found.undecided
        return ("low" if few else "medium"), f"{why}, {fewest}."
    incomplete = found.measured < found.expected or found.undecided
    unsure = any(each.beyond is not None and each.beyond > SURE_BEYOND for each in found.suspects)
    if unsure:
        why = (
            f"{why}, and more than {SURE_BEYOND:.0%} of fleets without slow nodes have a node as "
            "far away as a node to check"
        )
    if found.explained and not found.suspects:
        why = f"{why}, and {found.explained[0].node} may be slow or differ by nature"
    return ("medium" if incomplete or unsure or found.explained else "high"), f"{why}."


def _groups_text(found: NodesFindings) -> str:
    """The slow groups; empty if there are none."""
    slow = found.slow_groups
    if not slow:
        return ""
    totals = Counter(each.what for each in found.groups)
    total = listed([counted(number, what) for what, number in totals.items()])
    named = "; ".join(group_text(each) for each in slow[:MAX_NAMED])
    more = f"; and {len(slow) - MAX_NAMED} more" if len(slow) > MAX_NAMED else ""
    return f"Slower as a whole, of {total}: {named}{more}. "


def _suspects_text(found: NodesFindings) -> str:
    """The first sentence of the verdict: the suspect nodes, or that there is none."""
    nodes, suspects = counted(found.measured, "node"), found.suspects
    if not found.examined:
        return f"{nodes}. "
    if found.undecided and not suspects:
        return f"Undecided: {_undecided_text(found)} "
    if not suspects:
        return f"No node is provably slower: {_explained_text(found)} {_seen_text(found)}"
    named = "; ".join(suspect_text(each) for each in suspects[:MAX_NAMED])
    more = f"; and {len(suspects) - MAX_NAMED} more" if len(suspects) > MAX_NAMED else ""
    return f"{len(suspects)} of {nodes} to check. {named}{more}. "


def _explained_text(found: NodesFindings) -> str:
    nodes = counted(found.measured, "node")
    if not found.explained:
        return (
            f"the differences between {nodes} are within the variation between nodes and launches."
        )
    each = found.explained[0]
    return (
        f"{each.node} is the farthest from the others ({deviation_text(each)}), but "
        f"{chance_text(each.beyond)}."
    )


def _seen_text(found: NodesFindings) -> str:
    """What size of slow nodes would have been found."""
    if found.seen is None or found.seen > _TOO_LARGE:
        return ""
    return f"A node {found.seen:.1%} slower in all cells would have been named. "


def _unseen_text(found: NodesFindings) -> str:
    """Why too little is known of slow nodes, and what would decide."""
    size = f"below {_TOO_LARGE:.0%}" if found.seen else "of any size"
    if found.launches < MIN_LAUNCHES or found.undecided:
        return f"slow nodes {size} would not be named: too few launches per node"
    return (
        f"slow nodes {size} would not be named, because {counted(found.measured, 'node')} tell too "
        "little of the tail of their differences; more nodes would decide"
    )


def _undecided_text(found: NodesFindings) -> str:
    more = counted(found.more_launches, "more launch")
    return (
        f"{more} per node would decide whether any of {counted(found.measured, 'node')} is "
        f"slower; with {counted(found.launches, 'launch')} per node and this variation, a slow "
        "launch cannot be distinguished from a slow node."
    )


def _widest_text(found: NodesFindings) -> str:
    widest = max(found.cells, key=lambda cell: cell.spread)
    last, best = widest.values[-1], widest.values[0]
    return (
        f"The largest difference is {format_share(widest.spread)} of the median "
        f"{quantity_text(widest.median, widest.unit)}, in {widest.label}: between {last.node} "
        f"({signed(last)}) and {best.node} ({signed(best)})."
    )


def _absent(found: NodesFindings) -> list[str]:
    """Nodes without results, nodes that did not finish, and nodes measured more than once."""
    sentences = []
    for state, words in _ABSENT.items():
        members = [member for member in found.members if member.state == state]
        if members:
            names = ", ".join(m.host or f"number {m.number}" for m in members[:_MAX_ABSENT])
            more = ", …" if len(members) > _MAX_ABSENT else ""
            problems = Counter(m.problem for m in members if m.problem)
            why = f" ({problems.most_common(1)[0][0]})" if problems else ""
            sentences.append(f"{words.format(counted(len(members), 'node'))}: {names}{more}{why}.")
    hosts = Counter(member.host for member in found.members if member.node)
    twice = [str(host) for host, number in hosts.items() if number > 1]
    if twice:
        sentences.append(
            f"Measured more than once: {', '.join(twice[:_MAX_ABSENT])}. The scheduler allocated "
            "these nodes again, so some other nodes were not measured."
        )
    return sentences


def _caveats(found: NodesFindings) -> list[str]:
    """Nodes that failed, kinds of nodes, nodes that are faster, and single launches."""
    sentences = [*_failure_texts(found.failures), *_kind_texts(found.kinds, found.kinds_by_value)]
    if found.faster:
        named = ", ".join(
            f"{each.node} ({each.what} {format_change(each.gain)})"
            for each in found.faster[:_MAX_CHECKS]
        )
        more = ", …" if len(found.faster) > _MAX_CHECKS else ""
        sentences.append(f"Faster than the other nodes: {named}{more}.")
    further = found.explained if found.suspects else found.explained[1:]
    if further:
        stated = "; ".join(
            f"{each.node} ({deviation_text(each)}; {format_probability(each.beyond)})"
            for each in further[:_MAX_CHECKS]
        )
        more = ", …" if len(further) > _MAX_CHECKS else ""
        sentences.append(
            "Slower than most nodes, but possibly by nature (in brackets the share of fleets "
            f"without slow nodes that have a node as far away): {stated}{more}."
        )
    if found.undecided and found.suspects:
        sentences.append(f"Open for further nodes: {_undecided_text(found)}")
    if found.launches < 2:
        sentences.append(
            "Each node was measured in one launch only, so a slow launch cannot be "
            "distinguished from a slow node."
        )
    return sentences


def _failure_texts(failures: list[NodeFailure]) -> list[str]:
    sentences = [
        f"{each.node} failed where most others did not, in {each.cell}"
        + (f" and {counted(each.cells - 1, 'further cell')}" if each.cells > 1 else "")
        + f": {each.why}."
        for each in failures[:_MAX_CHECKS]
    ]
    left = len(failures) - _MAX_CHECKS
    return [*sentences, *([f"{counted(left, 'further node')} failed too."] if left > 0 else [])]


def _kind_texts(kinds: list[NodeKind], by_value: list[str]) -> list[str]:
    if len(kinds) < 2:
        return []
    named = (f"{k.nodes} ({k.description})" if k.description else k.nodes for k in kinds)
    how = f" The kinds were separated by values of {'; '.join(by_value)}." if by_value else ""
    return [
        f"There are {len(kinds)} kinds of nodes; nodes are compared within their kind: "
        f"{'; '.join(named)}.{how}"
    ]
