"""Build static pages about the runs of several machines: open index.html, without a server.

Examples::

    assay site  # of ./runs, into ./site
    assay site /shared/seth /shared/helix --output /srv/www/assay
    assay site --rebuild  # all pages, not only what is new
"""

from __future__ import annotations

from pathlib import Path

from assay.cli.options import ConfigFile, Flag, Json, ReportOutput


def site(
    *stores: Path,
    output: ReportOutput = None,
    rebuild: Flag = False,
    config: ConfigFile = None,
    json: Json = False,
) -> int:
    """Build a folder of static pages: all machines, their histories, nodes and runs, and a search.

    Only what changed since the last build is read and written. Exits with 0 if runs are damaged,
    and names them.

    Parameters
    ----------
    stores
        Folders of runs [default: ./runs, or as in assay.toml].
    output
        The folder of the site: new, empty, or a site from an earlier build [default: ./site].
    rebuild
        Read all runs and write all pages, as for a new site.
    json
        Print the numbers of machines, runs and pages, and the damaged runs, as JSON on stdout.
    """
    from assay.config import load_config
    from assay.console import console, print_json
    from assay.report.site.build import build_site
    from assay.report.site.first_page import left_out_sentence
    from assay.units import counted

    paths = stores or [load_config(config).runs]
    built = build_site(paths, output or Path("site"), rebuild=rebuild)
    if json:
        print_json(built)
        return 0
    if built.left_out:
        text = left_out_sentence(built.left_out)
        console(stderr=True).print(text, soft_wrap=True, markup=False)
    changes = [f"{counted(built.new, 'run')} new or changed"]
    changes += [f"{counted(built.removed, 'run')} removed"] * bool(built.removed)
    console().print(
        f"{built.page}: {counted(built.machines, 'machine')}, {counted(built.runs, 'run')}, "
        f"{', '.join(changes)}; {counted(built.written, 'file')} written",
        soft_wrap=True,
        markup=False,
    )
    return 0
