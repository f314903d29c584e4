"""How many launches and nodes decide a contract's commitments at its risks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from assay.acceptance.boundaries import decision_chances, looks_of, required_counts, widened
from assay.acceptance.contract import MOST_LAUNCHES, Contract, Risks, VariationPromise
from assay.acceptance.measured import Item
from assay.acceptance.node_decision import NodesPlan
from assay.acceptance.sampling import allowed_bad, most_bad, sample_needed
from assay.acceptance.steadiness import values_needed
from assay.acceptance.verdicts import further_weights, weights_of
from assay.hostnames import compress_hosts, expand_hosts, natural
from assay.stats.cells.dependence import NEEDED
from assay.stats.core.launches import ENOUGH, MIN_ORDERED, autoregressive_size

# Coefficient of variation of launches where neither a run nor the contract states one.
ASSUMED = 0.01
# Numbers of launches for which the chances are computed exactly; above, the normal approximation.
_EXACT = (6, 7, 8, 9, 10, 12, 14, 16, 18, 20, 21, 24, 27, 30, 36, 42, 50, 60, 80, 100)
# Median of normal values: standard error times sqrt(n), in standard deviations.
_OF_MEDIAN = 1.2533
# Fewest launches of a node that show, with those of other nodes, what noise is; and fewest nodes.
_FEWEST_OF_NODE, _FEW_NODES = MIN_ORDERED, 5
_NORMAL = NormalDist()


@dataclass(frozen=True)
class PlannedCommitment:
    """What decides a commitment."""

    number: int
    name: str
    cell: str
    per: str
    #: Coefficient of variation between launches, and where it is from.
    variation: float
    source: str
    #: Share of the value by which a result must be worse to count as worse.
    margin: float
    #: Launches of each cell at which both risks are held; None if the most launches don't suffice.
    launches: int | None
    #: Expected launches until a decision, for a machine exactly as promised, and for one that is
    #: worse by the margin; None if unknown.
    expected: float | None
    expected_worse: float | None
    #: Nodes to measure: of a commitment per node the sample, otherwise the cell's nodes.
    nodes: int
    #: Seconds and node hours of all launches; None without an earlier run.
    seconds: float | None
    node_hours: float | None
    #: The nodes to sample in bracket notation; empty if all are measured or names are unknown.
    sample: str
    #: The claim that follows if no sampled node is bad, or what it would take if ``launches`` is
    #: None.
    sentence: str


@dataclass(frozen=True)
class AcceptancePlan:
    """A plan for a contract."""

    title: str
    supplier: float
    buyer: float
    #: Maximum number of launches that the contract allows.
    launches: int
    commitments: list[PlannedCommitment]

    @property
    def decidable(self) -> bool:
        """Whether the contract's launches decide each commitment."""
        return all(
            each.launches is not None and each.launches <= self.launches
            for each in self.commitments
        )


def plan_of(contract: Contract, items: Sequence[Item]) -> AcceptancePlan:
    """The plan. ``items``: the commitments by earlier runs; those without a result are planned from
    the contract's assumptions. Promises of little variation follow the commitments.
    """
    weights = [*weights_of(items), *further_weights(contract)]
    shares = [each / math.fsum(weights) for each in weights]
    return AcceptancePlan(
        title=contract.title,
        supplier=contract.risks.supplier,
        buyer=contract.risks.buyer,
        launches=contract.risks.launches,
        commitments=[
            *(
                _planned(contract, each, share, len(weights))
                for each, share in zip(items, shares, strict=False)
            ),
            *(_varying(contract, each, len(contract.commitments)) for each in contract.variations),
        ],
    )


def _varying(contract: Contract, promise: VariationPromise, before: int) -> PlannedCommitment:
    """The row of a promise of little variation; ``before``: number of commitments."""
    risks = contract.risks
    needed = values_needed(promise.margin, risks.supplier, risks.buyer)
    days = promise.between == "days"
    sentence = ""
    if needed is None:
        sentence = (
            f"{MOST_LAUNCHES:,} {promise.between} can't tell a variation of {promise.at_most:.2%} "
            f"from one that is greater by {promise.margin:.0%}: agree on a greater margin."
        )
    elif days:
        sentence = f"Measure on {needed} days."
    elif needed > risks.launches:
        sentence = f"The contract allows {risks.launches}: write launches = {needed} or more."
    return PlannedCommitment(
        number=before + promise.number,
        name=promise.name,
        cell=promise.cells,
        per=promise.per,
        variation=promise.at_most,
        source="promised",
        margin=promise.margin,
        launches=min(needed, risks.launches) if needed is not None and days else needed,
        expected=None,
        expected_worse=None,
        nodes=1,
        seconds=None,
        node_hours=None,
        sample="",
        sentence=sentence,
    )


