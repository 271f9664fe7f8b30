// A table that sorts by its headings and filters by text and by a choice. Rows become elements as they are scrolled to, so
// that a long table sorts as fast as a short one; printing shows all of them.
// columns: [{title, value(row), cell(row) = its value as text, number, wide, hint, down: sorts downwards first}]; rows: any objects.
const rowsAtOnce = 80;

class SortableTable {
  constructor({ columns, rows, sortBy = 0, descending = false, text, choice, choices, picked, noun }) {
    Object.assign(this, { columns, rows, text, choice, picked, noun, lines: new Map(), marked: null });
    this.texts = new Map(rows.map((row) => [row, text(row).toLowerCase()]));
    this.heads = columns.map((column, i) =>
      el(
        "th",
        { scope: "col", class: SortableTable.classOf(column) },
        el("button", { type: "button", onclick: () => this.sort(i) }, column.title),
      ),
    );
    this.body = el("tbody");
    this.count = el("span", { class: "count", role: "status" });
    this.search = el("input", {
      type: "search",
      placeholder: `Filter ${noun}s`,
      "aria-label": `Filter ${noun}s`,
      oninput: () => this.show(),
    });
    this.pick =
      choices &&
      el(
        "select",
        { "aria-label": choices.label, onchange: () => this.show() },
        el("option", { value: "" }, choices.all),
        [...new Set(rows.map(choice))].sort().map((one) => el("option", {}, one)),
      );
    this.box = el(
      "div",
      {
        class: "scroll",
        tabindex: "0",
        role: "region",
        "aria-label": `Table of ${noun}s`,
        onscroll: () => this.fillUp(),
      },
      el("table", {}, el("thead", {}, el("tr", {}, this.heads)), this.body),
    );
    this.node = el("div", {}, el("div", { class: "bar" }, this.search, this.pick, this.count), this.box);
    const self = new WeakRef(this); // a table that another run replaced may go
    addEventListener("beforeprint", () => self.deref()?.append(self.deref().visible.length));
    this.sort(sortBy, descending);
  }

  static classOf(column) {
    return [column.number && "num", column.wide && "wide"].filter(Boolean).join(" ");
  }

  // What has no number goes last, in either direction.
  static compare(a, b, down) {
    const empty = (x) => x === null || x === undefined || Number.isNaN(x);
    if (empty(a) || empty(b)) return empty(a) - empty(b);
    const sign = typeof a === "string" ? SortableTable.names.compare(a, b) : a - b || 0; // infinities of one sign are equal
    return down ? -sign : sign;
  }

  line(row) {
    if (!this.lines.has(row)) {
      const cells = this.columns.map((column) =>
        el(
          "td",
          { class: SortableTable.classOf(column), title: column.hint?.(row) },
          column.cell ? column.cell(row) : column.value(row),
        ),
      );
      const choose = this.picked && {
        class: "pick",
        tabindex: "0",
        onclick: () => this.picked(row),
        onkeydown: (event) => {
          if (event.key === "Enter") this.picked(row);
        },
      };
      this.lines.set(row, el("tr", choose, cells));
    }
    const line = this.lines.get(row);
    line.classList.toggle("on", row === this.marked);
    return line;
  }

  sort(by, down = this.by === by ? !this.down : (this.columns[by].down ?? false)) {
    Object.assign(this, { by, down });
    const value = this.columns[by].value;
    const keys = new Map(this.rows.map((row) => [row, value(row)]));
    this.sorted = [...this.rows].sort((a, b) => SortableTable.compare(keys.get(a), keys.get(b), down));
    this.heads.forEach((head, i) =>
      i === by ? head.setAttribute("aria-sort", down ? "descending" : "ascending") : head.removeAttribute("aria-sort"),
    );
    this.show();
  }

  show() {
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean),
      kind = this.pick?.value ?? "";
    this.visible = this.sorted.filter(
      (row) => words.every((word) => this.texts.get(row).includes(word)) && (kind === "" || this.choice(row) === kind),
    );
    this.count.textContent =
      this.visible.length === this.rows.length
        ? counted(this.rows.length, this.noun)
        : `${whole(this.visible.length)} of ${counted(this.rows.length, this.noun)}`;
    this.body.replaceChildren();
    this.box.scrollTop = 0;
    this.append(rowsAtOnce);
  }

  append(count) {
    const from = this.body.childElementCount;
    this.body.append(...this.visible.slice(from, from + count).map((row) => this.line(row)));
  }

  fillUp() {
    if (this.box.scrollTop + 2 * this.box.clientHeight > this.box.scrollHeight) this.append(rowsAtOnce);
  }

  // The table scrolls to the row; the page itself stays where it is.
  mark(row) {
    const before = this.marked;
    this.marked = row;
    if (this.lines.has(before)) this.line(before);
    const at = this.visible.indexOf(row);
    if (at < 0) return;
    this.append(at + 1 - this.body.childElementCount);
    const top = this.line(row).offsetTop,
      { scrollTop, clientHeight } = this.box;
    if (top < scrollTop + 40 || top > scrollTop + clientHeight - 40) this.box.scrollTop = top - clientHeight / 3;
  }
}
SortableTable.names = new Intl.Collator(undefined, { numeric: true });

// heads: [title, class]; rows: tr elements.
const plainTable = (heads, rows) =>
  el(
    "div",
    { class: "scroll" },
    el(
      "table",
      {},
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          heads.map(([title, kind]) => el("th", kind ? { class: kind } : {}, title)),
        ),
      ),
      el("tbody", {}, rows),
    ),
  );

const factsTable = (rows) =>
  el(
    "table",
    { class: "facts" },
    el(
      "tbody",
      {},
      rows
        .filter(([, value]) => value !== undefined && value !== null && value !== "")
        .map(([name, value]) => el("tr", {}, el("td", {}, name), el("td", {}, value))),
    ),
  );
