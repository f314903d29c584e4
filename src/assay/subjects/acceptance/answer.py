"""The answer of an acceptance."""

from __future__ import annotations

from assay.acceptance.node_decision import NodeDecision
from assay.questions.common.answer import Answer, Evidence
from assay.stats.core.launches import ENOUGH
from assay.subjects.acceptance.attempts import attempt_caveats
from assay.subjects.acceptance.further_words import further_caveats, further_method
from assay.subjects.acceptance.model import (
    AcceptanceFindings,
    JudgedAvailability,
    JudgedCommitment,
    JudgedScore,
    Promised,
)
from assay.subjects.acceptance.words import amount_text, claim_of, number_text
from assay.units import counted, format_limit, listed

QUESTION = "acceptance"
TITLE = "Was the promise kept?"
_MOST_NAMED = 8


def answer(found: AcceptanceFindings) -> Answer:
    """The verdict on the contract."""
    measured = [
        each
        for each in found.promises
        if not isinstance(each, JudgedScore) and each.value is not None
    ]
    return Answer(
        question=QUESTION,
        title=TITLE,
        status="answered" if measured else "unmeasured",
        verdict=verdict_of(found),
        confidence=None if not measured else "low" if found.outcome == "undecided" else "high",
        confidence_why=_risks(found) if measured else "",
        evidence=[_evidence(each) for each in found.commitments if each.value is not None],
        advice=_advice(found),
        caveats=_caveats(found),
        method=_method(found),
        limits=_limits(found),
    )


def verdict_of(found: AcceptanceFindings) -> str:
    """The verdict in one sentence, with score and amounts."""
    counts = [f"{number} {outcome}" for outcome, number in found.counts.items()]
    word = {
        "accepted": "Accepted",
        "rejected": "Rejected",
        "undecided": "Undecided",
    }[found.outcome]
    parts = [f"{word}: {counted(len(found.promises), noun_of(found))}, {listed(counts)}"]
    if found.score is not None:
        promised = found.promised_score
        least = "" if promised is None else f" (at least {promised.at_least:.4g} promised)"
        parts.append(f"score {number_text(found.score, found.score_ci95)}{least}")
    if found.currency:
        penalty = amount_text(found.penalty.value, found.penalty.interval, found.currency)
        parts.append(f"penalty {penalty}")
        if found.bonus.value or (found.bonus.interval and found.bonus.interval[1]):
            bonus = amount_text(found.bonus.value, found.bonus.interval, found.currency)
            parts.append(f"bonus {bonus}")
    return "; ".join(parts) + "."


def noun_of(found: AcceptanceFindings) -> str:
    """What the contract's promises are called together."""
    return "commitment" if len(found.promises) == len(found.commitments) else "promise"


def label_of(found: Promised, judged: AcceptanceFindings) -> str:
    """The name of a promise, with its cell if it has several."""
    if isinstance(found, JudgedScore):
        return "Score"
    if isinstance(found, JudgedAvailability):
        return found.name
    alike = judged.commitments if isinstance(found, JudgedCommitment) else judged.variations
    several = sum(each.number == found.number for each in alike) > 1
    return f"{found.name}: {found.cell}" if several else found.name


def _risks(found: AcceptanceFindings) -> str:
    if not (found.commitments or found.variations):
        return "Availability is counted."
    if found.outcome == "undecided":
        return (
            f"{counted(found.counts['undecided'], noun_of(found))} "
            f"{'is' if found.counts['undecided'] == 1 else 'are'} not decided at the contract's "
            "risks."
        )
    return (
        f"A machine as promised is rejected with a probability of at most "
        f"{format_limit(found.supplier)}. A machine that is worse by the margin is accepted with "
        f"at most {format_limit(found.buyer)}."
    )