def _planned(contract: Contract, item: Item, share: float, count: int) -> PlannedCommitment:
    commitment = item.commitment
    variation, source = _variation(item)
    if commitment.per == "node":
        return _nodes(contract, item, variation, source, contract.risks.supplier * share)
    seen = item.dependence(int(item.values.size))
    known = seen.known if not item.missing else count > NEEDED
    rho = seen.autocorrelation if seen.known else 0.0
    risks = contract.risks
    rejecting = risks.supplier * share / (1.0 if commitment.within is None else 2.0)
    found = launches_needed(
        variation=variation,
        margin=commitment.margin,
        rejecting=rejecting,
        accepting=risks.buyer,
        supplier=risks.supplier,
        rho=rho,
    )
    if found is not None and not known:
        # Fewer launches don't show whether they depend on each other.
        found = max(found[0], ENOUGH), max(found[1], ENOUGH), max(found[2], ENOUGH)
    sentence = ""
    if found is None:
        sentence = _takes(variation, commitment.margin, rejecting, risks)
    elif found[0] > risks.launches:
        sentence = f"The contract allows {risks.launches}: write launches = {found[0]} or more."
    launches = None if found is None else found[0]
    seconds = None if launches is None or item.seconds is None else launches * item.seconds
    return PlannedCommitment(
        number=commitment.number,
        name=commitment.name,
        cell=item.cell,
        per=commitment.per,
        variation=variation,
        source=source,
        margin=commitment.margin,
        launches=launches,
        expected=None if found is None else found[1],
        expected_worse=None if found is None else found[2],
        nodes=item.width,
        seconds=seconds,
        node_hours=None if seconds is None else seconds * item.width / 3600.0,
        sample="",
        sentence=sentence,
    )


def _variation(item: Item) -> tuple[float, str]:
    parts = list(item.nodes.values()) if item.nodes else [item.values]
    logs = [np.log(each) for each in parts if each.size > 2]
    free = sum(each.size - 1 for each in logs)
    if free > 1:
        squares = sum(float(np.sum((each - each.mean()) ** 2)) for each in logs)
        launches = sum(each.size for each in logs)
        # A variation of zero is one that the clock can't show.
        return max(math.sqrt(squares / free), 1e-6), f"measured, {launches} launches"
    if item.commitment.variation is not None:
        return item.commitment.variation, "assumed in the contract"
    return ASSUMED, "assumed"


def launches_needed(
    variation: float,
    margin: float,
    rejecting: float,
    accepting: float,
    supplier: float,
    rho: float = 0.0,
) -> tuple[int, float, float] | None:
    """The launches at which a conforming machine is accepted with a probability of 1 minus
    ``supplier``, and one worse by the margin is rejected with 1 minus ``accepting``.

    ``rejecting``, ``accepting``: risks of the two tests. Launches are normal with a standard
    deviation of ``variation`` on logarithms; ``rho``: their autocorrelation. Also the expected
    launches in both cases. None if more than ``MOST_LAUNCHES``.
    """
    apart = _NORMAL.cdf(-math.log1p(-margin) / variation)
    for most in _EXACT:
        sizes = looks_of(most)
        worth = [autoregressive_size(size, rho) for size in sizes]
        needs = [
            [
                widened(*each)
                for each in zip(required_counts(sizes, risk), sizes, worth, strict=True)
            ]
            for risk in (rejecting, accepting)
        ]
        good = decision_chances(sizes, needs[0], needs[1], 1.0 - apart, apart - 0.5)
        bad = decision_chances(sizes, needs[0], needs[1], 0.5, apart - 0.5)
        if good[1] >= 1.0 - supplier and bad[0] >= 1.0 - accepting:
            return most, good[2], bad[2]
    reach = _reach(rejecting, accepting, supplier)
    fixed = math.inf if apart <= 0.5 else (reach / (apart - 0.5)) ** 2
    fixed *= MOST_LAUNCHES / autoregressive_size(MOST_LAUNCHES, rho)
    if fixed > MOST_LAUNCHES:
        return None
    most = max(math.ceil(fixed), _EXACT[-1])
    return most, float(most), float(most)


