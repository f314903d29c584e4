"""The process that draws figures (``drawing_process.py``): requests in, documents out, as lines of
JSON. It starts isolated, so that it imports nothing from the current folder. Its arguments are the
folders of modules.
"""

from __future__ import annotations

import json
import sys


def answer(request: dict[str, str]) -> dict[str, str]:
    """``text``: the SVG document, or the bundle of scripts; ``error``: why there is none.

    A failed figure has an answer with its error. Only an aborted process ends without an answer.
    """
    import vl_convert

    try:
        if request["what"] == "svg":
            return {"text": vl_convert.vegalite_to_svg(request["spec"])}
        return {"text": vl_convert.javascript_bundle(request["spec"])}
    except Exception as error:
        return {"error": str(error)}


if __name__ == "__main__":
    sys.path += sys.argv[1:]
    for _line in sys.stdin:
        sys.stdout.write(json.dumps(answer(json.loads(_line))) + "\n")
        sys.stdout.flush()
