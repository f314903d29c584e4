"""Describe this machine: processor, memory, network, scheduler, toolchains.

Examples::

    assay system
    assay system --json
"""

from __future__ import annotations

from assay.cli.options import ConfigFile, Json, SiteProfile


def system(
    *,
    config: ConfigFile = None,
    site: SiteProfile = None,
    json: Json = False,
) -> None:
    """Describe this machine: processor, memory, network, environment, toolchains.

    Nothing is measured, and root is not needed. Unknown values are shown as a dash, in JSON as
    null.

    Parameters
    ----------
    json
        Print one JSON object: system (in SI base units), peak and toolchains.
    """
    from assay.config import load_config
    from assay.console import console, print_json
    from assay.kernels.toolchains import detect_toolchains
    from assay.system.detect import detect
    from assay.system.peak import peak_flops

    found = detect()
    toolchains = detect_toolchains(load_config(config, site))
    if json:
        peak = peak_flops(found, found.usable_cores) if found.usable_cores else None
        print_json({"system": found, "peak": peak, "toolchains": toolchains})
        return

    from rich.table import Table
    from rich.text import Text

    from assay.system.describe import describe

    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for index, section in enumerate(describe(found, toolchains)):
        if index:
            table.add_row("", "")
        table.add_row(Text(section.title, style="bold not dim"), "")
        for label, text in section.lines:
            table.add_row(Text(f"  {label}"), Text(text))
    console().print(table)
