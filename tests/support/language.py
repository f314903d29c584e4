"""The project's prose: its passages, and what in them is not plain technical English.

``python tests/support/language.py src/assay/stats docs/methods`` lists what the tests in
``tests/language/`` would report of these folders or files; without arguments, of everything.
``--passages`` prints all passages instead, to be read, and ``--allow`` writes the numbers of
long sentences again. The phrases are data: ``tests/data/language/phrases.toml``.
"""

from __future__ import annotations

import ast
import functools
import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from assay.report.model import ReportModel
from source_trees import nodes_below

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data" / "language"
# Where prose stands: folders or files, with the suffixes of files to read.
SOURCES = {
    "src/assay": (".py", ".toml", ".mustache"),
    "native": (".cpp", ".hpp", ".h", ".c"),
    "docs": (".md",),
    "README.md": (".md",),
    "CONTRIBUTING.md": (".md",),
    "CHANGELOG.md": (".md",),
    "benchmarks/README.md": (".md",),
}
# Words of others: a library's source, papers' figures with the words that print them, and pages
# that are made from the sources, which are read themselves.
FOREIGN = (
    "native/third_party",
    "src/assay/reference/papers",
    "docs/kernels.md",
    "docs/findings.md",
)
HOLE = "…"  # what an f-string or a format fills in


@dataclass(frozen=True, slots=True)
class Passage:
    """Text that belongs together: a string, a docstring, a comment, a paragraph.

    ``lines`` are the numbers of its first and last line; ``text`` has single blanks. ``kind`` is
    "string", "docstring", "comment" or "paragraph".
    """

    path: Path
    lines: tuple[int, int]
    kind: str
    text: str

    def line_of(self, position: int) -> int:
        """The line of the file that has the word at ``position`` of the text, or the first."""
        first, last = self.lines
        source = source_lines(self.path)[first - 1 : last]
        for width in (24, 12, 6):
            words = self.text[position : position + width].rstrip()
            found = [first + at for at, line in enumerate(source) if words and words in line]
            if found:
                return found[0]
        return first

    def place(self, position: int = 0) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line_of(position)}"


@dataclass(frozen=True, slots=True)
class Phrase:
    """A phrase to avoid: ``pattern`` without regard to case, the reason, and what to write.

    ``example`` has it; ``instead`` and what ``excepted`` matches have it not.
    """

    pattern: re.Pattern[str]
    why: str
    example: str
    instead: str
    excepted: tuple[re.Pattern[str], ...]

    def matches(self, text: str) -> Iterator[re.Match[str]]:
        """Its matches in ``text``, those aside that an exception covers."""
        fine = [found.span() for each in self.excepted for found in each.finditer(text)]
        for found in self.pattern.finditer(text):
            if not any(low <= found.start() and found.end() <= high for low, high in fine):
                yield found


@dataclass(frozen=True, slots=True)
class Hit:
    """What a passage has that it should not have."""

    passage: Passage
    position: int
    found: str
    why: str

    def __str__(self) -> str:
        low = max(0, self.position - 60)
        around = self.passage.text[low : self.position + len(self.found) + 60]
        return f"{self.passage.place(self.position)}: [{self.found}] {self.why}\n    {around}"


@functools.cache
def source_lines(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines()


@functools.cache
def files(*under: str) -> list[Path]:
    """All files with prose below these folders or files, relative to the project."""
    chosen = [ROOT / each for each in under] or [ROOT]
    found = []
    for name, suffixes in SOURCES.items():
        top = ROOT / name
        for path in [top] if top.is_file() else sorted(top.rglob("*")):
            relative = path.relative_to(ROOT).as_posix()
            wanted = any(path == each or each in path.parents for each in chosen)
            if wanted and path.suffix in suffixes and not relative.startswith(FOREIGN):
                found.append(path)
    return found


def passages(path: Path) -> list[Passage]:
    """The passages of a file, in the order of their lines."""
    read = {".py": _python, ".toml": _toml, ".md": _markdown}.get(path.suffix, _native)
    found = [Passage(path, lines, kind, " ".join(text.split())) for lines, kind, text in read(path)]
    return sorted((each for each in found if each.text), key=lambda each: each.lines)


_Found = Iterator[tuple[tuple[int, int], str, str]]


@functools.lru_cache(maxsize=1)  # a file's passages and its counts are sought one after the other
def _nodes(path: Path) -> list[ast.AST]:
    """All nodes of a Python file's syntax tree."""
    return nodes_below(ast.parse(path.read_text("utf-8")))


def _python(path: Path) -> _Found:
    """Strings and comments; an f-string is one string, with holes."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings: set[int] = set()
    parts: set[int] = set()  # of f-strings
    strings: list[ast.Constant | ast.JoinedStr] = []
    for node in _nodes(path):
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                strings.append(node)
        elif isinstance(node, ast.JoinedStr):
            strings.append(node)
            parts.update(map(id, node.values))
        elif isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr):
            docstrings.add(id(node.body[0].value))
    for node in strings:
        lines = node.lineno, node.end_lineno or node.lineno
        if isinstance(node, ast.JoinedStr):
            yield lines, "string", joined_text(node)
        elif id(node) not in parts:
            yield lines, "docstring" if id(node) in docstrings else "string", str(node.value)
    yield from _joined_comments(_python_comments(path.read_text("utf-8")))


# A comment, or a string, in which a # begins none. ``tokenize`` takes ten times as long.
_PYTHON = re.compile(
    r"""#(?P<comment>[^\n]*)"""
    r'''|"""(?:\\.|[^\\])*?"""|\'{3}(?:\\.|[^\\])*?\'{3}'''
    r"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'""",
    re.DOTALL,
)


