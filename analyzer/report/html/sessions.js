// Sessions: the worst first, each with its timeline and what was found in it.
let sessionList = null, sessionDetail = null, sessionSplit = null;

function sessionRow(session) {
  const counts = SEVERITIES.filter((severity) => session[severity]).map((severity) => el("span", { class: severity }, ` ${severity === "info" ? `${number(session.info)} info` : counted(session[severity], severity)}`));
  return el("div", { class: "two" }, el("span", { class: "name mono" }, session.id || "(no session)"), el("span", { class: "right" }, counts.length ? counts : "nothing found"),
    el("span", { class: "say" }, [counted(session.calls, "call"), counted(session.events, "event"), session.model, session.status].filter(Boolean).join(" · ")));
}

function pickSession(session) {
  const at = SESSIONS.indexOf(session), found = FINDINGS.filter((finding) => finding.session_at === at);
  STATE.at_session = at;
  const back = el("button", { class: "plain back", type: "button", on: { click: () => sessionSplit.classList.remove("open") } }, "Back to the list");
  const picture = el("div", {}), most = 200;
  sessionDetail.replaceChildren(back,
    el("header", {}, el("div", { class: "title" }, el("span", { class: "mono" }, session.id || "(no session)")),
      el("p", { class: "dim" }, [session.agent && `agent ${session.agent}`, session.model, session.format, counted(session.events, "event"), counted(session.calls, "call"), session.status && `ended ${session.status}`, session.unproved && "the order across its files is not proved"].filter(Boolean).join(" · "))),
    el("h3", {}, "Timeline"), picture,
    el("h3", {}, "Findings"),
    found.length ? el("ol", { class: "faults" }, found.slice(0, most).map((finding) => el("li", {}, el("button", { type: "button", on: { click: () => { unfiltered(); STATE.session = at; STATE.once = false; openFinding(finding.at); } } },
      badge(finding.severity), el("span", { class: "what" }, `${finding.rule} ${finding.slug}`), el("span", { class: "times" }, finding.tool || ""), el("span", { class: "say" }, finding.message))))) : el("p", { class: "dim" }, "Nothing was found here."),
    found.length > most ? el("p", {}, el("button", { class: "link", type: "button", on: { click: () => { unfiltered(); STATE.session = at; location.hash = "#findings"; } } }, `all ${number(found.length)}`)) : "");
  picture.append(timelineOf(at, sessionDetail.clientWidth - 78 || 800));
  sessionDetail.scrollTop = 0;
}

function sessionsPage() {
  sessionList = new VirtualList({ label: "Sessions", height: 58, draw: sessionRow, chosen: pickSession, opened: () => { sessionSplit.classList.add("open"); pickSession(sessionList.items[sessionList.at]); sessionDetail.focus(); } });
  const status = el("div", { class: "shown", role: "status" });
  const search = (event) => {
    const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
    const kept = SESSIONS.filter((session) => words.every((word) => `${session.id} ${session.agent} ${session.model} ${session.status} ${session.format}`.toLowerCase().includes(word)));
    sessionList.show(kept, 0);
    status.textContent = told(kept.length);
    if (kept.length) pickSession(kept[0]);
  };
  const told = (count) => `${number(count)} of ${counted(SESSIONS.length, "session")}${SESSIONS_LEFT_OUT ? `, ${number(SESSIONS_LEFT_OUT)} without findings left out` : ""}`;
  sessionDetail = el("article", { class: "detail", tabindex: -1, "aria-label": "The chosen session" });
  sessionSplit = el("div", { class: "split" }, el("div", { class: "side" },
    el("div", { class: "filters" }, el("input", { type: "search", id: "search", placeholder: "Search (press /)", "aria-label": "Search sessions", autocomplete: "off", spellcheck: "false", on: { input: search, keydown: (event) => { if (event.key === "Enter" || event.key === "ArrowDown") { sessionList.box.focus(); event.preventDefault(); } } } })),
    status, sessionList.box), sessionDetail);
  status.textContent = told(SESSIONS.length);
  return sessionSplit;
}

function openSession(at) {
  STATE.at_session = at;
  if (location.hash === "#sessions") showView();
  else location.hash = "#sessions";
}
