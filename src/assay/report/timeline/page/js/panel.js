// The page around the canvas: legend, tooltip, selection, lists and tables.

function element(name, text = "", attributes = {}) {
  const made = document.createElement(name);
  made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function values(pairs) {
  const list = element("dl", "", { class: "values" });
  for (const [name, value] of pairs) {
    if (value === "" || value === null) continue;
    list.append(element("dt", name), element("dd", value));
  }
  return list;
}

function swatch(colour, line = false) {
  const made = element("canvas", "", line ? { class: "line" } : {});
  made.width = line ? 40 : 26;
  made.height = 26;
  const context = made.getContext("2d");
  context.fillStyle = colour;
  if (line) context.fillRect(0, 10, 40, 6);
  else context.fillRect(0, 0, 26, 26);
  return made;
}

function drawLegend(head, colours) {
  const list = document.getElementById("legend");
  list.replaceChildren();
  const total = head.ranks.reduce((sum, rank) => sum + (rank.end - rank.begin) / 1e9, 0);
  const shares = head.states.map((_, s) => head.ranks.reduce((sum, rank) => sum + rank.times[s], 0) / (total || 1));
  const rows = [["Computing", colours.computing, Math.max(1 - shares.reduce((a, b) => a + b, 0), 0)],
    ...head.states.map((state, s) => [state.name, colours.states[s], shares[s]])];
  for (const [name, colour, share] of rows) {
    const item = element("li");
    const text = element("span", name + " ");
    text.append(element("span", percentText(share), { class: "quiet" }));
    item.append(swatch(colour), text);
    list.append(item);
  }
  if (head.pathPieces) {
    const item = element("li");
    item.append(swatch(colours.ink, true), element("span", "Critical path"));
    list.append(item);
  }
}

function callValues(call, data) {
  const pairs = [
    ["Rank", `${call.world}, ${data.head.ranks[call.rank].host}`],
    ["Place", call.place], ["Begin", exactTime(call.begin)], ["Duration", exactTime(call.length)],
    ["Peer", call.peer], ["Source", call.source], ["Tag", call.tag >= 0 ? String(call.tag) : ""],
    ["Sent", call.sent ? bytesText(call.sent) : ""], ["Received", call.received ? bytesText(call.received) : ""],
    ["Communicator", call.communicator], ["Calls", call.count > 1 ? `${countText(call.count)} that failed, and the last` : ""],
    ["Thread", call.thread ? String(call.thread) : ""],
  ];
  return pairs;
}

function callTitle(call, colours) {
  const title = element("div", "", { class: "title" });
  const mark = swatch(colours.states[call.state]);
  mark.style.cssText = "width:10px;height:10px;border-radius:3px";
  title.append(mark, element("span", "MPI_" + call.name));
  return title;
}

function shareValues(data, rank, t0, t1) {
  const shares = data.head.states.map((state, s) => [state.name, data.previews.share(s, rank, rank + 1, t0, t1)]);
  const inside = shares.reduce((sum, [, share]) => sum + share, 0);
  return [["Time", `${timeText(t0, 5)} to ${timeText(t1, 5)}`],
    ["Computing", percentText(Math.max(1 - inside, 0))],
    ...shares.filter(([, share]) => share > 0.0005).map(([name, share]) => [name, percentText(share)])];
}

function fillWaits(head, jump) {
  if (!head.waits.length) return;
  document.getElementById("waits").hidden = false;
  const list = document.getElementById("wait-list");
  head.waits.forEach((wait, i) => {
    const item = element("li"), link = element("a", "", { href: `#wait-${i + 1}` });
    const about = element("span", `Rank ${wait.rank}, MPI_${wait.function}`);
    const origin = wait.origin >= 0 ? `: rank ${wait.origin}` : "";
    const others = wait.others ? ` (and ${countText(wait.others)} other calls)` : "";
    about.append(element("span", `${wait.cause}${origin}${others}${wait.place ? ", " + wait.place : ""}, at ${timeText(wait.begin, 5)}`));
    link.append(element("b", timeText(wait.waited * 1e9)), about);
    link.addEventListener("click", (event) => {
      event.preventDefault();
      jump(i);
    });
    item.append(link);
    list.append(item);
  });
}

function fillTables(head) {
  const times = document.getElementById("rank-table");
  const names = ["Computing", ...head.states.map((state) => state.name)];
  table(times, [["Rank", 0], ["Host", 1], ["Wall time", 0], ...names.map((name) => [name, 0]), ["Calls", 0]],
    head.ranks.map((rank) => {
      const wall = rank.end - rank.begin;
      const inside = rank.times.reduce((a, b) => a + b, 0) * 1e9;
      return [String(rank.rank) + (rank.complete ? "" : " (cut)"), rank.host, timeText(wall, 4), timeText(Math.max(wall - inside, 0), 4),
        ...rank.times.map((time) => timeText(time * 1e9, 4)), countText(rank.calls)];
    }));
  table(document.getElementById("place-table"),
    [["Function", 1], ["Place", 1], ["Calls", 0], ["Time", 0], ["Mean", 0], ["Longest", 0]],
    head.places.map((place) => [head.functions[place.function].name, head.sites[place.site] ?? "", countText(place.calls),
      timeText(place.time * 1e9, 4), timeText(place.time * 1e9 / place.calls), timeText(place.longest[2] - place.longest[1], 4)]));
}

function table(target, columns, rows) {
  const line = (cells, name) => {
    const row = element("tr");
    cells.forEach((cell, i) => row.append(element(name, cell, { ...(columns[i][1] ? { class: "t" } : {}), ...(name === "th" ? { scope: "col" } : {}) })));
    return row;
  };
  const head = element("thead"), body = element("tbody");
  head.append(line(columns.map(([name]) => name), "th"));
  body.append(...rows.map((row) => line(row, "td")));
  target.replaceChildren(head, body);
}

function containedText(data) {
  const { head } = data;
  const inside = head.spans.reduce((sum, [a, b]) => sum + b - a, 0) / data.end;
  if (head.kept >= head.calls) {
    return `All ${countText(head.calls)} calls, and their ${countText(head.arrows)} messages.`;
  }
  return `${countText(head.kept)} of ${countText(head.calls)} calls in full detail: ${countText(head.spans.length)} windows, ` +
    `${percentText(inside)} of the time (marked black below the axis and in the overview). They cover the beginning, the end and the worst waits; ` +
    `the others are spread evenly over the run. Elsewhere, the file has the shares of the states in intervals of ${timeText(data.previews.perBin)}, ` +
    "summed over all calls. The tables count all calls.";
}
