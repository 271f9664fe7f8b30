// Tables of the summary: what was verified, how fast it is, the runs side by side.
function verifyTable(run) {
  if (!run.verified.length) return null;
  const number = (value, wide) =>
    el("td", { class: wide ? "num wide" : "num" }, value === undefined ? "–" : whole(value));
  const rows = run.verified.map((one) =>
    el(
      "tr",
      {},
      el(
        "td",
        { class: one.outdated ? "soft" : one.passed ? "good" : "bad" },
        one.outdated ? "of an earlier file" : one.passed ? "passed" : "failed",
      ),
      el("td", { title: `${one.path ?? one.file}, ${counted(one.items, "item")}` }, one.runtime),
      el("td", { class: "num" }, one.predictions ? percent(one.equal_top1 / one.predictions) : "–"),
      number(one.layers?.local.codes, true),
      number(one.layers?.local.different),
      number(one.layers?.end_to_end.different, true),
    ),
  );
  const failures = run.verified.filter((one) => !one.outdated).flatMap((one) => one.failures ?? []);
  return el(
    "div",
    { class: "card" },
    el("h3", {}, "Verified in a runtime"),
    plainTable(
      [[""], ["runtime"], ["equal top-1", "num"], ["codes", "num wide"], ["off, locally", "num"], ["end to end", "num wide"]],
      rows,
    ),
    failures.map((text) => el("p", { class: "note warning" }, text)),
  );
}
function speedTable(run) {
  if (!run.speeds.length) return null;
  return el(
    "div",
    { class: "card" },
    el("h3", {}, "Speed on this machine"),
    plainTable(
      [["model"], ...["batch", "items/s", "median", "99 %"].map((title) => [title, "num"])],
      run.speeds.map((one) =>
        el(
          "tr",
          {},
          el("td", {}, one.path ?? one.model ?? "", ranAs(one), one.outdated ? " (an earlier file)" : ""),
          el("td", { class: "num" }, one.batch),
          el("td", { class: "num" }, whole(one.items_per_second.toFixed(1))),
          el("td", { class: "num" }, seconds(one.seconds.median)),
          el("td", { class: "num" }, seconds(one.seconds.p99)),
        ),
      ),
    ),
  );
}

function compareTable() {
  const rows = [
    ["platform", (run) => run.record.plan?.platform],
    [
      "bits",
      (run) =>
        [
          ...new Set(
            (run.record.plan?.quantized ?? [])
              .filter((e) => e.role !== "bias")
              .map((e) => `${e.role} ${e.scheme.split(" ")[0]}`),
          ),
        ].join(", "),
    ],
    ["method", (run) => run.record.reconstruction?.method ?? (run.record.training ? "training" : "calibration")],
    [
      "change of accuracy",
      (run) => {
        const metric = run.record.quantized?.metrics?.[0],
          change = metric && changeOf(run, metric.name);
        return change ? `${metricName(metric.name)} ${changeText(change)}` : "–";
      },
    ],
    ["weights", (run) => run.record.size && bytes(run.record.size.quantized_bytes)],
    [
      "worst layer",
      (run) => {
        const layer = worstLayer(run);
        return layer ? `${layer.name}, ${decibels(sqnr(layer.standalone))} dB` : "–";
      },
    ],
    [
      "verified",
      (run) =>
        run.verified
          .filter((one) => !one.outdated)
          .map((one) => `${one.runtime} ${one.passed ? "passed" : "failed"}`)
          .join(", ") || "–",
    ],
  ];
  return el(
    "div",
    { class: "card" },
    el("h3", {}, "The runs"),
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
            el("th", {}, ""),
            runs.map((run) => el("th", {}, el("span", { style: `color:${run.color}` }, "● "), run.name)),
          ),
        ),
        el(
          "tbody",
          {},
          rows.map(([name, value]) =>
            el(
              "tr",
              {},
              el("td", { class: "soft" }, name),
              runs.map((run) => el("td", {}, value(run) ?? "–")),
            ),
          ),
        ),
      ),
    ),
  );
}
