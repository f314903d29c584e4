"""The script that draws figures in the browser: a bundle of Vega, Vega-Lite and Vega-Embed."""

from __future__ import annotations

import contextlib
import importlib.metadata

from assay.cache import cache_folder, check_trusted
from assay.charts.drawing_process import bundle
from assay.errors import AssayError
from assay.records.files import write_atomically


def javascript_bundle() -> str:
    """The bundle, safe for embedding in a ``<script>`` element.

    Bundling takes a second, so the bundle is cached under vl-convert's version. If the cache can't
    be read or written, bundling is repeated.
    """
    version = importlib.metadata.version("vl-convert-python")
    name = f"vega-{version}.js"
    with contextlib.suppress(OSError, UnicodeDecodeError, AssayError):
        cached = cache_folder() / name
        check_trusted(cached)
        text = cached.read_text(encoding="utf-8")
        if text.endswith(_END):
            return text
    text = _embeddable(bundle(_SNIPPET)) + _END
    with contextlib.suppress(OSError, AssayError):
        write_atomically(cache_folder() / name, text.encode())
    return text


# The bundle exports the three libraries to the page by their names.
_SNIPPET = "window.vegaEmbed = vegaEmbed; window.vegaLite = vegaLite; window.vega = vega;"
_END = "\n// end of bundle\n"  # a truncated file lacks it


def _embeddable(script: str) -> str:
    """The script, with strings escaped that would end or comment out an HTML script element."""
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")