def _evidence(each: JudgedCommitment) -> Evidence:
    assert each.value is not None
    return Evidence(
        label=each.name,
        metric=each.metric,
        unit=each.unit,
        value=each.value,
        ci95=each.ci95,
        note=f"{each.cell}; {each.promise}",
    )


def _advice(found: AcceptanceFindings) -> list[str]:
    advice = [
        f"{label_of(each, found)}: have "
        f"{listed([node.node for node in each.nodes.slow[:_MOST_NAMED]])} repaired, and measure "
        "these nodes again."
        for each in found.of("rejected")[:_MOST_NAMED]
        if each.nodes is not None and each.nodes.slow
    ]
    advice += [
        f"{label_of(each, found)}: {each.remedy}"
        for each in [each for each in found.promises if each.outcome == "undecided"][:_MOST_NAMED]
    ]
    return advice


def _caveats(found: AcceptanceFindings) -> list[str]:
    caveats = []
    if any(each.fake for each in found.runs):
        caveats.append("The machine is simulated (`--fake`): nothing was accepted.")
    caveats += attempt_caveats(found)
    assumed = [each for each in found.commitments if each.assumed and each.value is not None]
    if assumed:
        caveats.append(
            f"Launches may depend on each other. For {counted(len(assumed), 'commitment')}, strong "
            f"dependence was assumed: a look at fewer than {ENOUGH} launches and fewer than four "
            "independent other cells don't exclude it."
        )
    caveats += further_caveats(found)
    systems = sorted({each.system for each in found.runs if each.system})
    if len(systems) > 1:
        caveats.append(f"The runs are of several systems: {listed(systems[:_MOST_NAMED])}.")
    ignored = [
        each for each in found.commitments if each.nodes is None and each.used < each.launches
    ]
    if any(each.outcome != "undecided" for each in ignored):
        caveats.append(
            "Launches after the deciding look don't count: a test that goes on until the result "
            "fits holds no risk."
        )
    return caveats


def _method(found: AcceptanceFindings) -> list[str]:
    method = _tests(found) if found.commitments else []
    if any(each.nodes is not None for each in found.commitments):
        method.append(
            "A node is worse than promised if the noise of launches, which all nodes together "
            "show, hardly explains its median. Nodes that were not measured are bounded by the "
            "hypergeometric distribution."
        )
    if found.mean is not None:
        how = "weighted geometric mean" if found.mean == "geometric" else "weighted mean"
        method.append(
            f"The score is the {how} of the commitments' speedups. Its interval takes their "
            "medians as independent."
        )
    method += further_method(found)
    if found.currency:
        method.append(
            "A penalty is due for a rejected commitment, by its median; the range is from its 95% "
            "interval. For an undecided one it is 0 now, and its range begins at 0. A bonus is due "
            "for what the whole interval of an accepted commitment exceeds the promise by."
        )
    return method


def _tests(found: AcceptanceFindings) -> list[str]:
    return [
        "Each commitment has two tests on the median of its launches. One rejects it if too many "
        "launches are worse than promised. The other accepts it if enough launches are better than "
        "a value that is worse by the margin. Both count launches, so that tails and modes have no "
        "influence.",
        f"The tests look after several numbers of launches, up to {found.most_launches}, and each "
        "holds its risk over all looks (group-sequential, error spending). The supplier's risk "
        f"holds for all {noun_of(found)}s together (Holm). The buyer's risk holds for each "
        f"{noun_of(found)}, and the contract is accepted only if each is.",
    ]


def _limits(found: AcceptanceFindings) -> list[str]:
    claims = [
        f"{label_of(each, found)}: {claim_of(each.nodes, each.margin, found.buyer)}"
        for each in found.commitments
        if isinstance(each.nodes, NodeDecision)
    ]
    return [
        *claims,
        "The verdict holds for the period in which the runs were made, and if no other runs of "
        "the contract were left out.",
        *(
            ["A commitment per node is judged once: state the number of launches beforehand."]
            if claims
            else []
        ),
    ]
