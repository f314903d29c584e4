"""Reads contracts: everything that contradicts itself or the catalogue is an error."""

from __future__ import annotations

import hashlib
import math
from fnmatch import fnmatchcase
from pathlib import Path

from assay.acceptance.contract import (
    CONTRACT_SCHEMA,
    FEWEST_LAUNCHES,
    MOST_LAUNCHES,
    Commitment,
    Contract,
    Risks,
    WrittenCommitment,
    WrittenContract,
)
from assay.acceptance.reading.consistency import check_pairs, check_words
from assay.acceptance.reading.promises import (
    MOST_MARGIN,
    check_amount,
    further_promises,
    read_payment,
    read_share,
)
from assay.config.expectation import check_pattern, unmatched
from assay.errors import AssayError, nearest
from assay.hostnames import expand_hosts
from assay.kernels import kernels
from assay.kernels.catalogue import Kernel, Metric
from assay.toml import KeyPath, TomlDocument, load_toml
from assay.units import parse_quantity

# A greater risk shows a misunderstanding.
_MOST_RISK = 0.5
_BOUNDS = ("at_least", "at_most", "within")
_MOST_NODES = 1_000_000


def read_contract(path: Path) -> Contract:
    """Read a contract. Raises AssayError with file, line and fix for anything that is wrong."""
    return contract_of(load_toml(path))


def contract_of(document: TomlDocument) -> Contract:
    """The contract in a document. Raises AssayError as ``read_contract`` does."""
    if document.data.get("schema", CONTRACT_SCHEMA) != CONTRACT_SCHEMA:
        raise document.error(
            ["schema"],
            f"The contract has schema {document.data['schema']}; this version reads "
            f"{CONTRACT_SCHEMA}.",
            f"Write schema = {CONTRACT_SCHEMA}, or use a newer version of assay.",
        )
    written = document.read([], document.data, WrittenContract)
    if not written.commitment and not written.steadiness:
        raise document.error(
            [],
            "The contract has no commitment.",
            'Add [[commitment]] with cells = "memory.stream" and at_least = "180 GB/s".',
        )
    if written.score is not None and not written.commitment:
        raise document.error(
            ["score"], "A score needs commitments.", "Add [[commitment]], or remove [score]."
        )
    nodes, hosts = _machine(document, written)
    risks = _risks(document, written)
    margin = read_share(document, ["risks", "margin"], written.risks.margin, MOST_MARGIN)
    commitments = tuple(
        _commitment(document, place, each, margin, nodes, has_currency=bool(written.penalties))
        for place, each in enumerate(written.commitment)
    )
    check_pairs(document, commitments)
    penalties, score = written.penalties, written.score
    further = further_promises(document, written, margin, nodes)
    for name in ("cap", "bonus_cap"):
        check_amount(document, ["penalties", name], getattr(penalties, name, None))
    return Contract(
        title=written.title,
        file=str(document.path),
        digest=hashlib.sha256(document.text.encode()).hexdigest(),
        text=document.text,
        risks=risks,
        nodes=nodes,
        hosts=hosts,
        mean=None if score is None else score.mean,
        scale=1.0
        if score is None
        else _ratio(document, ["score"], "nodes", score.nodes, score.reference_nodes),
        currency=penalties.currency if penalties else "",
        cap=penalties.cap if penalties else None,
        bonus_cap=penalties.bonus_cap if penalties else None,
        commitments=commitments,
        promised_score=further.score,
        availabilities=further.availabilities,
        variations=further.variations,
    )


def _risks(document: TomlDocument, written: WrittenContract) -> Risks:
    risks = written.risks
    if not FEWEST_LAUNCHES <= risks.launches <= MOST_LAUNCHES:
        raise document.error(
            ["risks", "launches"],
            f"A decision can't take {risks.launches} launches.",
            f"Write a number from {FEWEST_LAUNCHES} to {MOST_LAUNCHES}.",
        )
    return Risks(
        supplier=read_share(document, ["risks", "supplier"], risks.supplier, _MOST_RISK),
        buyer=read_share(document, ["risks", "buyer"], risks.buyer, _MOST_RISK),
        launches=risks.launches,
    )


def _machine(
    document: TomlDocument, written: WrittenContract
) -> tuple[int | None, tuple[str, ...]]:
    machine = written.machine
    hosts: tuple[str, ...] = ()
    if machine.hosts is not None:
        hosts = _hosts(document, machine.hosts)
        if len(set(hosts)) != len(hosts):
            raise document.error(
                ["machine", "hosts"], "'hosts' names a node twice.", "Name each node once."
            )
        if machine.nodes not in (None, len(hosts)):
            raise document.error(
                ["machine", "nodes"],
                f"The machine can't have {machine.nodes} nodes: 'hosts' names {len(hosts)}.",
                "Remove 'nodes', or correct 'hosts'.",
            )
    nodes = len(hosts) if hosts else machine.nodes
    if nodes is not None and not 1 <= nodes <= _MOST_NODES:
        raise document.error(
            ["machine", "nodes"],
            f"The machine can't have {nodes} nodes.",
            f"Write a number from 1 to {_MOST_NODES:,}.",
        )
    return nodes, hosts


def _hosts(document: TomlDocument, written: str) -> tuple[str, ...]:
    try:
        return expand_hosts(written)
    except AssayError as error:
        raise document.error(["machine", "hosts"], error.what, error.fix) from None


