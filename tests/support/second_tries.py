"""A pytest plugin: a test that may be repeated states why, and repeated tests are counted."""

from __future__ import annotations

import pytest

# Four Slurms, each with daemons of its own, share a machine that may be busy: there is no time
# after which all of them have certainly done what they were asked to do.
_ON_A_CLUSTER = pytest.mark.flaky(reruns=1, reason="the daemons of several Slurms share a machine")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("cluster") and not item.get_closest_marker("flaky"):
            item.add_marker(_ON_A_CLUSTER)
        if any(not mark.kwargs.get("reason") for mark in item.iter_markers("flaky")):
            raise pytest.UsageError(f"{item.nodeid}: flaky without a reason")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    again = sorted({report.nodeid for report in terminalreporter.stats.get("rerun", [])})
    number = {0: "No test was", 1: "1 test was"}.get(len(again), f"{len(again)} tests were")
    terminalreporter.write_line(f"{number} tried again{':' if again else '.'}")
    for nodeid in again:
        terminalreporter.write_line(f"  {nodeid}")
