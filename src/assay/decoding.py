"""The exceptions that decoders raise for damaged or foreign input."""

from __future__ import annotations

import msgspec

# Invalid JSON or JSON of another schema, text that is not UTF-8, excessive nesting.
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