def _python_comments(source: str) -> list[tuple[int, int, str]]:
    """The line, the column and the text of each comment."""
    found = []
    line, before = 1, 0
    for match in _PYTHON.finditer(source):
        if match["comment"] is None:
            continue
        at = match.start()
        line, before = line + source.count("\n", before, at), at
        found.append((line, at - source.rfind("\n", 0, at) - 1, match["comment"].lstrip("#")))
    return found


def joined_text(node: ast.JoinedStr) -> str:
    return "".join(
        str(part.value) if isinstance(part, ast.Constant) else HOLE for part in node.values
    )


def _joined_comments(comments: Sequence[tuple[int, int, str]]) -> _Found:
    """Comments on consecutive lines that begin in one column are one."""
    block: list[tuple[int, int, str]] = []
    for line, column, text in comments:
        if block and (line != block[-1][0] + 1 or column != block[-1][1]):
            yield (block[0][0], block[-1][0]), "comment", " ".join(each[2] for each in block)
            block = []
        block.append((line, column, text))
    if block:
        yield (block[0][0], block[-1][0]), "comment", " ".join(each[2] for each in block)


_TOML_CODE = re.compile(r"""(?:[^#"']|"(?:\\.|[^"\\])*"|'[^']*')*""")
_TOML_STRING = re.compile(r'"""(?:.|\n)*?"""|"(?:\\.|[^"\\\n])*"' + r"|'[^'\n]*'")


def _toml(path: Path) -> _Found:
    source = path.read_text("utf-8")
    comments = []
    kept = []
    for number, line in enumerate(source.splitlines(), 1):
        code = _TOML_CODE.match(line)
        before = code[0] if code else ""
        if line[len(before) :].startswith("#"):
            comments.append((number, len(before), line[len(before) + 1 :]))
            line = before
        kept.append(line)
    yield from _joined_comments(comments)
    text = "\n".join(kept)
    for found in _TOML_STRING.finditer(text):
        first = text.count("\n", 0, found.start()) + 1
        yield (first, first + found[0].count("\n")), "string", found[0].strip("\"'")


_NATIVE = re.compile(
    r"(?P<comment>//[^\n]*|/\*(?:.|\n)*?\*/)"
    r'|(?P<string>"(?:\\.|[^"\\\n])*"(?:\s*"(?:\\.|[^"\\\n])*")*)'
    r"|'(?:\\.|[^'\\\n])'"
)


def _native(path: Path) -> _Found:
    source = path.read_text("utf-8")
    comments = []
    for found in _NATIVE.finditer(source):
        first = source.count("\n", 0, found.start()) + 1
        column = found.start() - source.rfind("\n", 0, found.start())
        if found["comment"]:
            if found["comment"].startswith("//"):
                comments.append((first, column, found["comment"].lstrip("/")))
            else:
                text = re.sub(r"(?m)^\s*\*+", " ", found["comment"].strip("/*"))
                yield (first, first + found[0].count("\n")), "comment", text
        elif found["string"]:
            text = re.sub(r'"\s*"', "", found["string"]).strip('"')
            yield (first, first + found[0].count("\n")), "string", text.replace("\\n", " ")
    yield from _joined_comments(comments)


