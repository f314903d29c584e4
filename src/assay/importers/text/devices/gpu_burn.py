"""gpu-burn, all versions.

Source: ``gpu_burn-drv.cpp``. A line of progress has a rate for each GPU, which is new only if the
number of its products has changed: these rates are the samples. ``Tested N GPUs`` and a verdict per
GPU end the output; without them it is incomplete. Gflop/s are 10^9.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal

from assay.importers.model import FoundValue, Line, Output, Result, Series, TextImporter, words
from assay.importers.numbers import WHOLE, number

_PROGRESS = re.compile(r"(\d+(?:\.\d+)?)%\s+proc'd:\s*(.*?)\s+errors:\s*(.*?)\s+temps:\s*(.*?)\s*")
_RATE = re.compile(rf"(-?\d{{1,18}}) \(({WHOLE}) Gflop/s\)")
_ERRORS = re.compile(rf"({WHOLE})(?:\s+\((WARNING!|DIED!)\))?")
_SPLIT = re.compile(r"\s+[-/]\s+")
_NAME = re.compile(rf"GPU ({WHOLE}): (\S.*?) \(UUID: \S+\)\s*")
_READY = re.compile(
    rf"Initialized device ({WHOLE}) with .{{1,120}}, using (FLOATS|DOUBLES)(, using Tensor Cores)?"
    r"\s*"
)
_SECONDS = re.compile(rf"Burning for ({WHOLE}) seconds\.?\s*")
_TESTED = re.compile(rf"Tested ({WHOLE}) GPUs:\s*")
_VERDICT = re.compile(rf"GPU ({WHOLE}): (OK|FAULTY)\s*")
_TYPES = {"FLOATS": "fp32", "DOUBLES": "fp64"}
_GIGA = Decimal(10) ** 9
_MOST = 1024  # GPUs of a node
_MOST_SAMPLES = 10_000  # per GPU


@dataclass
class _Gpu:
    """A GPU so far."""

    products: int = 0
    rates: list[FoundValue] = field(default_factory=list)
    errors: FoundValue | None = None
    died: bool = False
    verdict: bool | None = None


class GpuBurnImporter(TextImporter):
    """See the module."""

    SIGNATURE = (
        r"Burning for \d+ seconds|GPU \d+: .{1,120} \(UUID: GPU-|\d+(?:\.\d+)?%\s+proc'd: "
        r"|Initialized device \d+ with \d+ MB of memory"
    )

    def __init__(self, out: Output) -> None:
        super().__init__(out)
        self._reset()

    def _reset(self) -> None:
        self._settings: dict[str, FoundValue] = {}
        self._names: dict[int, FoundValue] = {}
        self._ready: dict[int, int] = {}  # devices, by number, and their lines
        self._gpus: list[_Gpu] = []
        self._expected: int | None = None
        self._first = 0
        self._damaged = ""

    def feed(self, line: Line) -> None:
        """Process a line."""
        text = line.text.strip()
        if progress := _PROGRESS.fullmatch(text):
            self._progress(progress, line.number)
        elif tested := _TESTED.fullmatch(text):
            self._expected = int(tested[1])
            self._first = self._first or line.number
        elif self._expected is not None and (verdict := _VERDICT.fullmatch(text)):
            self._verdict(int(verdict[1]), verdict[2] == "OK", line.number)
        else:
            self._header(text, line.number)

    def _header(self, text: str, line: int) -> None:
        if name := _NAME.fullmatch(text):
            if self._gpus and len(self._names) and int(name[1]) in self._names:
                self.leave()
            self._names[int(name[1])] = words(name[2], line)
        elif ready := _READY.search(text):
            self._ready[int(ready[1])] = line
            self._settings["type"] = FoundValue(_TYPES[ready[2]], ready[2], line)
            if ready[3]:
                self._settings["tensor"] = FoundValue("yes", "", line)
        elif seconds := _SECONDS.fullmatch(text):
            if self._gpus:
                self.leave()
            self._settings["seconds"] = FoundValue(int(seconds[1]), seconds[1], line)

    def _progress(self, progress: re.Match[str], line: int) -> None:
        rates = [_RATE.fullmatch(part) for part in _SPLIT.split(progress[2])]
        errors = [_ERRORS.fullmatch(part) for part in _SPLIT.split(progress[3])]
        self._first = self._first or line
        count = len(rates)
        whole = all(rates) and all(errors) and count == len(errors) <= _MOST
        if not whole or (self._gpus and len(self._gpus) != count):
            self.out.skip(line, "This line of gpu-burn's progress is damaged.")
            return
        if not self._gpus:
            self._gpus = [_Gpu() for _ in range(count)]
        for gpu, rate, error in zip(self._gpus, rates, errors, strict=True):
            assert rate is not None and error is not None
            products = int(rate[1])
            gpu.died = gpu.died or products < 0 or error[2] == "DIED!"
            found = number(rate[2], line, _GIGA)
            new = products > gpu.products and len(gpu.rates) < _MOST_SAMPLES
            if new and found is not None and float(found.value) > 0:
                gpu.rates.append(found)
            gpu.products = max(gpu.products, products)
            if int(error[1]) and gpu.errors is None:
                gpu.errors = FoundValue(int(error[1]), error[1], line)

    def _verdict(self, index: int, fine: bool, line: int) -> None:
        if index >= len(self._gpus) or self._gpus[index].verdict is not None:
            self.out.skip(
                line, f"gpu-burn's verdict on GPU {index} belongs to no line of progress."
            )
            return
        self._gpus[index].verdict = fine
        if index == len(self._gpus) - 1 == (self._expected or 0) - 1:
            self._put()
            self._reset()

    def _put(self) -> None:
        numbers = sorted(self._ready)
        for index, gpu in enumerate(self._gpus):
            device = numbers[index] if len(numbers) == len(self._gpus) else index
            line = self._ready.get(device, self._first)
            if not gpu.rates:
                self.out.skip(self._first, f"gpu-burn printed no rate of GPU {device}.")
                continue
            parameters = {"device": FoundValue(str(device), "", line)}
            if device in self._names:
                parameters["gpu"] = self._names[device]
            fine = bool(gpu.verdict) and not gpu.died and gpu.errors is None
            self.out.result(
                Result(
                    code="gpu-burn",
                    tool="gpu-burn",
                    version=None,
                    parameters=parameters | self._settings,
                    series=[Series("rate", "flop/s", gpu.rates)],
                    verified=fine,
                    check="comparison of products",
                    checked=gpu.errors,
                    error="The process of this GPU died." if gpu.died else None,
                )
            )

    def leave(self) -> None:
        """An output without all verdicts is incomplete."""
        if self._gpus:
            self.out.skip(self._first, "The results of gpu-burn that begin here are incomplete.")
        self._reset()


IMPORTER = GpuBurnImporter
