"""Checks a page in a browser by rules of WCAG 2.2: contrast, names, structure, keyboard.

They are those of axe-core's rules that can apply to a report, by axe's names: color-contrast,
image-alt, svg-img-alt, button-name, link-name, html-has-lang, document-title, duplicate-id,
landmark-unique, heading-order, list, region, scrollable-region-focusable, td-headers-attr,
scope-attr-valid, empty-table-header, landmark-one-main, page-has-heading-one, bypass, meta-viewport.
"""

# ruff: noqa: E501 - the script

from __future__ import annotations

from browser import Browser

_SCRIPT = r"""
const wrong = [];
const say = (rule, element) => wrong.push(`${rule}: ${element.outerHTML.slice(0, 120)}`);
const all = (selector) => [...document.querySelectorAll(selector)];
const name = (e) => (e.getAttribute("aria-label") || e.getAttribute("title") || e.textContent).trim();
const visible = (e) => e.getClientRects().length > 0 && getComputedStyle(e).visibility !== "hidden";

// Contrast of each element with text of its own: WCAG 2.2, 1.4.3.
const parse = (text) => (text.match(/[\d.]+/g) || []).map(Number);
const luminance = (rgb) => {
  const [r, g, b] = rgb.slice(0, 3).map((v) => v / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
// Shapes that texts of figures stand on, in the order in which they are painted.
const shapes = new Map();
const under = (text) => {
  const svg = text.ownerSVGElement;
  if (!shapes.has(svg)) {
    shapes.set(svg, [...svg.querySelectorAll(".mark-rect path")]
      .map((e) => ({ e, style: getComputedStyle(e), b: e.getBoundingClientRect() }))
      .filter(({ style }) => style.fill !== "none" && style.fill !== "transparent"
        && style.fillOpacity > 0.99));
  }
  const t = text.getBoundingClientRect(), x = (t.left + t.right) / 2, y = (t.top + t.bottom) / 2;
  return shapes.get(svg).findLast(({ e, b }) => b.left <= x && x <= b.right && b.top <= y
    && y <= b.bottom && e.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING);
};
const ground = (e) => {
  const shape = e.ownerSVGElement ? under(e) : undefined;
  if (shape) return parse(shape.style.fill);
  for (let at = e; at; at = at.parentElement) {
    const colour = parse(getComputedStyle(at).backgroundColor);
    if (colour.length === 3 || colour[3] > 0.99) return colour;
  }
  return [255, 255, 255];
};
let measured = 0;
for (const e of all("body *")) {
  const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  if (!own || !visible(e) || e.closest("script, style, [hidden]")) continue;
  const style = getComputedStyle(e);
  const paint = e.namespaceURI.endsWith("svg") ? style.fill : style.color;
  if (paint === "none") continue;
  const [a, b] = [luminance(parse(paint)), luminance(ground(e))].sort((p, q) => q - p);
  measured += 1;
  const least = parseFloat(style.fontSize) >= 24 ? 3 : 4.5;
  if ((a + 0.05) / (b + 0.05) < least) say("color-contrast", e);
}

for (const e of all("img")) if (!e.hasAttribute("alt")) say("image-alt", e);
for (const e of all("[role=img]")) if (!name(e)) say("svg-img-alt", e);
for (const e of all("figure[data-figure]")) {
  const live = e.querySelector(".live");
  if ((live.getAttribute("aria-label") || "").length < 20) say("image-alt", live);
  if (!live.querySelector("svg[aria-hidden=true]")) say("svg-img-alt", live);
}
for (const e of all("button, summary")) if (!name(e)) say("button-name", e);
for (const e of all("a[href]")) if (!name(e)) say("link-name", e);
if (!document.documentElement.lang) say("html-has-lang", document.documentElement);
if (!document.title) say("document-title", document.head);
const ids = all("[id]").map((e) => e.id).filter((id) => id);
for (const id of new Set(ids)) {
  const same = all(`[id="${CSS.escape(id)}"]`).filter((e) => !e.closest("svg"));
  if (same.length > 1) say("duplicate-id", same[1]);
}
const regions = all("[role=region]").map((e) => e.getAttribute("aria-label"));
regions.forEach((label, k) => {
  if (regions.indexOf(label) !== k) say("landmark-unique", all("[role=region]")[k]);
});
let level = 0;
for (const e of all("h1, h2, h3, h4, h5, h6").filter(visible)) {
  const next = Number(e.tagName[1]);
  if (next > level + 1) say("heading-order", e);
  level = next;
}
if (all("h1").length !== 1) say("page-has-heading-one", document.body);
if (all("main").length !== 1) say("landmark-one-main", document.body);
for (const e of all("ul, ol")) {
  if ([...e.children].some((c) => c.tagName !== "LI")) say("list", e);
}
for (const e of all("body > *")) {
  if (!e.matches("header, main, footer, script, style, a.skip") && visible(e)
    && e.textContent.trim()) say("region", e);
}
const skip = document.querySelector("a.skip");
if (!skip || !document.querySelector(skip.getAttribute("href"))) say("bypass", document.body);
for (const e of all("body *").filter(visible)) {
  const style = getComputedStyle(e);
  const scrolls = e.scrollWidth > e.clientWidth + 1 && /auto|scroll/.test(style.overflowX);
  const reached = e.tabIndex >= 0 || e.querySelector("a[href], button");
  if (scrolls && !reached) say("scrollable-region-focusable", e);
}
for (const e of all("th")) if (!e.textContent.trim()) say("empty-table-header", e);
for (const e of all("th")) if (!e.scope) say("scope-attr-valid", e);
for (const e of all("table")) if (!e.querySelector("th")) say("td-headers-attr", e);
const view = document.querySelector("meta[name=viewport]");
if (!view || /user-scalable=no|maximum-scale/.test(view.content)) say("meta-viewport", document.head);
// Every control is reached by the keyboard.
for (const e of all("button, a[href], summary, [tabindex]").filter(visible)) {
  if (e.tabIndex < 0) say("keyboard", e);
}
return { wrong, measured };
"""


def violations(browser: Browser) -> dict:
    """What is ``wrong`` with the open page, and the number of texts whose contrast was
    ``measured``."""
    return browser.ask(_SCRIPT)
