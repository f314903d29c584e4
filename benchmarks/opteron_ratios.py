"""Table 1 of Luecke, Li & Cuma (2005) from clock and memory: 2.6 GHz over 1.4 GHz Opteron.

    .venv/bin/python benchmarks/opteron_ratios.py

Class B of six NPB with four processes. The work of each is its entry in assay's catalogue (the
codes differ from NASA's). Nothing is fitted. Assumed: 0.4 flop per cycle in cache (IS: 16 cycles
per key); Myrinet 2000 with 7 µs and 230 MB/s. One process reaches 2 GB/s of memory at 1.4 GHz, and
at 2.6 GHz more in inverse proportion to the latency, of which 80 cycles are in the processor, whose
memory controller runs at its clock, and 45 ns in DDR333 (38 ns in CLOCKS400). Each processor of a
node has its own memory: STREAM took 1.00 to 1.04 times as long with two processes (section 4 of the
paper).
"""

from __future__ import annotations

from assay.kernels import find_kernel
from assay.models.machine.figure import assumed, quoted
from assay.models.machine.machine import DescribedMachine, Interconnect, MachineNode
from assay.models.machine.programs import ProgramWork, program_time
from assay.reference.papers.loading import figures_of
from assay.topologies.kinds import Single

FLOP_PER_CYCLE = 0.4
CYCLES_PER_KEY = 16
# Clock in Hz: the part of the memory's latency outside of the processor, s.
CLOCKS = {1.4e9: 45e-9, 2.6e9: 38e-9}
CYCLES = 80
STREAM_ONE = 2e9


def opteron(clock: float) -> DescribedMachine:
    """Four dual nodes."""
    first = next(iter(CLOCKS))
    stream = STREAM_ONE * (CLOCKS[first] + CYCLES / first) / (CLOCKS[clock] + CYCLES / clock)
    return DescribedMachine(
        f"Opteron {clock / 1e9:g} GHz",
        MachineNode(
            2,
            quoted(4 * clock, "two flop per cycle and processor"),
            assumed(3.4 * clock, "85% of peak"),
            quoted(2e9, "Luecke et al. (2005), 2"),
            assumed(2 * stream, "each processor has its own memory"),
            assumed(stream, "by latency"),
        ),
        Interconnect("Myrinet 2000", assumed(7e-6, "typical of GM"), assumed(2.3e8, "typical")),
        Single(4),
    )


def ratio(name: str, per_node: int) -> float:
    """Predicted ratio of the rates."""
    kernel = find_kernel(f"npb.{name}")
    defaults = {parameter.name: parameter.default for parameter in kernel.parameters}
    counted = dict(kernel.work({**defaults, "class": "B"}, 4, 1))
    if name == "is":  # integer work, in units of the flop rate
        counted["flops"] = counted["operations"] * CYCLES_PER_KEY * FLOP_PER_CYCLE
    work = ProgramWork.of_catalogue(counted)
    seconds = [
        program_time(opteron(clock), work, FLOP_PER_CYCLE * clock, 4, per_node).seconds
        for clock in CLOCKS
    ]
    return seconds[0] / seconds[1]


def main() -> None:
    figures = figures_of("luecke-2005")
    print(f"{'':<6}{'ppn':>4}{'paper':>8}{'model':>8}{'error':>8}")
    for per_node in (1, 2):
        for name in ("cg", "ep", "mg", "ft", "lu", "is"):
            paper = figures[f"chpc-opteron.npb.{name}.ratio.{per_node}"].si
            model = ratio(name, per_node)
            print(f"{name:<6}{per_node:>4}{paper:>8.1f}{model:>8.2f}{model / paper - 1:>8.1%}")


if __name__ == "__main__":
    main()
