// One finding: the guilty members, the call beside its schema, where it stands, what to do.
function lines(title, told, guilty, near) {
  if (!told || !told.length) return null;
  const wanted = near ? around(told, guilty) : null, body = el("ol", {});
  told.forEach(([pointer, text], at) => {
    if (!wanted || wanted.has(at)) body.append(el("li", { class: pointer && guilty.has(pointer) ? "guilty" : null }, text));
    else if (wanted.has(at - 1)) body.append(el("li", { class: "dim" }, "…"));
  });
  return el("div", { class: "code", tabindex: 0, role: "region", "aria-label": title }, el("div", { class: "head" }, title), body);
}

/** On paper: the guilty lines and what is next to them. */
function around(told, guilty) {
  const wanted = new Set();
  told.forEach(([pointer], at) => { if (pointer && guilty.has(pointer)) for (let near = at - 3; near <= at + 3; near += 1) wanted.add(near); });
  if (!wanted.size) for (let at = 0; at < 12; at += 1) wanted.add(at);
  return wanted;
}

function beside(finding, paper) {
  const call = finding.call_at === null ? null : CALLS[finding.call_at], contract = finding.contract;
  const schema = contract && SCHEMAS.get(contract.schema);
  const answered = /^(OUT|FINAL)/.test(finding.rule);
  const members = new Set(finding.failures.flatMap((each) => [each.member, each.at]).filter(Boolean));
  const keywords = new Set(finding.failures.map((each) => each.schema).filter(Boolean));
  const nothing = new Set();
  const payload = call && (answered ? lines("Result", call.result, members, paper) : lines("Arguments", call.arguments, members, paper));
  const judged = schema && lines(`Schema ${contract.schema}, ${contract.origin}`, schema, keywords, paper);
  const other = call && !paper && (answered ? lines("Arguments", call.arguments, nothing) : lines("Result", call.result, nothing));
  return [
    (payload || judged) && [el("h3", {}, payload && judged ? `The ${answered ? "result" : "call"} beside the schema in force` : payload ? (answered ? "The result" : "The call") : "The schema"), el("div", { class: "beside" }, payload, judged)],
    other && [el("h3", {}, answered ? "The call" : "What came back"), call.error && el("p", { class: "mono" }, call.error), other],
  ];
}

function failures(finding) {
  const side = (name, words) => el("div", {}, el("span", {}, name), el("code", {}, words));
  return finding.failures.length > 0 && el("div", { class: "fails" }, finding.failures.map((each) => el("div", { class: "fail" },
    el("div", { class: "member" }, each.member || "(root)"),
    el("div", { class: "sides" }, side("expected", [each.keyword, each.expected].filter(Boolean).join(" ") || "-"), side("actual", each.actual || "nothing there")))));
}

function facts(finding) {
  const contract = finding.contract, kind = KINDS.get(finding.group), pairs = [];
  const add = (name, ...words) => { if (words.some(Boolean)) pairs.push(el("dt", {}, name), el("dd", {}, words)); };
  const code = (words) => words && el("code", {}, words);
  if (finding.session !== null) add("Session", finding.session_at !== null ? el("button", { class: "link mono", type: "button", on: { click: () => openSession(finding.session_at) } }, finding.session) : code(finding.session));
  add("Turn", code(finding.turn));
  add("Agent", code(finding.agent));
  add("Call", code(finding.call_id));
  add("Tool", code(finding.tool));
  add("At", code(finding.place));
  add("JSONPath", finding.path !== "$" && code(finding.path));
  for (const [role, place] of finding.related) add(role, code(place));
  if (contract) {
    add("Judged by", code(contract.schema), ` ${contract.origin}`);
    add("Schema at", code(contract.place));
    if (finding.failures.length) add("Other versions", contract.passes ? ["would pass ", code(contract.passes)] : "none recorded would pass");
  }
  if (finding.suppressed) add("Borne", finding.suppressed.reason, finding.suppressed.until && ` (until ${finding.suppressed.until})`);
  add("Group", code(finding.group), kind && kind.times > 1 && [" ", el("button", { class: "link", type: "button", on: { click: () => { unfiltered(); STATE.group = finding.group; STATE.once = false; location.hash = "#findings"; showView(); } } }, `all ${number(kind.times)} of this fault`)]);
  add("Fingerprint", code(finding.fingerprint));
  return el("dl", {}, pairs);
}

function findingSheet(finding, paper) {
  const rule = OVERVIEW.rules[finding.rule];
  return [
    el("header", {},
      el("div", { class: "title" }, badge(finding.severity), el("span", {}, `${finding.rule} ${finding.slug}`), finding.confidence !== "certain" && el("span", { class: "dim" }, finding.confidence)),
      el("p", { class: "message" }, finding.message)),
    failures(finding),
    beside(finding, paper),
    finding.hint && [el("h3", {}, "What to do"), el("p", { class: "hint" }, finding.hint)],
    el("h3", {}, "Where"), facts(finding),
    rule && !paper && el("details", {}, el("summary", {}, `Manual of ${finding.rule}`), el("pre", {}, rule.manual)),
  ];
}
