// A table that sorts by its headings and filters by text and by a choice.
// columns: [{title, value(row), cell(row) = its value as text, number, wide, hint}]; rows: any objects.
function sortableTable({ columns, rows, sortBy = 0, descending = false, text, choice, choices, picked, noun }) {
  const body = el("tbody"), count = el("span", { class: "count", role: "status" });
  const lineOf = new Map(rows.map((row) => [row, el("tr", {}, columns.map((column) =>
    el("td", { class: [column.number && "num", column.wide && "wide"].filter(Boolean).join(" "), title: column.hint?.(row) },
      column.cell ? column.cell(row) : column.value(row))))]));
  if (picked)
    for (const [row, line] of lineOf) {
      put(line, { class: "pick", tabindex: "0", onclick: () => picked(row),
        onkeydown: (event) => { if (event.key === "Enter") picked(row); } }, []);
    }
  const heads = columns.map((column, i) =>
    el("th", { scope: "col", class: [column.number && "num", column.wide && "wide"].filter(Boolean).join(" ") },
      el("button", { type: "button", onclick: () => sort(i) }, column.title)));
  let order = { by: -1, down: false };

  // What has no number goes last, in either direction.
  function compare(a, b, down) {
    const empty = (x) => x === null || x === undefined || Number.isNaN(x);
    if (empty(a) || empty(b)) return empty(a) - empty(b);
    const sign = typeof a === "string" ? a.localeCompare(b, undefined, { numeric: true }) : a - b;
    return down ? -sign : sign;
  }
  function sort(by, down = order.by === by ? !order.down : (columns[by].down ?? false)) {
    order = { by, down };
    const value = columns[by].value;
    const sorted = [...rows].sort((a, b) => compare(value(a), value(b), down));
    body.replaceChildren(...sorted.map((row) => lineOf.get(row)));
    heads.forEach((head, i) => (i === by ? head.setAttribute("aria-sort", down ? "descending" : "ascending") : head.removeAttribute("aria-sort")));
  }
  function filter() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean), kind = pick?.value ?? "";
    let shown = 0;
    for (const [row, line] of lineOf) {
      const here = text(row).toLowerCase();
      const fits = words.every((word) => here.includes(word)) && (kind === "" || choice(row) === kind);
      line.hidden = !fits;
      shown += fits;
    }
    count.textContent = shown === rows.length ? counted(shown, noun) : `${whole(shown)} of ${counted(rows.length, noun)}`;
  }
  const search = el("input", { type: "search", placeholder: `Filter ${noun}s`, "aria-label": `Filter ${noun}s`, oninput: filter });
  const pick = choices && el("select", { "aria-label": choices.label, onchange: filter },
    el("option", { value: "" }, choices.all), [...new Set(rows.map(choice))].sort().map((one) => el("option", {}, one)));
  const box = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Table of ${noun}s` }, el("table", {}, el("thead", {}, el("tr", {}, heads)), body));
  sort(sortBy, descending);
  filter();
  return {
    node: el("div", {}, el("div", { class: "bar" }, search, pick, count), box),
    mark(row) {
      for (const [one, line] of lineOf) line.classList.toggle("on", one === row);
      const line = lineOf.get(row), top = line ? line.offsetTop : 0;  // the page itself stays where it is
      if (line && (top < box.scrollTop + 40 || top > box.scrollTop + box.clientHeight - 40)) box.scrollTop = top - box.clientHeight / 3;
    },
  };
}

const factsTable = (rows) =>
  el("table", { class: "facts" }, el("tbody", {}, rows.filter(([, value]) => value !== undefined && value !== null && value !== "")
    .map(([name, value]) => el("tr", {}, el("td", {}, name), el("td", {}, value)))));
