"""The process that draws figures (``drawing_process.py``): requests in, documents out, as lines of
JSON (PDF in base64). It starts isolated, so that it imports nothing from the current folder. Its
arguments are the folders of modules.
"""

from __future__ import annotations

import base64
import json
import sys


def answer(request: dict[str, str]) -> dict[str, str]:
    """``text``: the SVG or PDF document, or the bundle of scripts; ``error``: why there is none.

    A failed figure has an answer with its error. Only an aborted process ends without an answer.
    """
    import vl_convert

    try:
        if request["what"] == "svg":
            return {"text": vl_convert.vegalite_to_svg(request["spec"])}
        if request["what"] == "pdf":
            document = vl_convert.svg_to_pdf(request["spec"])
            return {"text": base64.b64encode(document).decode()}
        return {"text": vl_convert.javascript_bundle(request["spec"])}
    except Exception as error:
        return {"error": str(error)}


if __name__ == "__main__":
    sys.path += sys.argv[1:]
    for _line in sys.stdin:
        sys.stdout.write(json.dumps(answer(json.loads(_line))) + "\n")
        sys.stdout.flush()
