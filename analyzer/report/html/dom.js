// Elements are made one by one, and what comes from a log is only ever text.
const SVG = "http://www.w3.org/2000/svg";

function fill(node, props, children) {
  for (const [name, value] of Object.entries(props || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") for (const [event, call] of Object.entries(value)) node.addEventListener(event, call);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(9)) {
    if (child !== null && child !== undefined && child !== false) node.append(child);
  }
  return node;
}
const el = (name, props, ...children) => fill(document.createElement(name), props, children);
const svg = (name, props, ...children) => fill(document.createElementNS(SVG, name), props, children);
const held = (id) => JSON.parse(document.getElementById(id).textContent);
const number = (value) => value.toLocaleString("en-US");
const counted = (value, noun) => `${number(value)} ${noun}${value === 1 ? "" : "s"}`;
const badge = (severity) => el("span", { class: `badge ${severity}` }, severity);
const block = (title, ...children) => el("section", { class: "block" }, el("h2", {}, title), ...children);

function sheet(heads, rows) {
  return el("div", { class: "scroll" }, el("table", {},
    el("thead", {}, el("tr", {}, heads.map(([text, kind]) => el("th", { class: kind, scope: "col" }, text)))),
    el("tbody", {}, rows.map((cells) => el("tr", {}, cells.map((cell, at) => el("td", { class: heads[at][1] }, cell)))))));
}

/** One bar of parts: [[class, amount, words]...]. */
function stacked(parts, width, height) {
  const total = parts.reduce((sum, part) => sum + part[1], 0) || 1;
  let x = 0;
  const drawn = parts.filter((part) => part[1] > 0).map(([kind, amount, words]) => {
    const wide = Math.max((amount / total) * width, 1.5);
    const piece = svg("rect", { class: kind, x: x.toFixed(2), y: 0, width: Math.max(wide - 1, 1).toFixed(2), height, rx: 2 }, svg("title", {}, words));
    x += wide;
    return piece;
  });
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, width: "100%", height, preserveAspectRatio: "none", role: "img", "aria-label": parts.map((part) => part[2]).join(", ") }, drawn);
}
