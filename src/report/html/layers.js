// Layers by damage: what the profile recorded. Several runs are joined by the layers' names.
const meter = (value) => {
  if (value === null) return null;
  const share = value === Infinity ? 0 : value === -Infinity ? 1 : Math.max(0, Math.min(1, (60 - value) / 60));
  return el(
    "span",
    { class: "meter", "aria-hidden": "true" },
    el("i", { style: `width:${(100 * share).toFixed(0)}%;background:${severity(value)}` }),
  );
};

const losesMost = (row) => (row.stays_float ? "stays float" : row.worst || "–");

const partsOf = (row) =>
  row.parts &&
  ["weight", "input", "output"]
    .map((part) => `${part} ${decibels(row.parts[`${part}_sqnr_db`]?.value ?? null)} dB`)
    .join(", ");

function layerColumns() {
  const columns = [
    { title: "layer", value: (row) => row.name, hint: (row) => row.name },
    { title: "op", value: (row) => row.op, wide: true },
  ];
  if (runs.length > 1) {
    for (const run of runs) {
      const error = (row) => run.layers.get(row.name);
      columns.push(
        {
          title: `SQNR alone, ${run.name}`,
          number: true,
          value: (row) => sqnr(error(row)?.standalone),
          cell: (row) => [decibels(sqnr(error(row)?.standalone)), meter(sqnr(error(row)?.standalone))],
        },
        {
          title: `so far, ${run.name}`,
          number: true,
          wide: true,
          value: (row) => sqnr(error(row)?.cumulative),
          cell: (row) => decibels(sqnr(error(row)?.cumulative)),
        },
      );
    }
    return columns;
  }
  const plain = (title, value, digits, wide) => ({
    title,
    number: true,
    wide,
    value,
    cell: (row) => (digits ? (value(row)?.toFixed(digits) ?? "–") : short(value(row), 3)),
  });
  const spread = (row) =>
    row.standalone.sqnr_db.standard_error === null
      ? undefined
      : `standard error ${row.standalone.sqnr_db.standard_error?.toFixed(2)} dB`;
  return [
    ...columns,
    {
      title: "SQNR alone, dB",
      number: true,
      value: (row) => sqnr(row.standalone),
      cell: (row) => [decibels(sqnr(row.standalone)), meter(sqnr(row.standalone))],
      hint: spread,
    },
    { title: "loses most", value: losesMost, hint: partsOf, wide: true },
    plain("cosine", (row) => row.standalone.cosine.value, 5, true),
    plain("MSE", (row) => row.standalone.mse.value, 0, true),
    plain("max error", (row) => row.standalone.max_error, 0, true),
    {
      title: "SQNR so far, dB",
      number: true,
      value: (row) => sqnr(row.cumulative),
      cell: (row) => [decibels(sqnr(row.cumulative)), meter(sqnr(row.cumulative))],
    },
    plain("cosine so far", (row) => row.cumulative.cosine.value, 5, true),
  ];
}

function drawLayers() {
  const rows = [
    ...new Map(
      runs
        .flatMap((run) => [...run.layers.values()])
        .reverse()
        .map((layer) => [layer.name, layer]),
    ).values(),
  ];
  const section = byId("layers"),
    items = state.run.record.profile?.items;
  if (!rows.length)
    return fill(
      section,
      el("h2", {}, "Layers"),
      el("p", { class: "lead" }, "The errors of single layers were not measured (--profile 0)."),
    );
  const table = new SortableTable({
    columns: layerColumns(),
    rows,
    sortBy: 2,
    noun: "layer",
    text: (row) => `${row.name} ${row.op}`,
    choice: (row) => row.op,
    choices: { label: "Operator", all: "all operators" },
    picked: (row) => {
      state.tell("node", row.name);
      byId("graph").scrollIntoView();
    },
  });
  fill(
    section,
    el("h2", {}, "Layers, worst first"),
    el(
      "p",
      { class: "lead" },
      `Signal to quantization noise of each layer's output${items ? `, measured on ${counted(items, "item")}` : ""}: alone, with only this layer quantized; so far, with everything up to it; loses most: by its weight, by what it reads (input) or by what it gives (output).`,
    ),
    el(
      "p",
      { class: "lead" },
      "Errors add up on the way: so far falls towards the end even where all is well. The accuracy above is the judge; this table says where to look if it dropped. A row leads to its place in the graph and to the values that it gives.",
      el("span", { class: "narrow-only" }, " A wider screen shows more columns."),
    ),
    table.node,
    legend(
      [
        ["20 dB or more: noise below a tenth of the signal", "var(--good)"],
        ["10 to 20 dB", "var(--warn)"],
        ["below 10 dB: look here first", "var(--bad)"],
        ["a longer bar is worse", "transparent"],
      ],
      true,
    ),
  );
  state.on("node", (name) => table.mark(rows.find((row) => row.name === name)));
}
