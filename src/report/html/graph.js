// The section of the graph: the view, what is said about what is chosen in it, and how to find something.
function decisionBlock(run, title, value, quantized = true) {
  const decision = decisionOf(run, value, quantized),
    info = run.graph.values[value];
  return el(
    "div",
    { class: "decision", style: `border-color:${colors[decision.kind]}` },
    el("div", { class: "label" }, `${title}${info?.shape ? ` · ${info.shape}` : ""}`),
    el("div", { class: "mono" }, value),
    el("div", {}, el("strong", {}, decision.what), ` – ${decision.why}`),
    decision.more.length > 0 && el("div", { class: "soft" }, decision.more.join("; ")),
    run.tensorOf.has(value) &&
      el(
        "button",
        {
          type: "button",
          class: "link",
          onclick: () => {
            state.tell("tensor", value);
            byId("tensors").scrollIntoView();
          },
        },
        "its values",
      ),
  );
}

function describeItem(run, item) {
  if (!item)
    return [
      el(
        "p",
        { class: "soft" },
        "Hover over an edge or a box, tap it, or walk with the arrow keys: what was decided about it, and why, is shown here.",
      ),
    ];
  if (item.path)
    return [
      el("h3", {}, "Edge"),
      decisionBlock(run, item.quantized ? "quantized" : "float", item.value, item.quantized),
    ];
  if (item.kind !== "node") return [el("h3", {}, `Graph ${item.kind}`), decisionBlock(run, item.kind, item.value)];
  const profile = run.layers.get(item.name);
  return [
    el("h3", {}, item.op, " ", el("span", { class: "soft mono" }, item.name)),
    profile &&
      el(
        "p",
        {},
        `SQNR alone ${decibels(sqnr(profile.standalone))} dB, so far ${decibels(sqnr(profile.cumulative))} dB`,
      ),
    item.node.inputs.map((value, i) =>
      decisionBlock(run, run.graph.values[value]?.constant ? "constant" : "reads", value, item.node.quantized[i] === 1),
    ),
    item.node.outputs.map((value) => decisionBlock(run, "gives", value)),
  ].filter(Boolean);
}

let currentGraph = null; // of the run that is shown

function drawGraph() {
  const run = state.run,
    details = el("div", { id: "details", class: "card", "aria-live": "polite" });
  const view = new GraphView(run, (item) => {
    fill(details, describeItem(run, item));
  });
  currentGraph = view;
  fill(details, describeItem(run, null));
  const find = el("input", {
    type: "search",
    placeholder: "Find a node or a tensor",
    "aria-label": "Find a node or a tensor in the graph",
    onkeydown: (event) => {
      if (event.key !== "Enter" || !find.value) return;
      const wanted = find.value.toLowerCase(),
        boxes = view.layout.boxes,
        from = boxes.indexOf(view.selected) + 1;
      const hit = [...boxes.slice(from), ...boxes.slice(0, from)].find(
        (box) =>
          box.name.toLowerCase().includes(wanted) ||
          box.node?.outputs.some((value) => value.toLowerCase().includes(wanted)),
      );
      if (hit) view.select(hit, true);
    },
  });
  const button = (text, label, action) => el("button", { type: "button", "aria-label": label, onclick: action }, text);
  fill(
    byId("graph"),
    el("h2", {}, "Graph"),
    el(
      "p",
      { class: "lead" },
      "Edges have the colour of their codes, dashed grey ones stay float, faint ones are inside a fused layer; squares in a box are its weight and bias. The bar at a box's left shows the layer's damage. Drag to move; click into it to zoom with the wheel.",
    ),
    el(
      "div",
      { class: "bar" },
      find,
      button("+", "Zoom in", () => view.zoomBy(1.25)),
      button("−", "Zoom out", () => view.zoomBy(0.8)),
      button("all", "Show all of the graph", () => view.fit(true)),
      button("top", "Go to the beginning", () => view.fit(false)),
      run.layers.size > 0 &&
        button("worst", "Go to the layer with the most damage", () =>
          view.select(view.boxOf.get(worstLayer(run).name), true),
        ),
      el("span", { class: "count" }, counted(run.graph.nodes.length, "node")),
    ),
    el("div", { class: "graphs" }, view.node, details),
    legend([
      ["below 8 bits", colors.low],
      ["8 bits", colors.q8],
      ["more", colors.q16],
      ["bias, int32", colors.bias],
      ["float", colors.float],
      ["inside a fused layer", colors.inside],
    ]),
  );
  view.fit(false);
  new ResizeObserver(() => (view.zoom ? view.draw() : view.fit(false))).observe(view.node);
}
state.on("node", (name) => {
  const box = currentGraph?.boxOf.get(name);
  if (box) currentGraph.select(box, true);
});
