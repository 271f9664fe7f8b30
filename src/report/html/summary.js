// What came out: accuracy with intervals, size, speed, what was verified; several runs side by side.
const card = (label, big, under, tone) =>
  el(
    "div",
    { class: "card" },
    el("div", { class: "label" }, label),
    el("div", { class: `big ${tone ?? ""}` }, big),
    under && el("div", { class: "under" }, under),
  );

function accuracyCard(run) {
  const metric = run.record.quantized?.metrics?.[0];
  if (!metric) {
    const agreement = run.record.agreement;
    if (!agreement) return card("Accuracy", "not measured", "no data to evaluate on was given");
    if (!agreement.rows && agreement.sqnr !== undefined)
      return card("Output against float", `${agreement.sqnr?.toFixed(1) ?? "∞"} dB`, `SQNR on ${counted(agreement.items, "item")}`);
    const share = agreedShare(agreement);
    return card(
      "Predictions as in float",
      percent(share),
      agreement.sqnr
        ? `SQNR of the output ${agreement.sqnr.toFixed(1)} dB on ${counted(agreement.items, "item")}`
        : `on ${counted(agreement.items, "item")}`,
      share < fewAgree ? "warn" : undefined,
    );
  }
  const change = changeOf(run, metric.name);
  const verdict = verdictOf(run, metric);
  return card(
    `${metricName(metric.name)}, quantized`,
    measured(metric.value, metric.unit),
    change && [
      verdict.text && el("div", { class: `verdict ${verdict.kind === "worse" ? "warn" : ""}` }, verdict.text),
      [`${changeText(change)} from float`, changeInterval(change), pairsText(change.pairs)].filter(Boolean).join("; "),
    ],
    verdict.kind === "worse" ? "warn" : undefined,
  );
}
function sizeCard(run) {
  const size = run.record.size;
  return (
    size &&
    card(
      "Weights",
      bytes(size.quantized_bytes),
      `${bytes(size.float_bytes)} in float, ${(size.float_bytes / size.quantized_bytes).toFixed(2)} times larger`,
    )
  );
}
function planCard(run) {
  const plan = run.record.plan;
  if (!plan) return null;
  const inside = plan.float.filter((skip) => isInside(skip.reason)).length;
  const left = plan.float.length - inside;
  const roles = [
    ["weight", "weights"],
    ["activation", "activations"],
    ["bias", "biases"],
  ]
    .map(([role, roles]) => {
      const count = plan.quantized.filter((entry) => entry.role === role).length;
      return count && counted(count, role, roles);
    })
    .filter(Boolean);
  return card(
    `Quantizers for ${plan.platform}`,
    whole(plan.quantized.length),
    `${roles.join(", ")}; ${left ? `${counted(left, "tensor stays", "tensors stay")} float` : "no tensor stays float"}`,
  );
}
function verifiedCard(run) {
  const found = run.verified.filter((one) => !one.outdated);
  if (!found.length) return card("Verified in a runtime", "not yet", verifyCommand(run) ?? "no deployed file was written");
  const failed = found.filter((one) => !one.passed).length;
  return card(
    "Verified in a runtime",
    failed ? "failed" : "passed",
    found.map((one) => one.runtime).join(", "),
    failed ? "bad" : "good",
  );
}
const ranAs = (speed) => (!speed.run_as || speed.run_as === "file" ? "" : `, ${speed.run_as}`);
function speedCard(run) {
  const found = run.speeds.filter((one) => !one.outdated);
  if (!found.length) return null;
  const best = found.reduce((a, b) => (b.items_per_second > a.items_per_second ? b : a));
  return card(
    `Speed here${ranAs(best)}`,
    `${whole(Math.round(best.items_per_second))} / s`,
    `median ${seconds(best.seconds.median)} at batch ${best.batch}, ${counted(best.threads, "thread")}`,
  );
}

function drawSummary() {
  const run = state.run,
    record = run.record,
    metrics = [
      ...new Set(runs.flatMap((one) => evaluations(one).flatMap(([, found]) => found.metrics.map((m) => m.name)))),
    ];
  const model = record.model.split(/[\\/]/).pop();
  document.title = `${runs.length > 1 ? runs.map((one) => one.name).join(", ") : model} · quench report`;
  fill(
    byId("summary"),
    el("h1", {}, runs.length > 1 ? `${runs.length} runs` : breakable(model)),
    el(
      "p",
      { class: "lead" },
      runs.length > 1
        ? `Cards, graph, tensors and provenance are of the run that is chosen above: ${run.name} (${model}).`
        : `${record.model} for ${record.plan?.platform ?? "no platform"}${record.calibration ? `, calibrated on ${counted(record.calibration.items, "item")}` : ""}.`,
    ),
    record.warnings.map((text) => el("p", { class: "note warning" }, text)),
    el("div", { class: "cards" }, accuracyCard(run), sizeCard(run), planCard(run), verifiedCard(run), speedCard(run)),
    whatNow(run),
    runs.length > 1 && el("div", { style: "margin-bottom:12px" }, compareTable()),
    el(
      "div",
      { class: metrics.length > 1 || run.verified.length ? "grid2" : "" },
      metrics.map(accuracyChart),
      verifyTable(run),
      speedTable(run),
    ),
    record.notes.length > 0 &&
      el(
        "div",
        { style: "margin-top:12px" },
        record.notes.map((text) => el("p", { class: "note" }, text)),
      ),
  );
}
