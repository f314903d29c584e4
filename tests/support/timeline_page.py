"""Reads a timeline's page literally, value by value; traces without repetition for it."""

from __future__ import annotations

import base64
import json
import re
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np

KIND = (
    *("function", "site", "communicator", "peer", "tag", "source", "source_tag"),
    *("sent", "received", "count", "thread"),
)


def noisy(trace, seed=1, length=1e-3):
    """Each call at a time of its own: nothing repeats."""
    random = np.random.default_rng(seed)
    ranks = []
    for rank in trace:
        count = len(rank.events)
        begin = np.cumsum(random.uniform(1e-5, length, count)) + rank.begin
        end = begin + random.uniform(1e-7, 1e-5, count)
        events = replace(rank.events, begin=begin, end=end)
        ranks.append(replace(rank, events=events, end=float(end[-1]) + 1e-3))
    return replace(trace, ranks=tuple(ranks))


def parts(text: str) -> tuple[dict, bytes]:
    head = re.search(r'id="head">(.*?)</script>', text, re.DOTALL)
    payload = re.search(r'id="payload">(.*?)</script>', text, re.DOTALL)
    return json.loads(head[1]), zlib.decompress(base64.b64decode(payload[1]))


def varints(content: bytes, at: int, count: int) -> list[int]:
    found = []
    for _ in range(count):
        value, shift = 0, 0
        while True:
            byte = content[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        found.append(value)
    return found


def unzigzag(value: int) -> int:
    return -(value + 1) // 2 if value % 2 else value // 2


class Page:
    """``calls``: by span and row, (begin, length in ns, kind as a dictionary)."""

    def __init__(self, path: Path) -> None:
        self.text = path.read_text(encoding="utf-8")
        self.head, content = parts(self.text)
        self.sections, at = {}, 0
        for one in self.head["sections"]:
            part = content[at : at + one["bytes"]]
            at += one["bytes"]
            if one["kind"] == "bytes":
                values = list(part)
            else:
                values = varints(part, 0, one["count"])
                if one["kind"] == "signed":
                    values = [unzigzag(value) for value in values]
            assert len(values) == one["count"]
            self.sections[one["name"]] = values
        assert at == len(content)
        self.calls = self._calls()

    def _calls(self) -> list[list[list[tuple[int, int, dict]]]]:
        found, at = [], 0
        ranks = len(self.head["ranks"])
        for place, (begin, _) in enumerate(self.head["spans"]):
            rows = []
            for row in range(ranks):
                last, calls = begin, []
                for _ in range(self.sections["calls"][place * ranks + row]):
                    start = last + self.sections["gap"][at]
                    length = self.sections["length"][at]
                    last = start + length
                    kind = self.sections["kind"][at]
                    calls.append((start, length, self._kind(kind, self.head["ranks"][row]["rank"])))
                    at += 1
                rows.append(calls)
            found.append(rows)
        return found

    def _kind(self, number: int, rank: int) -> dict:
        kind = {name: self.sections[f"kind.{name}"][number] for name in KIND}
        for name in ("peer", "source"):
            code = kind[name]
            kind[name] = -1 - code if code < 3 else rank + unzigzag(code - 3)
        return kind

    def arrows(self) -> list[tuple[int, int, int, int, int]]:
        """Span, sender's row and call, receiver's row and call (within the span)."""
        ranks = len(self.head["ranks"])
        offsets = [0]
        for count in self.sections["calls"]:
            offsets.append(offsets[-1] + count)
        found, at = [], 0
        columns = (self.sections[f"arrow.{name}"] for name in ("receive", "sender", "send"))
        for step, sender, shift in zip(*columns, strict=True):
            at += step
            place = max(i for i in range(len(offsets) - 1) if offsets[i] <= at < offsets[i + 1])
            span, row = divmod(place, ranks)
            receive = at - offsets[place]
            found.append((span, row + sender, receive + shift, row, receive))
        return found