def _reach(rejecting: float, accepting: float, supplier: float) -> float:
    """Distance of the share of launches from one half, times the root of their number, at which
    both tests decide. Looks cost launches: 15% more than one look at the end."""
    z = [-_NORMAL.inv_cdf(risk) for risk in (rejecting, accepting, supplier)]
    return 0.5 * max(z[0] + z[1], z[1] + z[2]) * math.sqrt(1.15)


def _takes(variation: float, margin: float, rejecting: float, risks: Risks) -> str:
    """What an undecidable commitment would take."""
    share = 0.5 + _reach(rejecting, risks.buyer, risks.supplier) / math.sqrt(MOST_LAUNCHES)
    ratio = _NORMAL.inv_cdf(share)
    return (
        f"{MOST_LAUNCHES:,} launches can't find {margin:.1%} with a variation of {variation:.2%}: "
        f"it would take a margin of {-math.expm1(-ratio * variation):.1%}, or a variation of "
        f"{-math.log1p(-margin) / ratio:.2%}."
    )


def _nodes(
    contract: Contract, item: Item, variation: float, source: str, supplier: float
) -> PlannedCommitment:
    commitment, buyer = item.commitment, contract.risks.buyer
    assert contract.nodes is not None
    nodes = contract.nodes
    allowed = allowed_bad(commitment.share, nodes)
    sample = sample_needed(allowed, nodes, buyer / 2.0)
    whole = sample >= nodes
    part = (1.0 if whole else 0.5) / sample
    z = max(
        -_NORMAL.inv_cdf(one * part) - _NORMAL.inv_cdf(other / sample)
        for one, other in ((supplier, buyer), (buyer, supplier))
    )
    needed = math.ceil((z * _OF_MEDIAN * variation / -math.log1p(-commitment.margin)) ** 2)
    fewest = _FEWEST_OF_NODE if sample >= _FEW_NODES else ENOUGH
    launches = None
    if needed <= MOST_LAUNCHES:
        judged = NodesPlan(
            nodes=nodes,
            sample=sample,
            margin=commitment.margin,
            variation=variation,
            supplier=supplier,
            buyer=buyer,
        )
        launches = judged.launches(max(needed, fewest))
    bound = 0 if whole else most_bad(0, sample, nodes, buyer / 2.0)
    if launches is None:
        sentence = _takes(variation, commitment.margin, supplier, contract.risks)
    elif whole:
        sentence = "All nodes must be measured."
    else:
        sentence = (
            f"If none of {sample} nodes is bad: with {1.0 - buyer:.0%} confidence at most "
            f"{bound / nodes:.1%} of the {nodes} nodes are worse than promised by "
            f"{commitment.margin:.1%}."
        )
    seconds = None if launches is None or item.seconds is None else launches * item.seconds
    return PlannedCommitment(
        number=commitment.number,
        name=commitment.name,
        cell=item.cell,
        per=commitment.per,
        variation=variation,
        source=source,
        margin=commitment.margin,
        launches=launches,
        expected=None,
        expected_worse=None,
        nodes=sample,
        seconds=seconds,
        node_hours=None if seconds is None else seconds * sample / 3600.0,
        sample="" if whole else drawn_nodes(contract, sample),
        sentence=sentence,
    )


@dataclass(frozen=True)
class NodesToMeasure:
    """The nodes of a contract that are measured: their number, and their names if known."""

    count: int
    names: tuple[str, ...]


def sampled_nodes(contract: Contract, plan: AcceptancePlan) -> NodesToMeasure:
    """The nodes that the commitments per node need together: the largest of their samples."""
    planned = [each for each in plan.commitments if each.per == "node"]
    most = max(planned, key=lambda each: each.nodes)
    names = expand_hosts(most.sample) if most.sample else contract.hosts
    return NodesToMeasure(most.nodes, names)


def node_launches(contract: Contract, plan: AcceptancePlan) -> int:
    """The launches of each node, which are fixed before measuring because nodes are judged once."""
    planned = [each.launches for each in plan.commitments if each.per == "node"]
    needed = max(contract.risks.launches if each is None else each for each in planned)
    return min(needed, contract.risks.launches)


def drawn_nodes(contract: Contract, sample: int) -> str:
    """A random sample of the contract's nodes in bracket notation; empty if they have no names.

    The contract's text is the seed, so that both sides draw the same nodes.
    """
    if not contract.hosts:
        return ""
    rng = np.random.default_rng(int(contract.digest, 16))
    chosen = rng.choice(len(contract.hosts), size=sample, replace=False)
    return compress_hosts(sorted((contract.hosts[place] for place in chosen), key=natural))
