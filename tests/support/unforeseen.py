"""Messages on errors that no other message covers; tests of bad input must not see one."""

from __future__ import annotations

# Part of every such message (assay.console.unforeseen); tests/cli/test_error_texts.py checks it.
UNFORESEEN = "Please report this"
