"""Runs AccaSim on a log, in the peer's own Python: LOG CONFIG FIFO|EASY FOLDER.

AccaSim writes the folder; its dispatching plan is in ``sched-LOG``.
"""

import collections
import collections.abc
import os
import sys
import time

# AccaSim 1.1.3 imports them by the names that Python had until 3.9.
for _name in ("Mapping", "MutableMapping", "Sequence", "Iterable"):
    setattr(collections, _name, getattr(collections.abc, _name))

from accasim.base.allocator_class import FirstFit  # noqa: E402
from accasim.base.scheduler_class import EASYBackfilling, FirstInFirstOut  # noqa: E402
from accasim.base.simulator_class import Simulator  # noqa: E402


def main() -> None:
    log, config, policy, folder = sys.argv[1:]
    os.chdir(folder)
    dispatcher = (FirstInFirstOut if policy == "FIFO" else EASYBackfilling)(FirstFit())
    begin = time.perf_counter()
    Simulator(
        log, config, dispatcher, statistics_output=False, show_statistics=False
    ).start_simulation()
    print(f"seconds {time.perf_counter() - begin}")


if __name__ == "__main__":
    main()
