// The runs, what is looked up in them, and which run and which thing the page shows now.
const colors = {
  low: "var(--low)",
  q8: "var(--q8)",
  q16: "var(--q16)",
  bias: "var(--bias)",
  float: "var(--float)",
  inside: "var(--inside)",
};
const isInside = (reason) => reason.startsWith("inside the fused layer");
const runColors = ["var(--q8)", "var(--low)", "var(--q16)", "var(--bias)", "var(--good)", "var(--lost)"];

const bitsOf = (scheme) => (/^e\dm\d/.test(scheme) ? 8 : Number(/\d+/.exec(scheme)?.[0] ?? 32));
function kindOf(entry) {
  if (!entry) return "float";
  if (entry.role === "bias") return "bias";
  const bits = bitsOf(entry.scheme);
  return bits < 8 ? "low" : bits === 8 ? "q8" : "q16";
}

// Untrained, these round evenly between the ends that the observer found: their names would only puzzle.
const plainQuantizers = new Set(["fixed", "lsq", "lsq_plus"]);
const tellsQuantizer = (run, entry) =>
  entry.fake_quant && (run.record.training || run.record.reconstruction || !plainQuantizers.has(entry.fake_quant));

// What the plan decided about a value, in words.
function decisionOf(run, value, quantized = true) {
  const entry = run.planned.get(value);
  if (entry && quantized) {
    const scale = run.scales.get(entry.shared_with ?? value);
    return {
      kind: kindOf(entry),
      what: entry.role === "bias" ? `${entry.scheme} at the product of two scales` : entry.scheme,
      why: entry.rule,
      more: [
        entry.observer && `observer ${entry.observer}`,
        tellsQuantizer(run, entry) && `quantizer ${entry.fake_quant}`,
        entry.shared_with && `takes the scale of ${entry.shared_with}`,
        entry.derived_from && `scale from ${entry.derived_from.join(" and ")}`,
        scale &&
          (scale.scale.length === 1
            ? `scale ${short(scale.scale[0], 6)}, zero point ${scale.zero_point[0]}`
            : `${whole(scale.scale.length)} scales`),
      ].filter(Boolean),
    };
  }
  const why = run.skipped.get(value) ?? (entry ? "read here without its quantizer" : "the plan says nothing about it");
  return { kind: isInside(why) ? "inside" : "float", what: "float", why, more: [] };
}
const decisionText = (value, decision) =>
  `${value}\n${decision.what}\n${decision.why}${decision.more.length ? `\n${decision.more.join("; ")}` : ""}`;

function prepared(run, index) {
  const record = run.record,
    plan = record.plan ?? { quantized: [], float: [] };
  run.index = index;
  run.color = runColors[index % runColors.length];
  run.planned = new Map(plan.quantized.map((entry) => [entry.value, entry]));
  run.skipped = new Map(plan.float.map((skip) => [skip.value, skip.reason]));
  run.scales = new Map((record.calibration?.quantizers ?? []).map((one) => [one.value, one]));
  run.layers = new Map((record.profile?.layers ?? []).map((layer) => [layer.name, layer]));
  run.tensors = [...(run.activations?.tensors ?? []), ...run.weights];
  run.tensorOf = new Map(run.tensors.map((tensor) => [tensor.value, tensor]));
  return run;
}
const runs = data.runs.map(prepared);

// Nothing is left of a signal of which only noise remains; nothing is wrong where there is no error at all.
const sqnr = (error) => (!error ? null : (error.sqnr_db.value ?? (error.mse.value > 0 ? -Infinity : Infinity)));
const decibels = (value) =>
  value === null ? "–" : value === Infinity ? "exact" : value === -Infinity ? "nothing left" : value.toFixed(2);
const severity = (value) =>
  value === null ? "var(--float)" : value < 10 ? "var(--bad)" : value < 20 ? "var(--warn)" : "var(--good)";

// Layers come by damage, worst first.
const worstLayer = (run) => run.record.profile?.layers[0];

// The values to show for a layer: those that it gives, or its weight where these were not recorded.
function tensorOfLayer(run, layer) {
  const node = run.graph.nodes.find((one) => one.name === layer?.name);
  const gives = [layer?.output, layer?.output?.replace(/\.fq$/, ""), ...(node?.outputs ?? [])];
  return [...gives, ...(node?.inputs ?? []).slice(1)].find((value) => run.tensorOf.has(value));
}

const state = {
  run: runs[0],
  listeners: { run: [], node: [], tensor: [] },
  on(what, listener) {
    this.listeners[what].push(listener);
  },
  tell(what, value) {
    for (const listener of this.listeners[what]) listener(value);
  },
  showRun(run) {
    this.run = run;
    this.tell("run", run);
  },
};
