// Values of weights and activations, where the codes end, and what is cut off.
function tensorCharts(tensor, logarithmic) {
  const channels = tensor.channel_min?.length > 1;
  return [
    el("h3", { class: "mono", style: "overflow-wrap:anywhere" }, tensor.value),
    el(
      "p",
      { class: "under" },
      `${tensor.role}, ${tensor.scheme}; ${counted(tensor.elements, "value")} from ${short(tensor.min)} to ${short(tensor.max)}. `,
      tensor.lost
        ? el(
            "span",
            { class: "bad" },
            `${counted(tensor.lost, "value is", "values are")} cut off (${percent(tensor.lost / tensor.elements, 4)}).`,
          )
        : "None is cut off.",
    ),
    histogram(tensor, logarithmic),
    legend(
      [
        ["values", "var(--q8)"],
        ["cut off", "var(--lost)"],
        [tensor.low.length > 1 ? "range of the widest codes" : "range of the codes", "var(--band)"],
      ],
      true,
    ),
    channels && el("h3", { style: "margin-top:16px" }, `Ranges of ${counted(tensor.channels, "channel")}`),
    channels && channelRanges(tensor),
    channels &&
      legend([
        ["min to max", "var(--q8)"],
        [tensor.low.length > 1 ? "ends of the channel's codes" : "ends of the codes", "var(--low)"],
      ]),
  ].filter(Boolean);
}

function drawTensors() {
  const run = state.run,
    section = byId("tensors"),
    head = el("h2", {}, "Tensors");
  if (!run.tensors.length)
    return fill(section, head, el("p", { class: "lead" }, "The model is not calibrated: there are no ranges to show."));
  const lead = run.activations
    ? `Activations are those of the float network${run.activations.items ? ` on ${counted(run.activations.items, "item")}` : ""}. `
    : "Values of activations were not recorded: quench quantize --report does, and so does quench report --data SPEC. ";
  const charts = el("div", { class: "card" }),
    logarithmic = el("input", { type: "checkbox", checked: true, onchange: () => show(now) });
  const worst = worstLayer(run),
    worstValue = tensorOfLayer(run, worst);
  let now = run.tensorOf.get(worstValue) ?? [...run.tensors].sort((a, b) => b.lost / b.elements - a.lost / a.elements)[0];
  const opened = worstValue
    ? ` Shown first: ${now.role === "weight" ? "the weight" : "the output"} of ${worst.name}, the layer with the most damage.`
    : " Shown first: the tensor with the largest share cut off.";
  const table = new SortableTable({
    rows: run.tensors,
    sortBy: 2,
    descending: true,
    noun: "tensor",
    text: (row) => `${row.value} ${row.role} ${row.scheme}`,
    choice: (row) => row.role,
    choices: { label: "Role", all: "weights and activations" },
    picked: (row) => show(row),
    columns: [
      { title: "tensor", value: (row) => row.value, hint: (row) => row.value },
      { title: "codes", value: (row) => row.scheme.split(" ")[0], wide: true },
      {
        title: "cut off",
        number: true,
        down: true,
        value: (row) => row.lost / row.elements,
        cell: (row) => (row.lost ? percent(row.lost / row.elements, 3) : "none"),
      },
      { title: "min", number: true, wide: true, value: (row) => row.min, cell: (row) => short(row.min, 3) },
      { title: "max", number: true, down: true, value: (row) => row.max, cell: (row) => short(row.max, 3) },
    ],
  });
  function show(tensor) {
    now = tensor;
    fill(
      charts,
      el("label", { style: "float:right;font-size:13px" }, logarithmic, " logarithmic"),
      tensorCharts(tensor, logarithmic.checked),
    );
    table.mark(tensor);
  }
  fill(
    section,
    head,
    el("p", { class: "lead" }, `${lead}A value is cut off if its code would lie beyond the scheme's.${opened}`),
    el("div", { class: "split" }, table.node, charts),
  );
  show(now);
  drawTensors.show = (value) => {
    if (run.tensorOf.has(value)) show(run.tensorOf.get(value));
  };
}
state.on("node", (name) => drawTensors.show?.(tensorOfLayer(state.run, state.run.layers.get(name) ?? { name })));
state.on("tensor", (value) => drawTensors.show?.(value));
