// What was looked at, and what nobody could judge: the hops, rules without anything to look at, the inputs.
function hops() {
  return sheet([["", ""], ["seen", "n"], ["judged", "n"], ["failed", "n"], ["cannot be judged", ""]], OVERVIEW.hops.map((hop) => [
    hop.hop, number(hop.seen), number(hop.judged), hop.failed ? el("span", { class: "error" }, number(hop.failed)) : "0",
    Object.entries(hop.unjudged).sort().map(([reason, count]) => el("div", {}, `${number(count)} `, el("code", {}, reason)))]));
}

function idle() {
  const reasons_ = new Map();
  for (const { rule, reason } of OVERVIEW.summary.rules_not_run) reasons_.set(reason, [...(reasons_.get(reason) || []), rule]);
  return sheet([["rules", ""], ["why", ""]], [...reasons_].map(([reason, rules]) => [rules.map((rule) => el("div", {}, `${rule} ${OVERVIEW.rules[rule] ? OVERVIEW.rules[rule].slug : ""}`)), reason]));
}

function inputs() {
  return [
    sheet([["records", "n"], ["unreadable", "n"], ["format", ""], ["input", ""]], OVERVIEW.inputs.map(([path, format, records_, unreadable, bytes]) => [
      number(records_), unreadable ? el("span", { class: "error" }, number(unreadable)) : "0", format || el("span", { class: "error" }, bytes ? "not recognised" : "empty"), el("code", {}, path)])),
    OVERVIEW.inputs_left_out > 0 && el("p", { class: "dim" }, `and ${number(OVERVIEW.inputs_left_out)} more, all read`),
    OVERVIEW.unrecognised.length > 0 && el("p", { class: "dim" }, "No log, left out: ", OVERVIEW.unrecognised.map((name) => [el("code", {}, name), " "])),
  ];
}

function coveragePage() {
  return el("div", { class: "page" }, warnings(), el("div", { class: "columns" }, block("Verdicts", verdicts(), reasons()), OVERVIEW.summary.rules_not_run.length > 0 && block("Rules that did not run", idle())),
    block("Hops", hops()), block("Inputs", inputs()), el("p", { class: "dim" }, `Written by Session Trace Analyzer ${OVERVIEW.version}. This file fetches nothing.`));
}
