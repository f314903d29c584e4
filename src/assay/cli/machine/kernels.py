"""Show what can be measured; --build builds the kernels without measuring.

Examples::

    assay kernels
    assay kernels npb.cg  # its parameters, metrics and work
    assay kernels --build  # all kernels, before the first run needs some of them
    assay kernels --build --for x86-64-v3  # for nodes without a compiler
    assay kernels --build --shared  # for all users of the site
"""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from assay.cli.options import ConfigFile, Flag, Json, SiteProfile


def kernels(
    name: str = "",
    *more: str,
    build: Flag = False,
    processor: Annotated[str | None, Parameter(name="--for")] = None,
    shared: Flag = False,
    toolchain: str | None = None,
    config: ConfigFile = None,
    site: SiteProfile = None,
    json: Json = False,
    markdown: Flag = False,
) -> None:
    """List the kernels, or explain some: their parameters, metrics and work.

    Parameters
    ----------
    name
        The kernel to explain or, with --build, to build, such as npb.cg [default: all kernels].
    more
        Further kernels.
    build
        Build the kernels (unless they are built already) instead of listing them.
    processor
        With --build: the processor to build for, by the compiler's name, such as x86-64-v3, znver4
        or skylake-avx512 [default: this machine's]. Nodes without a compiler use such a build if
        they can execute it.
    shared
        With --build: copy the build to the site's folder, where all users find it. [cache] in
        assay.toml or $ASSAY_SHARED_CACHE names the folder.
    toolchain
        The toolchain to build with [default: as in assay.toml, else the embedded one].
    json
        Print JSON on stdout: an object for one kernel or build, a list for several.
    markdown
        Print the whole catalogue as Markdown.
    """
    from assay.console import console, print_json
    from assay.errors import AssayError
    from assay.kernels import find_kernel
    from assay.kernels import kernels as catalogue
    from assay.report.catalogue import catalogue_markdown, describe, print_catalogue, print_kernel

    if processor is not None and not build:
        raise AssayError("--for goes with --build.", fix=f"Add --build to --for {processor}.")
    if shared and not build:
        raise AssayError("--shared goes with --build.", fix="Add --build.")
    names = [name, *more] if name else []
    chosen = [find_kernel(each) for each in names]
    if build:
        from assay.campaign.machine.building import build_for
        from assay.config import load_config

        settings = load_config(config, site)
        built = build_for(
            toolchain,
            settings,
            console(stderr=True),
            processor,
            shared=shared,
            kernels=names or None,
        )
        if json:
            print_json(built)
        else:
            console().print(f"kernels: {built.executable}", markup=False, soft_wrap=True)
    elif markdown:
        print(catalogue_markdown(catalogue()), end="")
    elif json:
        described = [describe(kernel) for kernel in chosen or catalogue()]
        print_json(described[0] if len(chosen) == 1 else described)
    elif chosen:
        for kernel in chosen:
            print_kernel(kernel, console())
    else:
        print_catalogue(catalogue(), console())
