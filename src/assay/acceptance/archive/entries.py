"""Entries of an archive: a tar file whose bytes follow from the files' names and contents.

An archive has exactly one valid form, which this module defines and readers compare byte for byte:
ustar headers with mode 0644 and zeros for times, owners and devices (POSIX.1-2017, pax, "ustar
Interchange Format"); regular files alone; padding of zeros; two blocks of zeros at the end. There
is therefore no byte that a change could hide in, and no link, device or folder that could lead out
of the place where it is unpacked.
"""

from __future__ import annotations

from assay.errors import AssayError

BLOCK = 512
END = bytes(2 * BLOCK)
# Maximum lengths of ustar's two parts of a name, in bytes, and of a file.
_NAME, _PREFIX = 100, 155
MOST_BYTES_OF_FILE = 8**11 - 1
_SIZE_AT, _TYPE_AT, _PREFIX_AT = 124, 156, 345
_OCTAL = frozenset(b"01234567")
_KINDS = {
    b"1": "a hard link",
    b"2": "a symbolic link",
    b"3": "a device",
    b"4": "a device",
    b"5": "a folder",
    b"6": "a named pipe",
}


class DamagedArchive(AssayError):
    """The bytes of an archive are not as assay writes them; the exit status is 1."""

    def __init__(self, what: str, where: str = "") -> None:
        super().__init__(
            what,
            where=where,
            fix="Ask for the archive again: this one was damaged or changed.",
            status=1,
        )


def check_name(name: str) -> str:
    """A file's path in an archive. Raises ValueError with the reason if it isn't allowed."""
    if not name.isprintable() or "\\" in name:
        raise ValueError("its name has characters that aren't allowed")
    if any(part in ("", ".", "..") for part in name.split("/")):
        raise ValueError("its name leads out of the archive")
    _split(name)
    return name


def padding(size: int) -> int:
    """The number of zeros after a file of this size."""
    return -size % BLOCK


def header(name: str, size: int) -> bytes:
    """The header of a file. Raises ValueError if its name or size isn't allowed."""
    prefix, last = _split(check_name(name))
    if not 0 <= size <= MOST_BYTES_OF_FILE:
        raise ValueError("its size is impossible or above 8 GiB")
    fields = [
        last.ljust(_NAME, b"\0"),
        b"0000644\0",  # mode
        b"0000000\0",  # user
        b"0000000\0",  # group
        b"%011o\0" % size,
        b"00000000000\0",  # time
        b" " * 8,  # checksum, as spaces while it is computed
        b"0",  # a regular file
        bytes(100),  # target of a link
        b"ustar\x0000",
        bytes(64),  # names of user and group
        bytes(16),  # device
        prefix.ljust(_PREFIX, b"\0"),
    ]
    block = b"".join(fields).ljust(BLOCK, b"\0")
    return block[:148] + b"%06o\0 " % sum(block) + block[156:]


def parse_header(block: bytes) -> tuple[str, int]:
    """Name and size of a file by its header.

    Raises DamagedArchive for a header that ``header`` doesn't write.
    """
    kind = _KINDS.get(block[_TYPE_AT : _TYPE_AT + 1])
    name = _text(block[:_NAME])
    prefix = _text(block[_PREFIX_AT : _PREFIX_AT + _PREFIX])
    whole = f"{prefix}/{name}" if prefix else name
    if kind is not None:
        raise DamagedArchive(f"'{whole}' is {kind}, and an archive has only files.")
    written = block[_SIZE_AT : _SIZE_AT + 11]
    try:
        expected = header(whole, int(written, 8) if _OCTAL.issuperset(written) else -1)
    except ValueError as error:
        raise DamagedArchive(f"The entry '{whole}' isn't allowed: {error}.") from None
    if expected != block:
        raise DamagedArchive(f"The header of '{whole}' isn't as assay writes it.")
    return whole, int(written, 8)


def _split(name: str) -> tuple[bytes, bytes]:
    """A name as ustar's prefix and name."""
    raw = name.encode()
    if len(raw) <= _NAME:
        return b"", raw
    at = raw.rfind(b"/", 0, _PREFIX + 1)
    if at <= 0 or len(raw) - at - 1 > _NAME:
        raise ValueError("its name is too long")
    return raw[:at], raw[at + 1 :]


def _text(field: bytes) -> str:
    return field.partition(b"\0")[0].decode("utf-8", "replace")
