"""Fits a board's texts on one sheet: what doesn't fit is cut, and a sentence says how much.

The room is estimated for the smaller of A4 and letter in each direction, with wide characters, so
that no font and neither paper makes a second page. Lengths are in points (1/72 in).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from assay.report.model import ReportModel
from assay.report.overview.grouped import grouped
from assay.report.shorten import beginning
from assay.subjects.board import MOST_HEADLINES, Board, Headline

# The narrower and the lower paper (A4: 210 mm × 297 mm, letter: 216 mm × 279 mm) without margins of
# 12 mm.
_WIDTH, _HEIGHT = 527.0, 723.0
# Characters are about this wide, relative to the font's size: DejaVu Sans, the widest of the usual
# fonts; in bold type.
_CHARACTER, _BOLD = 0.57, 0.68
# Sizes of fonts and heights of lines, as in page.css.
_TITLE_TYPE, _SMALL_TYPE, _FOOT_TYPE = (16.0, 19.2), (9.0, 11.7), (7.5, 10.0)
_VERDICT_TYPE, _SENTENCE_TYPE = (18.0, 21.6), (10.5, 14.5)
_TEXT, _LINE = 8.5, 11.5
# Gaps: below each line of the head; around the verdict; above the cards and the footer; and what a
# font may need in addition.
_BELOW_HEAD, _BAND, _ABOVE_CARDS, _ABOVE_FOOT, _SPARE = 3.0, 18.0, 10.0, 8.0, 10.0
# Numbers in a row, and the gap below a row.
_IN_A_ROW, _BELOW = 3, 8.0
# Font sizes and heights of lines of a number's title, text and note.
_PARTS = ((8.0, 10.0), (11.5, 14.0), (7.5, 9.5))
# A card: its heading, edges and the gap below, and its text's width beside another card.
_CARD, _CARD_WIDTH = 45.0, (_WIDTH - 12) / 2 - 33
# Gap below a sentence of a list.
_GAP = 3.0
# A part of a text that browsers keep on a line, with the blank behind it.
_PIECE = re.compile(r"[^\s/-]*[/-]+\s?|[^\s/-]+\s?")
_ROWS = 2  # rows of cards
_FIRST_SHARE = 0.4  # of the lines, for the first row of cards if both need more
_MOST_LINES_OF_VERDICT = 6
# Characters of a sentence in a list: the first number at which all sentences fit, else the last.
_LONGEST = (800, 400, 220)
_TITLE, _MACHINE, _NAME, _NUMBER, _NUMBER_TITLE, _NOTE, _VERDICT = 90, 170, 110, 44, 44, 76, 40
_FOOT = (
    "Medians with 95% intervals in brackets. The full report has every number, figure and caveat. "
    "Written by assay {version}{run}."
)


@dataclass(frozen=True)
class FittedCard:
    """A list of sentences with its heading."""

    title: str
    sentences: list[str]


@dataclass(frozen=True)
class FittedPage:
    """What stands on the page."""

    title: str
    machine: str
    summary: str
    verdict: str
    tone: str
    sentence: str
    headlines: list[Headline]
    #: Two rows of two cards.
    cards: list[FittedCard]
    foot: str


def fitted(report: ReportModel, board: Board) -> FittedPage:
    """The board on one sheet of A4 or letter paper."""
    title, machine = _cut(report.title, _TITLE), _cut(report.machine, _MACHINE)
    summary = _cut(report.summary, _NAME)
    verdict = _cut(board.verdict, _VERDICT)
    sentence = _cut_to_lines(board.sentence, _in_line(_SENTENCE_TYPE[0]), _MOST_LINES_OF_VERDICT)
    name = f" from {_cut(report.run, _NAME)}" if report.run else ""
    foot = _FOOT.format(version=report.assay, run=name)
    headlines = [
        msgspec.structs.replace(
            each,
            title=_cut(each.title, _NUMBER_TITLE),
            text=_cut(each.text, _NUMBER),
            note=_cut(each.note, _NOTE),
        )
        for each in board.headlines[:MOST_HEADLINES]
    ]
    used = _SPARE + sum(
        (
            _text_height(title, _TITLE_TYPE, _BOLD) + _BELOW_HEAD,
            _text_height(machine, _SMALL_TYPE) + _BELOW_HEAD,
            _text_height(f"{report.utc}      {summary}", _SMALL_TYPE) + _BELOW_HEAD,
            _text_height(verdict, _VERDICT_TYPE, _BOLD) + _BAND,
            _text_height(sentence, _SENTENCE_TYPE),
            _height_of_numbers(headlines) + _ABOVE_CARDS,
            _text_height(foot, _FOOT_TYPE) + _ABOVE_FOOT,
        )
    )
    room = int((_HEIGHT - used - _ROWS * _CARD) / _LINE)
    about = [each for each in board.what if each != report.machine]
    rows = [
        [("What it is and does", [*about, *board.does]), ("What it costs", board.costs)],
        [("How sure it is", grouped(board.sure)), ("To decide", board.decide)],
    ]
    return FittedPage(
        title=title,
        machine=machine,
        summary=summary,
        verdict=verdict,
        tone=board.tone,
        sentence=sentence,
        headlines=headlines,
        cards=_cards(rows, room),
        foot=foot,
    )


def _in_line(size: float, character: float = _CHARACTER) -> int:
    """Characters in a line of the page's width, less the edge of the verdict."""
    return int((_WIDTH - 24) / (size * character))


