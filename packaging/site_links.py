"""Links of the documents to files outside of them: on the site, their path in the project."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Any

_LINK = re.compile(r"\[([^\]]+)\]\(((?:\.\./)+[^)#\s]+)(#[^)]*)?\)")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Replace such links; those between documents stay."""
    depth = len(PurePosixPath(page.file.src_uri).parent.parts)

    def plain(link: re.Match[str]) -> str:
        ups = link[2].count("../")
        return f"{link[1]} (`{link[2].lstrip('./')}`)" if ups > depth else link[0]

    return _LINK.sub(plain, markdown)