def _markdown(path: Path) -> _Found:
    """Paragraphs, list entries, headings and cells of tables, without blocks of code."""
    block: list[tuple[int, str]] = []
    fence = ""
    for number, line in enumerate([*source_lines(path), ""], 1):
        mark = re.match(r"\s*(```+|~~~+)", line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
            line = ""
        elif fence:
            continue
        cells = line.strip().startswith("|")
        item = re.match(r"\s*([-*+]|\d+\.) |#+ |    (?=\S)", line)
        if block and (not line.strip() or item or cells):
            yield (block[0][0], block[-1][0]), "paragraph", " ".join(each[1] for each in block)
            block = []
        if cells:
            for cell in re.split(r"(?<!\\)\|", line.strip().strip("|")):
                yield (number, number), "paragraph", cell
        elif line.strip():
            block.append((number, re.sub(r"^\s*([-*+]|\d+\.) |^#+ ", "", line)))


@functools.cache
def phrases() -> tuple[Phrase, ...]:
    table = tomllib.loads((DATA / "phrases.toml").read_text("utf-8"))["phrase"]
    return tuple(
        Phrase(
            pattern=re.compile(each["pattern"], re.IGNORECASE | re.MULTILINE),
            why=each["why"],
            example=each["example"],
            instead=each["instead"],
            excepted=tuple(re.compile(one, re.IGNORECASE) for one in each.get("except", ())),
        )
        for each in table
    )


@functools.cache
def pending() -> tuple[str, ...]:
    """Folders and files that have not been rewritten yet."""
    return tuple(tomllib.loads((DATA / "pending.toml").read_text("utf-8"))["pending"])


def is_below(path: Path, folders: Sequence[str]) -> bool:
    tops = [ROOT / each for each in folders]
    return any(path == top or top in path.parents for top in tops)


@functools.cache
def hits(path: Path) -> list[Hit]:
    """The phrases to avoid in a file, and its counts whose verbs don't agree with them."""
    read = passages(path)
    everything = "\n".join(passage.text for passage in read)
    occurring = [phrase for phrase in phrases() if phrase.pattern.search(everything)]
    found = [
        Hit(passage, match.start(), match[0], f"{phrase.why}; write: {phrase.instead}")
        for passage in read
        for phrase in occurring
        for match in phrase.matches(passage.text)
    ]
    if path.suffix == ".py":
        found += disagreements(path)
    return sorted(found, key=lambda hit: (hit.passage.lines, hit.position))


# Forms of verbs that differ between one and several.
_PLURAL = (
    "are|were|have|do|aren't|weren't|haven't|don't|need|differ|repeat|send|share|take|give|use|"
    "gain|run|get|want|hold|show|start|begin|wait|fit|reach|agree|exchange|spend|remain|come|go|"
    "make|lie|stand|contain|compare|decide|measure|request|meet|exceed|keep|depend|occur|end"
)
_SINGULAR = "is|was|has|does|isn't|wasn't|hasn't|doesn't|needs|differs|takes|gives|uses|gets"
# A verb belongs to the count if no other subject stands between them.
_AFTER = re.compile(
    r"^(?: (?:of|in|on|per|with) (?:the |its |these |this |all )?[a-z]+(?: [a-z]+)?| more| each)?"
    rf" (?P<verb>{_PLURAL}|{_SINGULAR})\b(?! (?:of|on|time|times)\b)"
)


def disagreements(path: Path) -> list[Hit]:
    """Counts (``counted``) in f-strings with a verb in a fixed form: ``{counted(…)} are``."""
    found: list[Hit] = []
    for node in _nodes(path):
        if not isinstance(node, ast.JoinedStr):
            continue
        parts = list(node.values)
        for at, part in enumerate(parts[:-1]):
            after = joined_text(ast.JoinedStr(values=parts[at + 1 : at + 2]))
            verb = _AFTER.match(after)
            if verb and _is_count(part) and not _is_object(parts[:at]):
                lines = (node.lineno, node.end_lineno or node.lineno)
                passage = Passage(path, lines, "string", " ".join(joined_text(node).split()))
                position = max(passage.text.find(after.strip()), 0)
                why = "this verb must agree with the count; write: units.counted_verb"
                found.append(Hit(passage, position, verb["verb"], why))
    return found


def _is_count(part: ast.expr) -> bool:
    """Whether a part of an f-string is ``counted(number, noun)`` with a number that varies."""
    return (
        isinstance(part, ast.FormattedValue)
        and isinstance(part.value, ast.Call)
        and isinstance(part.value.func, ast.Name)
        and part.value.func.id == "counted"
        and not isinstance(part.value.args[0], ast.Constant)
    )


def _is_object(before: Sequence[ast.expr]) -> bool:
    """Whether a preposition precedes the count, whose verb then has another subject."""
    return bool(before) and bool(_OBJECT.search(joined_text(ast.JoinedStr(values=[before[-1]]))))


_OBJECT = re.compile(r"\b(?:of|on|with|in|across|for|to|at|over|from|by|than|within) $", re.I)


# A number in a finished text whose noun or verb doesn't agree with it. Words that end in s without
# being plurals, and units, are no mistakes.
_ONE = re.compile(
    r"(?<![\w.,/:=×–−-])1 (?P<noun>(?!(?:is|was|has|takes|causes|needs|gives|gets|this|less|"
    r"across|always|towards|thus|process|class|bus|loss|access|pass|s|ms|µs|ns|plus|minus|versus|as|its|us|does)\b)[a-z]+s)\b(?!')"
)
_ONE_VERB = re.compile(
    r"(?<![\w.,/:×–−-])1 (?!m?s\b)[a-z]+ (?P<verb>are|were|have|do|don't|aren't|repeat|need|differ|"
    r"send|share|take|wait|reach|agree|exchange|exceed|keep|depend|carry|show) (?!per\b)"
)
_MANY = re.compile(
    r"(?<![\w.,/:×–−-])(?<!of )(?:0|[2-9]|[1-9]\d+) (?P<noun>rank|node|launch|run|cell|core|job|"
    r"host|thread|sample|call|message|pair|figure|step)(?:e?s)? (?P<verb>is|was|has|does)\b"
)


def wrong_numbers(text: str) -> list[str]:
    """Places of a finished text where noun or verb doesn't agree with a number."""
    found = [match for pattern in (_ONE, _ONE_VERB, _MANY) for match in pattern.finditer(text)]
    return [text[max(0, match.start() - 40) : match.end() + 40] for match in found]


def wrong_numbers_in(report: ReportModel) -> list[str]:
    """The ``wrong_numbers`` of all texts of a report."""
    texts = _texts(msgspec.to_builtins(report))
    return sorted({wrong for text in texts for wrong in wrong_numbers(text)})


def _texts(value: object) -> Iterator[str]:
    """All strings of a decoded document."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)


@functools.cache
def lengths() -> tuple[int, dict[str, int]]:
    """The most words of a sentence, and the files that are allowed a number of longer ones."""
    table = tomllib.loads((DATA / "lengths.toml").read_text("utf-8"))
    return table["words"], table["allowed"]


@functools.cache
def prose_files() -> list[Path]:
    """Files whose sentences are counted: documents, and commands with their help."""
    documents = [path for path in files() if path.suffix == ".md"]
    return documents + files("src/assay/cli")


def long_sentences(path: Path, words: int) -> list[tuple[int, int, str]]:
    """Sentences of a document or a command's help with more words: line, words, text."""
    found: list[tuple[int, int, str]] = []
    for line, text in _help_blocks(path) if path.suffix == ".py" else _paragraphs(path):
        for sentence in sentences(text):
            count = sum(any(sign.isalnum() for sign in word) for word in sentence.split())
            if count > words:
                found.append((line, count, sentence))
    return found


def _paragraphs(path: Path) -> list[tuple[int, str]]:
    return [(passage.lines[0], passage.text) for passage in passages(path)]


def _help_blocks(path: Path) -> Iterator[tuple[int, str]]:
    """Paragraphs and descriptions of options in a module's docstrings, examples left out."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(node, (ast.Module, ast.FunctionDef)) or not ast.get_docstring(node):
            continue
        block: list[str] = []
        options = False
        for line in [*(ast.get_docstring(node) or "").splitlines(), ""]:
            options = options or line == "Parameters"
            if (not line.strip() or (options and line[0] != " ")) and block:
                yield node.body[0].lineno, " ".join(block)
                block = []
            elif line.strip() and (options or not line.startswith("    ")):
                block.append(line.strip())


def sentences(text: str) -> list[str]:
    """The sentences of a passage; code and links count as one word each."""
    plain = re.sub(r"``[^`]+``|`[^`]+`", "code", text)
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", plain)
    return re.split(r"(?<=[.!?:;])[\"”)*]* +(?=[A-Z“\"(*\d]|code|assay)", plain)


def write_lengths() -> None:
    words, _ = lengths()
    counts = {path: len(long_sentences(path, words)) for path in prose_files()}
    lines = [
        f'"{path.relative_to(ROOT).as_posix()}" = {count}'
        for path, count in counts.items()
        if count
    ]
    top = (DATA / "lengths.toml").read_text("utf-8").partition("[allowed]")[0]
    (DATA / "lengths.toml").write_text(f"{top}[allowed]\n" + "\n".join(lines) + "\n", "utf-8")


def main(arguments: Sequence[str]) -> None:
    under = [each.rstrip("/") for each in arguments if not each.startswith("--")]
    if "--allow" in arguments:
        write_lengths()
        return
    total = 0
    for path in files(*under):
        if "--passages" in arguments:
            for passage in passages(path):
                if " " in passage.text:
                    print(f"{passage.place()}: {passage.text}")
            continue
        for hit in hits(path):
            print(hit)
            total += 1
        if path in prose_files():
            for line, count, sentence in long_sentences(path, lengths()[0]):
                print(f"{path.relative_to(ROOT)}:{line}: {count} words\n    {sentence}")
                total += 1
    if "--passages" not in arguments:
        print(f"{total} hits")


if __name__ == "__main__":
    main(sys.argv[1:])
