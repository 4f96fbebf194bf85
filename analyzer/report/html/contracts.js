// The history of contracts: each tool, its versions in the order of first sight, and how the calls under each fared.
let contractList = null, contractDetail = null, contractSplit = null;

const failedBy = (contract) => contract.versions.reduce((sum, version) => sum + version.invalid, 0);
CONTRACTS.sort((one, two) => failedBy(two) - failedBy(one) || two.versions.length - one.versions.length);

function contractRow(contract) {
  const newest = contract.versions.length, failed = failedBy(contract);
  return el("div", { class: "two" }, el("span", { class: "name mono" }, contract.tool), el("span", { class: "right" }, failed ? el("span", { class: "error" }, `${number(failed)} invalid`) : ""),
    el("span", { class: "say" }, `${contract.role} · ${counted(newest, "version")}${contract.versions.some((version) => version.breaks === "breaking") ? " · a breaking change" : ""}`));
}

function versionSheet(version) {
  const judged = version.valid + version.invalid + version.unverifiable, told = { breaking: "breaks", none: "safe", unknown: "may break" }[version.breaks];
  const parts = [["s-valid", version.valid, `${number(version.valid)} valid`], ["s-invalid", version.invalid, `${number(version.invalid)} invalid`], ["s-unverifiable", version.unverifiable, `${number(version.unverifiable)} unverifiable`]];
  const schema = SCHEMAS.get(version.schema);
  return el("div", { class: `version ${version.breaks === "breaking" ? "breaking" : ""}` },
    el("p", {}, el("span", { class: "name" }, `Version ${version.number}`), " ", el("code", {}, version.schema), version.relation && [" ", el("span", { class: version.breaks === "breaking" ? "error" : "dim" }, `${version.relation}${version.relation.endsWith("er") ? " than before" : ""}, ${told}`)]),
    el("p", { class: "dim" }, `${version.origin}; ${version.sessions === 1 ? `only in ${version.first}` : `${number(version.sessions)} sessions, ${version.first} to ${version.last}`}`),
    judged ? [stacked(parts, 600, 10), el("div", { class: "legend" }, parts.filter((part) => part[1]).map(([kind, , words]) => el("span", {}, el("i", { class: kind.slice(2) }), words)))] : el("p", { class: "dim" }, "Nothing was judged by it."),
    version.changes.length > 0 && sheet([["changed", ""], ["at", ""], ["from → to", ""], ["", ""]], version.changes.map(([kind, place, sides, direction]) => [kind, el("code", {}, place || "(root)"), el("code", {}, sides), direction])),
    version.changes_left_out > 0 && el("p", { class: "dim" }, `and ${counted(version.changes_left_out, "more change")}`),
    schema && el("details", {}, el("summary", {}, "The schema"), lines(`Schema ${version.schema}`, schema, new Set(version.changes.map((change) => change[1])))));
}

function pickContract(contract) {
  STATE.tool_at = CONTRACTS.indexOf(contract);
  const back = el("button", { class: "plain back", type: "button", on: { click: () => contractSplit.classList.remove("open") } }, "Back to the list");
  const about = FINDINGS.filter((finding) => finding.tool === contract.tool).length;
  contractDetail.replaceChildren(back, el("header", {}, el("div", { class: "title" }, el("span", { class: "mono" }, contract.tool), el("span", { class: "dim" }, contract.role)),
    about ? el("p", {}, el("button", { class: "link", type: "button", on: { click: () => { unfiltered(); STATE.tool = contract.tool; location.hash = "#findings"; } } }, `${counted(about, "finding")} about this tool`)) : ""),
  ...contract.versions.map(versionSheet));
  contractDetail.scrollTop = 0;
}

function contractsPage() {
  if (!CONTRACTS.length) return el("div", { class: "page" }, el("p", { class: "dim" }, "No schema of a tool is recorded or given."));
  contractList = new VirtualList({ label: "Tools", height: 58, draw: contractRow, chosen: pickContract, opened: () => { contractSplit.classList.add("open"); contractDetail.focus(); } });
  contractDetail = el("article", { class: "detail", tabindex: -1, "aria-label": "The history of the chosen tool" });
  const search = (event) => {
    const kept = CONTRACTS.filter((contract) => contract.tool.toLowerCase().includes(event.target.value.toLowerCase()));
    contractList.show(kept, 0);
    if (kept.length) pickContract(kept[0]);
  };
  contractSplit = el("div", { class: "split" }, el("div", { class: "side" }, el("div", { class: "filters" }, el("input", { type: "search", id: "search", placeholder: "Search (press /)", "aria-label": "Search tools", autocomplete: "off", spellcheck: "false", on: { input: search } })), contractList.box), contractDetail);
  return contractSplit;
}