def _commitment(
    document: TomlDocument,
    place: int,
    written: WrittenCommitment,
    margin: float,
    nodes: int | None,
    *,
    has_currency: bool,
) -> Commitment:
    path: list[str | int] = ["commitment", place]
    check_pattern(document, [*path, "cells"], written.cells)
    _check_bounds(document, path, written)
    _check_nodes(document, path, written, nodes)
    check_words(document, path, written, nodes)
    for name in ("weight", "capability"):
        number = getattr(written, name)
        if not 0.0 < number < math.inf:
            raise document.error(
                [*path, name],
                f"'{name}' can't be {number:g}.",
                "Write a number above 0, or remove the commitment from the contract."
                if name == "weight"
                else "Write a number above 0.",
            )
    if not has_currency and (written.penalty is not None or written.bonus is not None):
        raise document.error(
            [*path, "penalty" if written.penalty is not None else "bonus"],
            "The amount has no currency.",
            'Add [penalties] with currency = "EUR".',
        )
    commitment = Commitment(
        number=place + 1,
        name=written.name or written.cells,
        cells=written.cells,
        metric=written.metric,
        at_least=written.at_least,
        at_most=written.at_most,
        within=written.within,
        per=written.per,
        share=1.0
        if written.share is None
        else float(parse_quantity(written.share, "1", where=document.where([*path, "share"]))),
        margin=margin
        if written.margin is None
        else read_share(document, [*path, "margin"], written.margin, MOST_MARGIN),
        weight=written.weight,
        reference=written.reference,
        capability=written.capability,
        utilisation=_ratio(
            document, path, "nodes_used", written.reference_nodes_used, written.nodes_used
        ),
        nodes_used=written.nodes_used,
        penalty=read_payment(document, path, "penalty", written.penalty, written.penalty_cap),
        bonus=read_payment(document, path, "bonus", written.bonus, written.bonus_cap),
        variation=None
        if written.variation is None
        else read_share(document, [*path, "variation"], written.variation, 1.0),
        where=document.where(path),
    )
    _check_metrics(document, path, commitment)
    return commitment


def _check_bounds(document: TomlDocument, path: KeyPath, written: WrittenCommitment) -> None:
    given = [name for name in _BOUNDS if getattr(written, name) is not None]
    if len(given) != 1:
        said = f"both '{given[0]}' and '{given[1]}'" if given else "no promised value"
        raise document.error(
            [*path, given[1]] if given else path,
            f"The commitment has {said}.",
            'Write one of at_least = "180 GB/s", at_most = "2 us" and '
            'within = ["1.9 us", "2.1 us"].',
        )
    if written.within is not None and len(written.within) != 2:
        raise document.error(
            [*path, "within"], "'within' needs two ends.", 'Write, for example, ["1 us", "2 us"].'
        )


def _check_nodes(
    document: TomlDocument, path: KeyPath, written: WrittenCommitment, nodes: int | None
) -> None:
    if written.per == "node" and nodes is None:
        raise document.error(
            [*path, "per"],
            "The contract states no nodes, so none can meet the commitment.",
            "Add [machine] with nodes = 400, or hosts in bracket notation.",
        )
    if written.share is None:
        return
    if written.per != "node":
        raise document.error(
            [*path, "share"],
            "'share' is a share of nodes, but the commitment is for the system.",
            "Add per = \"node\", or remove 'share'.",
        )
    value = float(parse_quantity(written.share, "1", where=document.where([*path, "share"])))
    if not 0.0 < value <= 1.0:
        raise document.error(
            [*path, "share"],
            f"'share' can't be {written.share}.",
            "Write a share above 0 and at most 100%.",
        )


def _ratio(
    document: TomlDocument, path: KeyPath, name: str, over: int | None, under: int | None
) -> float:
    """``over`` ÷ ``under``; 1 if neither is stated. ``name``: key of the machine's own number."""
    if over is None and under is None:
        return 1.0
    if over is None or under is None or min(over, under) < 1:
        raise document.error(
            path,
            f"'{name}' and 'reference_{name}' must both be numbers of nodes from 1.",
            "State both, or neither.",
        )
    return over / under


def _check_metrics(document: TomlDocument, path: KeyPath, commitment: Commitment) -> None:
    """Check metric, unit and direction for each kernel of the catalogue that the pattern names."""
    name = commitment.cells.split()[0]
    chosen = [each for each in kernels() if fnmatchcase(each.name, name)]
    families = {each.name.partition(".")[0] for each in kernels()}
    if not chosen and name.partition(".")[0] in families:
        raise document.error(
            [*path, "cells"],
            f"There is no kernel '{name}'.",
            nearest(name, [each.name for each in kernels()]),
        )
    for kernel in chosen:
        metric = _metric(kernel, commitment)
        commitment.limits(metric.unit)
        commitment.reference_value(metric.unit)
        commitment.check_direction(metric.name, metric.better)


def _metric(kernel: Kernel, commitment: Commitment) -> Metric:
    wanted = commitment.metric or kernel.headline
    for metric in kernel.metrics:
        if metric.name == wanted:
            return metric
    known = [each.name for each in kernel.metrics]
    raise unmatched(commitment.cells, wanted, known, commitment.where)
