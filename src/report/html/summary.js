// What came out: accuracy with intervals, size, speed, what was verified; several runs side by side.
const evaluations = (run) => [["float", run.record.float, "var(--float)"], ["quantized", run.record.quantized, run.color], ["integer", run.record.integer, "var(--q16)"]]
  .filter(([, found]) => found?.metrics?.length);

function changeOf(run, name) {
  const find = (found) => found?.metrics?.find((metric) => metric.name === name);
  const before = find(run.record.float), after = find(run.record.quantized);
  if (!before || !after) return null;
  const paired = (run.record.changes ?? []).find((one) => one.name === name) ?? (name === "top1" ? run.record.paired : undefined);
  return { value: after.value - before.value, low: paired?.difference_low, high: paired?.difference_high, unit: after.unit, better: after.better };
}
const signed = (value, digits) => `${value > 0 ? "+" : value < 0 ? "−" : ""}${Math.abs(value).toFixed(digits)}`;
const changeText = (change) => (change.unit === "%" ? `${signed(100 * change.value, 2)} points` : `${change.value > 0 ? "+" : ""}${short(change.value)}`);
const changeInterval = (change) => change.low === undefined ? "" :
  change.unit === "%" ? `95 % interval ${signed(100 * change.low, 2)} to ${signed(100 * change.high, 2)}` : `95 % interval ${short(change.low)} to ${short(change.high)}`;

const card = (label, big, under, tone) =>
  el("div", { class: "card" }, el("div", { class: "label" }, label), el("div", { class: `big ${tone ?? ""}` }, big), under && el("div", { class: "under" }, under));

function accuracyCard(run) {
  const metric = run.record.quantized?.metrics?.[0];
  if (!metric) {
    const agreement = run.record.agreement;
    if (!agreement) return card("Accuracy", "not measured", "no data to evaluate on was given");
    const share = agreement.share ?? agreement.same / agreement.rows;
    return card("Predictions as in float", percent(share), agreement.sqnr ? `SQNR of the output ${agreement.sqnr.toFixed(1)} dB on ${counted(agreement.items, "item")}` : `on ${whole(agreement.items)} items`);
  }
  const change = changeOf(run, metric.name);
  const worse = change && (metric.better === "higher" ? change.high < 0 : change.low > 0);
  return card(`${metricName(metric.name)}, quantized`, measured(metric.value, metric.unit),
    change && `${changeText(change)} from float${change.low === undefined ? "" : `; ${changeInterval(change)}`}`, worse ? "warn" : undefined);
}
function sizeCard(run) {
  const size = run.record.size;
  return size && card("Weights", bytes(size.quantized_bytes), `${bytes(size.float_bytes)} in float, ${(size.float_bytes / size.quantized_bytes).toFixed(2)} times as much`);
}
function planCard(run) {
  const plan = run.record.plan;
  if (!plan) return null;
  const inside = plan.float.filter((skip) => isInside(skip.reason)).length;
  const left = plan.float.length - inside;
  const roles = [["weight", "weights"], ["activation", "activations"], ["bias", "biases"]].map(([role, roles]) => {
    const count = plan.quantized.filter((entry) => entry.role === role).length;
    return count && counted(count, role, roles);
  }).filter(Boolean);
  return card(`Quantizers for ${plan.platform}`, whole(plan.quantized.length), `${roles.join(", ")}; ${left ? `${counted(left, "tensor stays", "tensors stay")} float` : "no tensor stays float"}`);
}
function verifiedCard(run) {
  const found = run.verified.filter((one) => !one.outdated);
  if (!found.length) return card("Verified in a runtime", "not yet", "quench verify OUT/deploy --data SPEC --layers");
  const failed = found.filter((one) => !one.passed).length;
  return card("Verified in a runtime", failed ? "failed" : "passed", found.map((one) => one.runtime).join(", "), failed ? "bad" : "good");
}
const ranAs = (speed) => (!speed.run_as || speed.run_as === "file" ? "" : `, ${speed.run_as}`);
function speedCard(run) {
  const found = run.speeds.filter((one) => !one.outdated);
  if (!found.length) return null;
  const best = found.reduce((a, b) => (b.items_per_second > a.items_per_second ? b : a));
  return card(`Speed here${ranAs(best)}`, `${whole(Math.round(best.items_per_second))} / s`, `median ${seconds(best.seconds.median)} at batch ${best.batch}, ${counted(best.threads, "thread")}`);
}

function accuracyChart(name) {
  const rows = runs.flatMap((run) => evaluations(run).map(([kind, found, color]) => {
    const metric = found.metrics.find((one) => one.name === name);
    if (!metric) return null;
    const interval = metric.low === undefined ? "" : ` (${measured(metric.low, metric.unit)} to ${measured(metric.high, metric.unit)})`;
    return { label: runs.length > 1 ? `${run.name}, ${kind}` : kind, value: metric.value, low: metric.low, high: metric.high, color, text: measured(metric.value, metric.unit) + interval, unit: metric.unit };
  })).filter(Boolean);
  return rows.length ? el("div", { class: "card" }, el("h3", {}, `${metricName(name)} with 95 % intervals`), intervals(rows, rows[0].unit)) : null;
}

