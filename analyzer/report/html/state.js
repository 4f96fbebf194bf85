// The data of the page, and what is looked at.
const OVERVIEW = held("overview"), CALLS = held("calls"), SCHEMAS = new Map(Object.entries(held("schemas"))), CONTRACTS = held("contracts");

function records(told) {
  return told.rows.map((row) => Object.fromEntries(told.columns.map((name, at) => [name, row[at]])));
}

function unpooled({ columns, rows, pool, pooled }) {
  return rows.map((row, at) => {
    const found = { at };
    for (let column = 0; column < columns.length; column += 1) {
      const value = row[column];
      found[columns[column]] = column < pooled ? (value === null ? null : pool[value]) : value;
    }
    return found;
  });
}

const [FINDINGS, FAULTS, LEFT_OUT] = (() => { const told = held("findings"); return [unpooled(told), told.faults, told.left_out]; })();
const [SESSIONS, TIMELINES, SESSIONS_LEFT_OUT] = (() => { const told = held("sessions"); return [records(told), new Map(Object.entries(told.timelines)), told.left_out]; })();

// Each fault in the order of what to look at first, and each finding's place among them.
const KINDS = new Map(FAULTS.map(([row, times, sessions], rank) => [FINDINGS[row].group, { rank, times, sessions, first: row }]));
for (const finding of FINDINGS) finding.rank = KINDS.has(finding.group) ? KINDS.get(finding.group).rank : FAULTS.length;

const SEVERITIES = ["error", "warning", "info"];
const STATE = { text: "", severities: new Set(SEVERITIES), rule: "", tool: "", confidence: "", session: null, group: "", once: false, borne: true, order: "worst", finding: FAULTS.length ? FAULTS[0][0] : 0, at_session: 0, tool_at: 0 };

function haystack(finding) {
  if (finding.hay === undefined) {
    const failures = finding.failures.map((each) => `${each.member} ${each.keyword} ${each.expected} ${each.actual}`);
    finding.hay = [finding.rule, finding.slug, finding.message, finding.tool, finding.session, finding.turn, finding.call_id, finding.place, finding.agent, finding.group, finding.fingerprint, ...failures].join("\n").toLowerCase();
  }
  return finding.hay;
}

function filtered() {
  const words = STATE.text.toLowerCase().split(/\s+/).filter(Boolean), seen = new Set();
  const kept = FINDINGS.filter((finding) =>
    STATE.severities.has(finding.severity) &&
    (!STATE.rule || finding.rule === STATE.rule) &&
    (!STATE.tool || finding.tool === STATE.tool) &&
    (!STATE.confidence || finding.confidence === STATE.confidence) &&
    (!STATE.group || finding.group === STATE.group) &&
    (STATE.session === null || finding.session_at === STATE.session) &&
    (STATE.borne || !finding.suppressed) &&
    words.every((word) => haystack(finding).includes(word)));
  if (STATE.order === "worst") kept.sort((one, two) => one.rank - two.rank || one.at - two.at);
  return STATE.once ? kept.filter((finding) => !seen.has(finding.group) && seen.add(finding.group)) : kept;
}

function unfiltered() {
  Object.assign(STATE, { text: "", severities: new Set(SEVERITIES), rule: "", tool: "", confidence: "", session: null, group: "", borne: true });
}
