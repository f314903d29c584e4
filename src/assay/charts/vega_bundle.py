"""The script that draws figures in the browser: Vega, Vega-Lite and Vega-Embed in one text."""

from __future__ import annotations

import contextlib
import importlib.metadata

from assay.cache import cache_folder, check_trusted
from assay.errors import AssayError
from assay.records.files import write_atomically


def javascript_bundle() -> str:
    """The bundle, safe to stand in a ``<script>`` element.

    Bundling takes a second, so it is kept in the cache, by vl-convert's version. A cache that can't
    be read or written costs only that second.
    """
    import vl_convert

    version = importlib.metadata.version("vl-convert-python")
    name = f"vega-{version}.js"
    with contextlib.suppress(OSError, UnicodeDecodeError, AssayError):
        cached = cache_folder() / name
        check_trusted(cached)
        text = cached.read_text(encoding="utf-8")
        if text.endswith(_END):
            return text
    text = _embeddable(vl_convert.javascript_bundle(_SNIPPET)) + _END
    with contextlib.suppress(OSError, AssayError):
        write_atomically(cache_folder() / name, text.encode())
    return text


# What the bundle gives the page: the three libraries under their own names.
_SNIPPET = "window.vegaEmbed = vegaEmbed; window.vegaLite = vegaLite; window.vega = vega;"
_END = "\n// end of bundle\n"  # a cut file is recognised by its absence


def _embeddable(script: str) -> str:
    """The same program without the texts that would end or comment out an HTML script element."""
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")
