"""What decoders raise over bytes that are not what was written, whatever they are."""

from __future__ import annotations

import msgspec

# JSON that is none or of another form, text that is no UTF-8, nesting beyond any sense.
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
