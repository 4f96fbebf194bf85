// A session as a picture: turns as bands, calls from the model's call to the answer, findings as marks above them.
function packed(calls) {
  const ends = [];
  return calls.map((call) => {
    const since = call[0], until = Math.max(call[1] === null ? since : call[1], since);
    let lane = ends.findIndex((end) => end < since);
    if (lane < 0) lane = ends.length < 14 ? ends.push(0) - 1 : ends.length - 1;
    ends[lane] = until;
    return lane;
  });
}

function timelineOf(at, width) {
  const told = TIMELINES.get(String(at));
  if (!told) return el("p", { class: "dim" }, "No timeline of this session is in this page.");
  const found = FINDINGS.filter((finding) => finding.session_at === at && finding.seq !== null);
  const left = 8, wide = Math.max(width - 16, 200), last = Math.max(told.end, 1), x = (seq) => left + (seq / last) * wide;
  const lanes = packed(told.calls), height = lanes.length ? Math.max(...lanes) + 1 : 0;
  const top = 34, step = 18, base = top + Math.max(height, 1) * step + 10;
  const turns = told.turns.map(([name, since, until, status, subagent]) => {
    const from = x(since ?? 0), wideness = Math.max(x(until ?? told.end) - from, 2);
    return svg("g", {}, svg("rect", { class: "turn", x: from, y: top - 6, width: wideness, height: base - top + 2, rx: 3 }, svg("title", {}, `turn ${name}${subagent ? `, subagent ${subagent}` : ""}: ${status || "no status"}`)));
  });
  const changes = told.changes.map(([seq, tool, state]) => svg("line", { class: "change", x1: x(seq), x2: x(seq), y1: top - 8, y2: base - 2 }, svg("title", {}, `${tool} ${state} from here on`)));
  const calls = told.calls.map(([since, until, tool, verdict, outcome, id, subagent], number_) => {
    const kind = ["valid", "invalid", "unverifiable"].includes(verdict) ? verdict : "none", from = x(since), wideness = Math.max(x(until ?? since) - from, 7), y = top + lanes[number_] * step;
    const words = `${tool} ${id || ""}: ${verdict}${outcome === "none" ? ", never answered" : outcome === "error" ? ", failed" : ""}${subagent ? `, subagent ${subagent}` : ""}`;
    const go = () => { unfiltered(); STATE.session = at; STATE.text = id || ""; location.hash = "#findings"; };
    return svg("g", { class: "mark", on: { click: go } }, svg("rect", { class: `s-${kind}`, x: from, y, width: wideness, height: 11, rx: 2, opacity: until === null ? 0.55 : null }, svg("title", {}, words)),
      wideness > 6.2 * tool.length + 8 && svg("text", { x: from + 4, y: y + 9.5, class: "inside" }, ""));
  });
  const marks = [...found].reverse().map((finding) => {
    const centre = x(finding.seq), y = finding.severity === "error" ? 6 : finding.severity === "warning" ? 12 : 18;
    return svg("path", { class: `mark f-${finding.severity}`, d: `M${centre - 5} ${y}h10l-5 8z`, tabindex: 0, role: "link", "aria-label": `${finding.severity} ${finding.rule}`, on: { click: () => openFinding(finding.at), keydown: (event) => event.key === "Enter" && openFinding(finding.at) } }, svg("title", {}, `${finding.severity} ${finding.rule} ${finding.slug}: ${finding.message}`));
  });
  const axis = [svg("text", { x: left, y: base + 14 }, told.times[0] || "event 0"), svg("text", { x: left + wide, y: base + 14, "text-anchor": "end" }, told.times[1] || `event ${number(told.end)}`)];
  return el("div", {}, el("div", { class: "timeline" }, svg("svg", { width: wide + 16, height: base + 20, viewBox: `0 0 ${wide + 16} ${base + 20}`, role: "group", "aria-label": "Timeline of the session" }, turns, changes, calls, marks, axis)),
    el("div", { class: "legend" }, ["valid", "invalid", "unverifiable"].map((kind) => el("span", {}, el("i", { class: kind }), kind)), el("span", {}, el("i", { class: "none" }), "not judged"), told.changes.length > 0 && el("span", {}, "┆ the tool table changed"), el("span", {}, "▾ finding")));
}