def _text_height(text: str, kind: tuple[float, float], character: float = _CHARACTER) -> float:
    size, line = kind
    return line * len(_lines(text, _in_line(size, character)))


def _height_of_numbers(headlines: Sequence[Headline]) -> float:
    """The height of all rows of numbers; a row is as high as its highest number."""
    heights = [
        sum(
            line * len(_lines(text, int((_WIDTH / _IN_A_ROW - 12) / (size * _CHARACTER))))
            for (size, line), text in zip(_PARTS, (each.title, each.text, each.note), strict=True)
        )
        for each in headlines
    ]
    rows = [heights[at : at + _IN_A_ROW] for at in range(0, len(heights), _IN_A_ROW)]
    return sum(max(row) + _BELOW for row in rows)


def _cards(rows: Sequence[Sequence[tuple[str, Sequence[str]]]], room: int) -> list[FittedCard]:
    """Cards in rows, which share ``room`` lines. A row gets what the other leaves."""
    for longest in _LONGEST:
        shortened = [
            [(title, [_cut(each, longest) for each in sentences]) for title, sentences in row]
            for row in rows
        ]
        wanted = [max(_height(sentences) for _, sentences in row) for row in shortened]
        if sum(wanted) <= room:
            break
    first = min(wanted[0], max(int(_FIRST_SHARE * room), room - wanted[1]))
    rooms = [first, room - first]
    return [
        FittedCard(title, _some(sentences, lines))
        for row, lines in zip(shortened, rooms, strict=True)
        for title, sentences in row
        if sentences
    ]


def _some(sentences: Sequence[str], room: int) -> list[str]:
    """The first sentences that fit into this many lines, and how many more there are."""
    kept: list[str] = []
    for place, each in enumerate(sentences):
        more = len(sentences) - place - 1
        needed = _height([*kept, each]) + (1 if more else 0)
        if needed > room and kept:
            return [*kept, f"{more + 1} more in the report."]
        if needed > room:
            left = max(1, room - (1 if more else 0) - 1)
            kept.append(_cut_to_lines(each, _per_line(), left))
        else:
            kept.append(each)
    return kept


def _per_line() -> int:
    return int(_CARD_WIDTH / (_TEXT * _CHARACTER))


def _height(sentences: Sequence[str]) -> int:
    """Lines of a list, with its gaps."""
    lines = sum(len(_lines(each, _per_line())) for each in sentences)
    return lines + -int(-len(sentences) * _GAP // _LINE)


def _lines(text: str, most: int) -> list[str]:
    """The text in lines of at most this many characters, broken as browsers break it: at blanks,
    after hyphens and slashes, and within longer words."""
    lines, line = [], ""
    for piece in _PIECE.findall(" ".join(text.split())):
        if line and _width(line) + _width(piece.rstrip()) > most:
            lines.append(line.rstrip())
            line = ""
        line += piece
        while _width(line.rstrip()) > most:
            head = _head(line, most)
            lines.append(head)
            line = line[len(head) :]
    return [*lines, line] if line else lines


def _head(word: str, most: int) -> str:
    width = 0
    for place, each in enumerate(word):
        width += _width(each)
        if width > most:
            return word[: max(place, 1)]
    return word


def _width(text: str) -> int:
    """Width in characters; those of East Asian scripts count as two."""
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text)


def _cut(text: str, most: int) -> str:
    """The text, cut at a clause or a word if it is wider than ``most`` characters."""
    if _width(text) <= most:
        return text
    return beginning(text, most * len(text) // _width(text))


def _cut_to_lines(text: str, per_line: int, lines: int) -> str:
    most = per_line * lines
    while len(_lines(text, per_line)) > lines:
        most -= per_line // 4
        text = _cut(text, most)
        if most <= per_line // 2:
            break
    return text