function verifyTable(run) {
  if (!run.verified.length) return null;
  const number = (value, wide) => el("td", { class: wide ? "num wide" : "num" }, value === undefined ? "–" : whole(value));
  const rows = run.verified.map((one) => el("tr", {},
    el("td", { class: one.outdated ? "soft" : one.passed ? "good" : "bad" }, one.outdated ? "of an earlier file" : one.passed ? "passed" : "failed"),
    el("td", { title: `${one.path ?? one.file}, ${counted(one.items, "item")}` }, one.runtime),
    el("td", { class: "num" }, one.predictions ? percent(one.equal_top1 / one.predictions) : "–"),
    number(one.layers?.local.codes, true), number(one.layers?.local.different), number(one.layers?.end_to_end.different, true)));
  const failures = run.verified.filter((one) => !one.outdated).flatMap((one) => one.failures ?? []);
  return el("div", { class: "card" }, el("h3", {}, "Verified in a runtime"),
    el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, ["", "runtime"].map((t) => el("th", {}, t)),
      el("th", { class: "num" }, "equal top-1"), el("th", { class: "num wide" }, "codes"), el("th", { class: "num" }, "off, locally"), el("th", { class: "num wide" }, "end to end"))), el("tbody", {}, rows))),
    failures.map((text) => el("p", { class: "note warning" }, text)));
}
function speedTable(run) {
  if (!run.speeds.length) return null;
  return el("div", { class: "card" }, el("h3", {}, "Speed on this machine"), el("div", { class: "scroll" }, el("table", {},
    el("thead", {}, el("tr", {}, el("th", {}, "model"), ["batch", "items/s", "median", "99 %"].map((t) => el("th", { class: "num" }, t)))),
    el("tbody", {}, run.speeds.map((one) => el("tr", {}, el("td", {}, one.path ?? one.model ?? "", ranAs(one), one.outdated ? " (an earlier file)" : ""),
      el("td", { class: "num" }, one.batch), el("td", { class: "num" }, whole(one.items_per_second.toFixed(1))),
      el("td", { class: "num" }, seconds(one.seconds.median)), el("td", { class: "num" }, seconds(one.seconds.p99))))))));
}

function compareTable() {
  const rows = [["platform", (run) => run.record.plan?.platform], ["bits", (run) => [...new Set((run.record.plan?.quantized ?? []).filter((e) => e.role !== "bias").map((e) => `${e.role} ${e.scheme.split(" ")[0]}`))].join(", ")],
    ["method", (run) => run.record.reconstruction?.method ?? (run.record.training ? "training" : "calibration")],
    ["change of accuracy", (run) => { const metric = run.record.quantized?.metrics?.[0], change = metric && changeOf(run, metric.name); return change ? `${metricName(metric.name)} ${changeText(change)}` : "–"; }],
    ["weights", (run) => run.record.size && bytes(run.record.size.quantized_bytes)],
    ["worst layer", (run) => { const layer = worstLayer(run); return layer ? `${layer.name}, ${decibels(sqnr(layer.standalone))} dB` : "–"; }],
    ["verified", (run) => run.verified.filter((one) => !one.outdated).map((one) => `${one.runtime} ${one.passed ? "passed" : "failed"}`).join(", ") || "–"]];
  return el("div", { class: "card" }, el("h3", {}, "The runs"), el("div", { class: "scroll" }, el("table", {},
    el("thead", {}, el("tr", {}, el("th", {}, ""), runs.map((run) => el("th", {}, el("span", { style: `color:${run.color}` }, "● "), run.name)))),
    el("tbody", {}, rows.map(([name, value]) => el("tr", {}, el("td", { class: "soft" }, name), runs.map((run) => el("td", {}, value(run) ?? "–"))))))));
}

function drawSummary() {
  const run = state.run, record = run.record, metrics = [...new Set(runs.flatMap((one) => evaluations(one).flatMap(([, found]) => found.metrics.map((m) => m.name))))];
  const model = record.model.split(/[\\/]/).pop();
  document.title = `${runs.length > 1 ? runs.map((one) => one.name).join(", ") : model} · quench report`;
  fill(byId("summary"), el("h1", {}, runs.length > 1 ? `${runs.length} runs` : model),
    el("p", { class: "lead" }, runs.length > 1 ? `Cards, graph, tensors and provenance are of the run that is chosen above: ${run.name} (${model}).` : `${record.model} for ${record.plan?.platform ?? "no platform"}${record.calibration ? `, calibrated on ${counted(record.calibration.items, "item")}` : ""}.`),
    record.warnings.map((text) => el("p", { class: "note warning" }, text)),
    el("div", { class: "cards" }, accuracyCard(run), sizeCard(run), planCard(run), verifiedCard(run), speedCard(run)),
    runs.length > 1 && el("div", { style: "margin-bottom:12px" }, compareTable()),
    el("div", { class: metrics.length > 1 || run.verified.length ? "grid2" : "" }, metrics.map(accuracyChart), verifyTable(run), speedTable(run)),
    record.notes.length > 0 && el("div", { style: "margin-top:12px" }, record.notes.map((text) => el("p", { class: "note" }, text))));
}
