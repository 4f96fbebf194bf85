// Findings: filters and a list on one side, the chosen one on the other.
function choice(label, name, values) {
  const pick = el("select", { "aria-label": label, on: { change: (event) => { STATE[name] = event.target.value; refresh(true); } } },
    el("option", { value: "" }, label), values.map(([value, words]) => el("option", { value }, words)));
  pick.value = STATE[name];
  return pick;
}

function tally(name) {
  const counts = new Map();
  for (const finding of FINDINGS) if (finding[name] !== null) counts.set(finding[name], (counts.get(finding[name]) || 0) + 1);
  return [...counts].sort(([one], [two]) => (one < two ? -1 : 1)).map(([value, count]) => [value, `${value} (${number(count)})`]);
}

function chip(words, pressed, toggle) {
  return el("button", { class: "chip", type: "button", "aria-pressed": pressed ? "true" : "false", on: { click: () => { toggle(); refresh(true); showFilters(); } } }, words);
}

let list = null, detail = null, split = null, shown = null, filters = null;

function findingRow(finding) {
  const kind = KINDS.get(finding.group);
  return el("div", { class: finding.suppressed ? "borne" : "" }, badge(finding.severity), el("span", { class: "name" }, `${finding.rule} ${finding.slug}`),
    el("span", { class: "right" }, STATE.once && kind ? `${number(kind.times)}×` : finding.tool || ""), el("span", { class: "say" }, finding.message));
}

function showFilters() {
  const search = el("input", { type: "search", id: "search", placeholder: "Search (press /)", "aria-label": "Search findings", value: STATE.text, autocomplete: "off", spellcheck: "false",
    on: { input: (event) => { STATE.text = event.target.value; refresh(true); }, keydown: (event) => { if (event.key === "Enter" || event.key === "ArrowDown") { list.box.focus(); event.preventDefault(); } } } });
  const rules = tally("rule").map(([value, words]) => [value, words]);
  const toggles = SEVERITIES.map((severity) => chip(severity, STATE.severities.has(severity), () => { if (!STATE.severities.delete(severity)) STATE.severities.add(severity); }));
  const only = [];
  if (STATE.session !== null) only.push(chip(`session ${SESSIONS[STATE.session].id} ×`, true, () => { STATE.session = null; }));
  if (STATE.group) only.push(chip("one fault ×", true, () => { STATE.group = ""; }));
  filters.replaceChildren(search, ...toggles, choice("every rule", "rule", rules), choice("every tool", "tool", tally("tool")), choice("however sure", "confidence", tally("confidence")),
    chip("each fault once", STATE.once, () => { STATE.once = !STATE.once; }),
    chip("as recorded", STATE.order !== "worst", () => { STATE.order = STATE.order === "worst" ? "recorded" : "worst"; }),
    ...(OVERVIEW.summary.findings.suppressed ? [chip(OVERVIEW.known ? "suppressed, known" : "suppressed", STATE.borne, () => { STATE.borne = !STATE.borne; })] : []), ...only);
}

function refresh(reset) {
  const items = filtered();
  const at = reset ? 0 : items.findIndex((finding) => finding.at === STATE.finding);
  shown.textContent = `${number(items.length)} of ${counted(FINDINGS.length, "finding")}`;
  list.show(items, at);
  if (list.at >= 0) pickFinding(list.items[list.at]);
  else detail.replaceChildren(el("p", { class: "empty" }, FINDINGS.length ? "No finding matches. Esc clears the filters." : "Nothing was found."));
}

function pickFinding(finding) {
  STATE.finding = finding.at;
  const back = el("button", { class: "plain back", type: "button", on: { click: () => split.classList.remove("open") } }, "Back to the list");
  detail.replaceChildren(back, ...[findingSheet(finding, false)].flat(9).filter(Boolean));
  detail.scrollTop = 0;
}

function findingsPage() {
  list = new VirtualList({ label: "Findings", height: 58, draw: findingRow, chosen: pickFinding, opened: () => { split.classList.add("open"); detail.focus(); } });
  filters = el("div", { class: "filters" });
  shown = el("div", { class: "shown", role: "status" });
  detail = el("article", { class: "detail", tabindex: -1, "aria-label": "The chosen finding" });
  split = el("div", { class: "split" }, el("div", { class: "side" }, filters, shown, list.box), detail);
  showFilters();
  return split;
}

function openFinding(at) {
  STATE.finding = at;
  const finding = FINDINGS[at];
  if (!filtered().includes(finding)) { unfiltered(); STATE.once = false; }
  if (location.hash === "#findings") showView();
  else location.hash = "#findings";
}
