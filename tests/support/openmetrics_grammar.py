"""Parses OpenMetrics 1.0 text, by the specification's ABNF and its rules for families.

Raises ``WrongText`` for any violation. It knows the types that assay writes: gauge, stateset.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

# ABNF of the specification: metricname, label-name, escaped-string, number, timestamp = realnumber.
METRIC_NAME = r"[A-Za-z_:][A-Za-z0-9_:]*"
LABEL_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
ESCAPED = r'(?:[^"\\\n]|\\["\\n])*'
REAL = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
NUMBER = rf"(?:{REAL}|[+-]?[Ii][Nn][Ff](?:[Ii][Nn][Ii][Tt][Yy])?|[Nn][Aa][Nn])"
SAMPLE = re.compile(
    rf'(?P<name>{METRIC_NAME})(?:\{{(?P<labels>(?:{LABEL_NAME}="{ESCAPED}"'
    rf'(?:,{LABEL_NAME}="{ESCAPED}")*)?)\}})? (?P<value>{NUMBER})(?: (?P<time>{REAL}))?'
)
LABEL = re.compile(rf'(?P<name>{LABEL_NAME})="(?P<value>{ESCAPED})"')
META = re.compile(rf"# (?P<kind>TYPE|UNIT|HELP) (?P<name>{METRIC_NAME}) (?P<text>.*)")
_ESCAPES = {'\\"': '"', "\\\\": "\\", "\\n": "\n"}


class WrongText(ValueError):
    """The text breaks a rule of the specification."""


@dataclass
class Family:
    """A metric family; ``samples``: labels as sorted pairs, value, time."""

    name: str
    type: str = "unknown"
    unit: str = ""
    help: str = ""
    samples: list[tuple[tuple[tuple[str, str], ...], float, float | None]] = field(
        default_factory=list
    )


def parse(text: str) -> dict[str, Family]:
    """The families by name. Raises WrongText."""
    if not text.endswith("# EOF\n"):
        raise WrongText("The text does not end with # EOF.")
    lines = text.removesuffix("# EOF\n").split("\n")
    if lines.pop() != "" or "# EOF" in lines:
        raise WrongText("A line is not ended, or there is more than one end.")
    families: dict[str, Family] = {}
    current: Family | None = None
    for line in lines:
        if line.startswith("#"):
            current = _meta(line, families, current)
        else:
            _sample(line, current)
    return families


def _meta(line: str, families: dict[str, Family], current: Family | None) -> Family:
    match = META.fullmatch(line)
    if match is None:
        raise WrongText(f"No metadata: {line!r}")
    kind, name, text = match["kind"], match["name"], match["text"]
    if current is None or current.name != name:
        if name in families:
            raise WrongText(f"The family {name} is interleaved.")
        current = families[name] = Family(name)
    if current.samples:
        raise WrongText(f"Metadata of {name} after its samples.")
    if getattr(current, kind.lower()) not in ("", "unknown"):
        raise WrongText(f"{kind} of {name} twice.")
    if kind == "TYPE" and text not in ("gauge", "stateset"):
        raise WrongText(f"Unknown type {text}.")
    if kind == "UNIT" and not name.endswith(f"_{text}"):
        raise WrongText(f"{name} does not end with its unit {text}.")
    if kind == "HELP" and re.search(r"\\(?![\\n\"])", text):
        raise WrongText("A wrong escape in HELP.")
    setattr(current, kind.lower(), text)
    return current


def _sample(line: str, family: Family | None) -> None:
    match = SAMPLE.fullmatch(line)
    if match is None:
        raise WrongText(f"No sample: {line!r}")
    if family is None or match["name"] != family.name:
        raise WrongText(f"{match['name']} stands outside its family.")
    pairs = [
        (m["name"], re.sub(r'\\["\\n]', lambda e: _ESCAPES[e[0]], m["value"]))
        for m in LABEL.finditer(match["labels"] or "")
    ]
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        raise WrongText("A label twice.")
    labels = tuple(sorted(pairs))
    value = float(match["value"])
    when = None if match["time"] is None else float(match["time"])
    if family.type == "stateset":
        if family.name not in names or family.unit:
            raise WrongText("A state set has a label of its own name and no unit.")
        if value not in (0.0, 1.0):
            raise WrongText("A state is 0 or 1.")
    earlier = [s for s in family.samples if s[0] == labels]
    if earlier:
        if family.samples[-1][0] != labels:
            raise WrongText(f"The points of {labels} are interleaved.")
        last = family.samples[-1][2]
        if when is None or last is None or when <= last:
            raise WrongText("Points of one metric must have times that grow.")
    family.samples.append((labels, value, when))
