"""Finds texts of a page that can't be read because of their places, whatever the page is of.

Columns of a few characters, boxes far larger than their text, texts that leave their box or the
window, and texts on top of each other. Figures and fields of tables have rules of their own
(``geometry``).
"""

from __future__ import annotations

from browser import Browser

# Characters of a line on average below which a text of several lines is a narrow column: about a
# third of what typography advises at least (45 characters).
LEAST_CHARACTERS = 20
# Lines from which on that is judged: one long word can fill a line alone.
LINES = 4
# Height of a box over that of its text if it had the box's width and lines of average length.
MOST_TALL = 3.0
# Of which this many px are free: margins, and a line that ends early.
FREE = 160

_SCRIPT = r"""
const shown = (e) => e.checkVisibility({ visibilityProperty: true })
  && e.getClientRects().length > 0;
const inline = (e) => getComputedStyle(e).display.startsWith("inline");
const apart = (e) =>
  e.closest("figure .live, figure .still, .scroll, svg, #vg-tooltip-element, .skip");
const begin = (e) => e.textContent.trim().replace(/\s+/g, " ").slice(0, 40);
const problems = [];
const blocks = [...document.querySelectorAll("body *")].filter((e) =>
  e.textContent.trim() && !["SCRIPT", "STYLE"].includes(e.tagName) && !apart(e) && shown(e)
  && !inline(e) && [...e.querySelectorAll("*")].every(inline));
const boxes = [];
for (const block of blocks) {
  const range = document.createRange();
  range.selectNodeContents(block);
  const rects = [...range.getClientRects()].filter((r) => r.width > 0);
  if (!rects.length) continue;
  const box = block.getBoundingClientRect();
  const style = getComputedStyle(block);
  const text = block.textContent.trim().replace(/\s+/g, " ");
  const size = parseFloat(style.fontSize);
  // Parts of a line, such as code, have other heights and nearly the same middle.
  const middles = rects.map((r) => (r.top + r.bottom) / 2).sort((p, q) => p - q);
  const lines = 1 + middles.slice(1).filter((y, i) => y - middles[i] > 0.6 * size).length;
  // A third of the window has to be enough for so many; a narrow one has no room for more.
  const least = Math.min(LEAST, innerWidth / (0.55 * size) / 3);
  if (lines >= LINES && text.length / lines < least)
    problems.push(`a column of ${Math.round(text.length / lines)} characters: ${begin(block)}`);
  const needed = Math.ceil(text.length * 0.55 * size / Math.max(box.width, 1)) * 1.6 * size;
  if (box.height > TALL * needed + FREE)
    problems.push(`${Math.round(box.height)} px tall for ${Math.round(needed)}: ${begin(block)}`);
  for (const r of rects) {
    if (r.right > innerWidth + 1.5 || r.left < -1.5) {
      problems.push(`leaves the window: ${begin(block)}`); break;
    }
    // Kept spaces at the end of a line hang over.
    if (r.right > box.right + 0.5 * size || r.left < box.left - 1.5) {
      problems.push(`leaves its box: ${begin(block)}`); break;
    }
  }
  boxes.push({ block, box });
}
boxes.sort((p, q) => p.box.top - q.box.top);
boxes.forEach(({ block, box }, i) => {
  for (let j = i + 1; j < boxes.length && boxes[j].box.top < box.bottom - 1.5; j++) {
    const b = boxes[j].box;
    if (block.contains(boxes[j].block) || boxes[j].block.contains(block)) continue;
    const w = Math.min(box.right, b.right) - Math.max(box.left, b.left);
    const h = Math.min(box.bottom, b.bottom) - b.top;
    if (w > 1.5 && h > 3)
      problems.push(`on top of each other: ${begin(block)} | ${begin(boxes[j].block)}`);
  }
});
// What a list, a card or a grid wraps must not be far taller than all the texts in it.
for (const e of document.querySelectorAll(".questions li, header.top, .banner, .card, #answers")) {
  if (!shown(e)) continue;
  const texts = boxes.filter(({ block }) => e.contains(block));
  const sum = texts.reduce((all, { box }) => all + box.height, 0);
  const height = e.getBoundingClientRect().height;
  if (height > 1.6 * sum + FREE)
    problems.push(`${Math.round(height)} px around ${Math.round(sum)}: ${begin(e)}`);
}
return problems;
"""


def text_defects(browser: Browser) -> list[str]:
    """What is wrong with the texts of the page that is open, at its present width."""
    limits = (
        f"const LEAST = {LEAST_CHARACTERS}, LINES = {LINES}, TALL = {MOST_TALL}, FREE = {FREE};"
    )
    found: list[str] = browser.ask(limits + _SCRIPT)
    return list(dict.fromkeys(found))
