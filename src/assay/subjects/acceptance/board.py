"""The first screen of an acceptance: verdict, score, amounts, counts, and what is to be decided."""

from __future__ import annotations

from assay.questions.common.tables import Tone
from assay.subjects.acceptance.answer import label_of, noun_of
from assay.subjects.acceptance.further_tables import TONES
from assay.subjects.acceptance.model import AcceptanceFindings, Amount
from assay.subjects.acceptance.words import amount_text, number_text
from assay.subjects.board import Board, Headline
from assay.units import counted, format_limit, listed

_WORDS = {"accepted": "Accepted", "rejected": "Rejected", "undecided": "Undecided"}
# Maximum promises that the first screen names in a sentence.
_MOST = 4
# Maximum characters of a promise's name there.
_LONGEST = 44


def board_of(found: AcceptanceFindings) -> Board:
    """The board."""
    return Board(
        verdict=_WORDS[found.outcome],
        tone=TONES[found.outcome],
        sentence=_sentence(found),
        headlines=[*_score(found), *_amounts(found), *_counts(found)],
        decide=_decide(found),
        sure=_sure(found),
        what=_what(found),
        costs=_costs(found),
    )


def _sentence(found: AcceptanceFindings) -> str:
    noun = noun_of(found)
    all_of = len(found.promises)
    counts = found.counts
    if found.outcome == "accepted":
        return f"All {all_of} {noun}s are kept." if all_of > 1 else f"The {noun} is kept."
    if found.outcome == "rejected":
        broken = counts["rejected"]
        if all_of == 1:
            return f"The {noun} is broken."
        return f"{counted(broken, noun)} of {all_of} {'is' if broken == 1 else 'are'} broken."
    still = counts["undecided"]
    if all_of == 1:
        return f"The {noun} is not decided yet."
    return f"{counted(still, noun)} of {all_of} {'is' if still == 1 else 'are'} not decided yet."


def _what(found: AcceptanceFindings) -> list[str]:
    systems = sorted({run.system for run in found.runs if run.system})
    judged = f"{counted(len(found.promises), noun_of(found))} of the contract {found.title!r}"
    machine = f" of {listed(systems)}" if systems else ""
    return [f"{judged}, judged by {counted(len(found.runs), 'run')}{machine}."]


def _costs(found: AcceptanceFindings) -> list[str]:
    if not found.currency:
        return ["The contract states no amounts."]
    lines = []
    for name, amount in (("penalty", found.penalty), ("bonus", found.bonus)):
        if amount.value or (amount.interval and amount.interval[1]):
            text = amount_text(amount.value, amount.interval, found.currency)
            lines.append(f"The {name} that is due now is {text}.")
    return lines or ["No penalty and no bonus is due."]


def _score(found: AcceptanceFindings) -> list[Headline]:
    if found.mean is None:
        return []
    promised = found.promised_score
    note = "mean of speedups over the reference"
    tone: Tone = ""
    if promised is not None:
        note = f"at least {promised.at_least:.4g} promised: {promised.outcome}"
        tone = TONES[promised.outcome]
    if found.score is None:
        return [Headline("Score", "none", "a commitment has no result", tone)]
    return [Headline("Score", number_text(found.score, found.score_ci95), note, tone)]


def _amounts(found: AcceptanceFindings) -> list[Headline]:
    if not found.currency:
        return []
    lines = [_amount("Penalty", found.penalty, found, "bad")]
    if found.bonus.value or (found.bonus.interval and found.bonus.interval[1]):
        lines.append(_amount("Bonus", found.bonus, found, "good"))
    return lines


def _amount(name: str, amount: Amount, found: AcceptanceFindings, due: Tone) -> Headline:
    note = "due now [range by the 95% intervals]"
    if amount.interval is None:
        note = "due now; the launches don't bound it"
    elif amount.interval == (amount.value, amount.value):
        note = "due now"
    text = amount_text(amount.value, amount.interval, found.currency)
    return Headline(name, text, note, due if amount.value else "")


def _counts(found: AcceptanceFindings) -> list[Headline]:
    return [
        Headline(_WORDS[outcome], str(number), f"of {len(found.promises)}", TONES[outcome])
        for outcome, number in found.counts.items()
    ]


def _decide(found: AcceptanceFindings) -> list[str]:
    """What board members have to decide, in order of weight."""
    rejected, still = (_labels(found, outcome) for outcome in ("rejected", "undecided"))
    lines = []
    if rejected:
        due = (
            f" {amount_text(found.penalty.value, found.penalty.interval, found.currency)} are due."
            if found.penalty.value
            else ""
        )
        lines.append(
            f"Reject the machine, have it repaired and measured again, or accept it with the "
            f"penalty: {_named(rejected)}.{due}"
            if found.currency
            else f"Reject the machine, or have it repaired and measured again: {_named(rejected)}."
        )
    if still:
        remedies = list(dict.fromkeys(e.remedy for e in found.promises if e.outcome == "undecided"))
        what = remedies[0] if len(remedies) == 1 else "Each page says what would decide it."
        lines.append(f"Open: {_named(still)}. {what}")
    if not lines:
        lines.append("Sign the acceptance. No promise is open.")
    return lines


def _labels(found: AcceptanceFindings, outcome: str) -> list[str]:
    """The names of promises; of a long name the begin, with the number of its page."""
    labels = []
    for number, each in enumerate(found.promises, start=1):
        label = label_of(each, found)
        if len(label) > _LONGEST:
            label = f"{number} ({label[:_LONGEST].rsplit(' ', 1)[0]} …)"
        if each.outcome == outcome:
            labels.append(label)
    return labels


def _named(labels: list[str]) -> str:
    more = len(labels) - _MOST
    if more > 0:
        return f"{', '.join(labels[:_MOST])} and {more} more"
    return listed(labels)


def _sure(found: AcceptanceFindings) -> list[str]:
    """How sure the verdict is."""
    if not (found.commitments or found.variations):
        return ["Availability is counted. It has no risk beyond the log's completeness."]
    lines = [
        f"A machine as promised is rejected with a probability of at most "
        f"{format_limit(found.supplier)}, for all {noun_of(found)}s together.",
        f"A machine that is worse by the margin in a {noun_of(found)} is accepted with at most "
        f"{format_limit(found.buyer)}.",
    ]
    assumed = sum(e.assumed for e in found.commitments if e.value is not None)
    if assumed:
        lines.append(
            f"For {counted(assumed, 'commitment')} strong dependence of launches was assumed, "
            "because the runs don't exclude it."
        )
    if any(run.fake for run in found.runs):
        lines.insert(0, "The machine is simulated: nothing was accepted.")
    return lines
