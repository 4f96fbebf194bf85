// Views, keys, theme and paper.
const VIEWS = {
  overview: ["Overview", null, overviewPage],
  findings: ["Findings", FINDINGS.length, findingsPage],
  sessions: ["Sessions", SESSIONS.length, sessionsPage],
  contracts: ["Contracts", CONTRACTS.length, contractsPage],
  coverage: ["Coverage", null, coveragePage],
};
const KEYS = [["1 to 5", "the views"], ["/", "search"], ["↑ ↓ or j k", "up and down a list; Home, End, Page Up and Page Down too"], ["Enter", "open what is chosen"], ["Esc", "one step back; clears the filters of the list"], ["s", "from a finding to its session"], ["t", "light or dark"], ["?", "this help"]];
const view = document.getElementById("view"), tabs = document.getElementById("tabs"), help = document.getElementById("help"), paper = document.getElementById("paper");

const current = () => (location.hash.slice(1) in VIEWS ? location.hash.slice(1) : "overview");

function showView() {
  const name = current();
  for (const tab of tabs.children) tab.setAttribute("aria-current", tab.dataset.view === name ? "page" : "false");
  tabs.querySelector("[aria-current=page]").scrollIntoView({ block: "nearest", inline: "nearest" });
  view.replaceChildren(VIEWS[name][2]());
  view.scrollTop = 0;
  if (name === "findings") { refresh(false); list.box.focus({ preventScroll: true }); }
  if (name === "sessions" && SESSIONS.length) { sessionList.show(SESSIONS, STATE.at_session); pickSession(SESSIONS[Math.max(sessionList.at, 0)]); sessionList.box.focus({ preventScroll: true }); }
  if (name === "contracts" && CONTRACTS.length) { contractList.show(CONTRACTS, STATE.tool_at); pickContract(CONTRACTS[Math.max(contractList.at, 0)]); contractList.box.focus({ preventScroll: true }); }
}

function turnTheme() {
  const root = document.documentElement, dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
}

function stepBack() {
  const open = view.querySelector(".split.open");
  if (open) { open.classList.remove("open"); open.querySelector(".list").focus(); }
  if (current() !== "findings") return;
  if (document.activeElement === detail) list.box.focus();
  else { unfiltered(); STATE.once = false; showFilters(); refresh(false); list.box.focus(); }
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
  const typing = event.target.matches("input, select, textarea");
  const number_ = "12345".indexOf(event.key);
  if (event.key === "Escape") stepBack();
  else if (typing) return;
  else if (event.key.length === 1 && number_ >= 0) location.hash = `#${Object.keys(VIEWS)[number_]}`;
  else if (event.key === "/") { const search = document.getElementById("search"); if (search) { search.focus(); search.select(); } else location.hash = "#findings"; }
  else if (event.key === "t") turnTheme();
  else if (event.key === "?") help.showModal();
  else if (event.key === "s" && current() === "findings" && FINDINGS.length && FINDINGS[STATE.finding].session_at !== null) openSession(FINDINGS[STATE.finding].session_at);
  else return;
  event.preventDefault();
});

// Paper cannot scroll: it gets the overview, and the findings that are shown, up to a number that is stated.
const MOST_PRINTED = 60;
addEventListener("beforeprint", () => {
  const found = filtered(), told = found.slice(0, MOST_PRINTED);
  paper.replaceChildren(el("div", { class: "page" }, warnings(), figures(), block("Where to look first", faultList(25)), block("Verdicts", verdicts(), reasons()), block("Hops", hops()),
    OVERVIEW.summary.rules_not_run.length > 0 && block("Rules that did not run", idle()),
    block("Findings", found.length > told.length && el("p", {}, `The first ${number(told.length)} of ${number(found.length)}; the filters of the page choose which.`), told.map((finding) => el("article", {}, findingSheet(finding, true)))),
    block("Inputs", inputs())));
});
addEventListener("afterprint", () => paper.replaceChildren());
addEventListener("hashchange", showView);
let resized = 0;
addEventListener("resize", () => { clearTimeout(resized); resized = setTimeout(() => { if (current() === "sessions" && SESSIONS.length) pickSession(SESSIONS[STATE.at_session]); }, 150); });

tabs.append(...Object.entries(VIEWS).map(([name, [words, count]]) => el("button", { type: "button", "data-view": name, on: { click: () => { location.hash = `#${name}`; } } }, words, count !== null && el("span", { class: "count" }, number(count)))));
help.append(el("h2", { id: "help-title" }, "Keys"), el("dl", {}, KEYS.map(([key, words]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, words)])), el("form", { method: "dialog" }, el("p", {}, el("button", { class: "plain" }, "Close"))));
document.getElementById("theme").addEventListener("click", turnTheme);
showView();
