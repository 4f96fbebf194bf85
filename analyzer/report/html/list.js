// A list that draws only the rows in sight: fifty thousand cost as much as fifty.
class VirtualList {
  constructor({ label, height, draw, chosen, opened }) {
    this.height = height;
    this.draw = draw;
    this.chosen = chosen;
    this.opened = opened;
    this.items = [];
    this.at = -1;
    this.all = el("div", { class: "all" });
    this.box = el("div", { class: "list", role: "listbox", tabindex: 0, "aria-label": label }, this.all);
    this.box.addEventListener("scroll", () => this.render(), { passive: true });
    this.box.addEventListener("keydown", (event) => this.key(event));
    this.box.addEventListener("click", (event) => {
      const row = event.target.closest(".row");
      if (row) { this.select(Number(row.dataset.at)); this.opened(); }
    });
    new ResizeObserver(() => this.render()).observe(this.box);
  }

  show(items, at) {
    this.items = items;
    this.all.style.height = `${items.length * this.height}px`;
    this.at = items.length ? Math.min(Math.max(at, 0), items.length - 1) : -1;
    this.reveal();
    this.render();
  }

  select(at) {
    if (!this.items.length) return;
    this.at = Math.min(Math.max(at, 0), this.items.length - 1);
    this.reveal();
    this.render();
    this.chosen(this.items[this.at]);
  }

  reveal() {
    const top = this.at * this.height, end = top + this.height, seen = this.box.clientHeight;
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    else if (end > this.box.scrollTop + seen) this.box.scrollTop = end - seen;
  }

  render() {
    const first = Math.max(Math.floor(this.box.scrollTop / this.height) - 6, 0);
    const last = Math.min(first + Math.ceil(this.box.clientHeight / this.height) + 12, this.items.length);
    const rows = [];
    for (let at = first; at < last; at += 1) {
      const row = this.draw(this.items[at]);
      row.classList.add("row");
      row.id = `row-${at}`;
      row.dataset.at = at;
      row.style.top = `${at * this.height}px`;
      fill(row, { role: "option", "aria-selected": at === this.at ? "true" : "false", "aria-posinset": at + 1, "aria-setsize": this.items.length }, []);
      rows.push(row);
    }
    this.all.replaceChildren(...rows);
    if (this.at >= 0) this.box.setAttribute("aria-activedescendant", `row-${this.at}`);
    else this.box.removeAttribute("aria-activedescendant");
  }

  key(event) {
    const page = Math.max(Math.floor(this.box.clientHeight / this.height) - 1, 1);
    const steps = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in steps) this.select(this.at + steps[event.key]);
    else if (event.key === "Home") this.select(0);
    else if (event.key === "End") this.select(this.items.length - 1);
    else if (event.key === "Enter") this.opened();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
