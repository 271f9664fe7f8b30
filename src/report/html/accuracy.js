// Metrics of a run, and how they changed from float.
const evaluations = (run) =>
  [
    ["float", run.record.float, "var(--float)"],
    ["quantized", run.record.quantized, run.color],
    ["integer", run.record.integer, "var(--q16)"],
  ].filter(([, found]) => found?.metrics?.length);

function changeOf(run, name) {
  const find = (found) => found?.metrics?.find((metric) => metric.name === name);
  const before = find(run.record.float),
    after = find(run.record.quantized);
  if (!before || !after) return null;
  const paired =
    (run.record.changes ?? []).find((one) => one.name === name) ?? (name === "top1" ? run.record.paired : undefined);
  return {
    value: after.value - before.value,
    low: paired?.difference_low,
    high: paired?.difference_high,
    p: paired?.p_value,
    pairs: paired?.only_this_right === undefined ? undefined : paired,
    unit: after.unit,
    better: after.better,
  };
}
const signed = (value, digits) => `${value > 0 ? "+" : value < 0 ? "−" : ""}${Math.abs(value).toFixed(digits)}`;
const changeText = (change) =>
  change.unit === "%"
    ? `${signed(100 * change.value, 2)} points`
    : `${change.value > 0 ? "+" : ""}${short(change.value)}`;
const changeInterval = (change) =>
  change.low === undefined
    ? ""
    : change.unit === "%"
      ? `95 % interval ${signed(100 * change.low, 2)} to ${signed(100 * change.high, 2)}`
      : `95 % interval ${short(change.low)} to ${short(change.high)}`;

function accuracyChart(name) {
  const rows = runs
    .flatMap((run) =>
      evaluations(run).map(([kind, found, color]) => {
        const metric = found.metrics.find((one) => one.name === name);
        if (!metric) return null;
        const interval =
          metric.low === undefined
            ? ""
            : ` (${measured(metric.low, metric.unit)} to ${measured(metric.high, metric.unit)})`;
        return {
          label: runs.length > 1 ? `${run.name}, ${kind}` : kind,
          value: metric.value,
          low: metric.low,
          high: metric.high,
          color,
          text: measured(metric.value, metric.unit) + interval,
          unit: metric.unit,
        };
      }),
    )
    .filter(Boolean);
  return rows.length
    ? el(
        "div",
        { class: "card" },
        el("h3", {}, `${metricName(name)} with 95 % intervals`),
        intervals(rows, rows[0].unit),
      )
    : null;
}
