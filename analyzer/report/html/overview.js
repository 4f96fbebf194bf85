// How much of what was found, in how much of what was read; and where to look first.
function figures() {
  const { findings: counts, sessions, calls, results, events } = OVERVIEW.summary;
  const figure = (value, name, kind) => el("div", { class: "figure" }, el("b", { class: value ? kind : "" }, number(value)), el("span", {}, name));
  return el("div", { class: "figures" },
    figure(counts.error, counts.error === 1 ? "error" : "errors", "error"), figure(counts.warning, counts.warning === 1 ? "warning" : "warnings", "warning"), figure(counts.info, "info", "info"),
    counts.suppressed > OVERVIEW.known && figure(counts.suppressed - OVERVIEW.known, "suppressed", ""), OVERVIEW.known > 0 && figure(OVERVIEW.known, "known", ""),
    figure(sessions, "sessions"), figure(calls, "calls"), figure(results, "results"), figure(events, "events"));
}

function verdicts() {
  const { valid, invalid, unverifiable, not_applicable: none } = OVERVIEW.summary.verdicts;
  const undecided = Object.values(unverifiable).reduce((sum, count) => sum + count, 0);
  const parts = [["s-valid", valid, `${number(valid)} valid`], ["s-invalid", invalid, `${number(invalid)} invalid`], ["s-unverifiable", undecided, `${number(undecided)} unverifiable`]];
  return [
    el("p", {}, OVERVIEW.covered),
    stacked(parts, 600, 14),
    el("div", { class: "legend" }, parts.map(([kind, , words]) => el("span", {}, el("i", { class: kind.slice(2) }), words)), none > 0 && el("span", {}, `${number(none)} owed none`)),
  ];
}

function reasons() {
  const rows = Object.entries(OVERVIEW.summary.verdicts.unverifiable).sort();
  return rows.length > 0 && [el("h3", {}, "Without a verdict"), sheet([["", "n"], ["", ""]], rows.map(([reason, count]) => [number(count), [el("code", {}, reason), " ", OVERVIEW.reasons[reason] || ""]]))];
}

function byRule() {
  const counts = new Map();
  for (const finding of FINDINGS) {
    if (finding.suppressed) continue;
    const held_ = counts.get(finding.rule) || { rule: finding.rule, slug: finding.slug, error: 0, warning: 0, info: 0, all: 0 };
    held_[finding.severity] += 1;
    held_.all += 1;
    counts.set(finding.rule, held_);
  }
  const rows = [...counts.values()].sort((one, two) => two.all - one.all || (one.rule < two.rule ? -1 : 1)).slice(0, 18);
  const most = rows.length ? rows[0].all : 1, step = 26, label = 250, room = 240;
  const drawn = rows.map((row, at) => {
    let x = label;
    const parts = SEVERITIES.filter((severity) => row[severity]).map((severity) => {
      const wide = Math.max((row[severity] / most) * room, 2), piece = svg("rect", { class: `f-${severity}`, x, y: at * step + 5, width: wide, height: 13, rx: 2 }, svg("title", {}, `${row[severity]} ${severity}`));
      x += wide + 1;
      return piece;
    });
    const go = () => { unfiltered(); STATE.rule = row.rule; location.hash = "#findings"; };
    return svg("g", { class: "mark", tabindex: 0, role: "link", "aria-label": `${row.rule} ${row.slug}: ${row.all}`, on: { click: go, keydown: (event) => event.key === "Enter" && go() } },
      svg("rect", { x: 0, y: at * step, width: 540, height: step, fill: "transparent" }),
      svg("text", { class: "strong", x: 0, y: at * step + 16 }, row.rule), svg("text", { x: 68, y: at * step + 16 }, row.slug.length > 28 ? `${row.slug.slice(0, 27)}…` : row.slug),
      parts, svg("text", { x: x + 6, y: at * step + 16 }, number(row.all)));
  });
  return rows.length ? svg("svg", { viewBox: `0 0 540 ${rows.length * step}`, width: "100%", role: "group", "aria-label": "Findings by rule" }, drawn) : el("p", { class: "dim" }, "Nothing was found.");
}

function faultList(most) {
  return el("ol", { class: "faults" }, FAULTS.slice(0, most).map(([row, times, sessions]) => {
    const finding = FINDINGS[row];
    return el("li", {}, el("button", { type: "button", on: { click: () => { unfiltered(); openFinding(finding.at); } } },
      badge(finding.severity), el("span", { class: "what" }, `${finding.rule} ${finding.slug}`, finding.tool && [" ", el("code", {}, finding.tool)]),
      el("span", { class: "times" }, `${number(times)}×${sessions > 1 ? ` in ${number(sessions)} sessions` : ""}`), el("span", { class: "say" }, finding.message)));
  }));
}

function warnings() {
  return [
    OVERVIEW.crashed.map(([rule, error]) => el("p", { class: "note" }, `${rule} crashed and judged nothing: `, error)),
    OVERVIEW.problems.map((problem) => el("p", { class: "note" }, "Not read: ", problem)),
    OVERVIEW.notes.map((note) => el("p", { class: "note" }, note)),
    OVERVIEW.bare && el("p", { class: "note" }, "Calls, timelines and contracts are not on this page, for the logs are large. ", el("code", {}, "analyzer audit --session ID -o FILE.html"), " makes a page of one session with them."),
    LEFT_OUT > 0 && el("p", { class: "note" }, `${counted(LEFT_OUT, "finding")} are left out: this page holds the ${number(FINDINGS.length)} worst. The JSON report has all.`),
  ];
}

function overviewPage() {
  return el("div", { class: "page" }, warnings(), figures(),
    el("div", { class: "columns" },
      el("div", {}, block("Where to look first", FAULTS.length ? faultList(10) : el("p", { class: "dim" }, "Nothing was found."), FAULTS.length > 10 && el("p", {}, el("button", { class: "link", type: "button", on: { click: () => { unfiltered(); STATE.once = true; location.hash = "#findings"; } } }, `All ${number(FAULTS.length)} kinds of fault`)))),
      el("div", {}, block("Verdicts", verdicts(), reasons()), block("Findings by rule", byRule()))),
    OVERVIEW.next && block("Next", el("p", { class: "dim" }, "On the machine that has the log:"), el("p", {}, el("code", {}, OVERVIEW.next))));
}
