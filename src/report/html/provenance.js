// Where the result came from: versions, files with their hashes, the whole job, and what each stage took.
function stagesTable(stages) {
  const longest = Math.max(...stages.map((stage) => stage.seconds));
  return plainTable(
    [["stage"], ["time", "num"], ["peak memory", "num"]],
    stages.map((stage) =>
      el(
        "tr",
        {},
        el("td", {}, stage.name),
        el(
          "td",
          { class: "num" },
          seconds(stage.seconds),
          el(
            "span",
            { class: "meter" },
            el("i", { style: `width:${((100 * stage.seconds) / longest).toFixed(0)}%;background:var(--q8)` }),
          ),
        ),
        el("td", { class: "num" }, stage.peak_bytes ? bytes(stage.peak_bytes) : "–"),
      ),
    ),
  );
}

// Runtimes in which a written file passed.
function passedIn(run, file) {
  const found = run.verified.filter((one) => one.passed && !one.outdated && one.path === file.path);
  return found.length ? `passed in ${found.map((one) => one.runtime).join(", ")}` : "";
}

function drawProvenance() {
  const run = state.run,
    record = run.record;
  const listed = (rows) => el("div", { class: "scroll", style: "margin-top:12px" }, rows);
  fill(
    byId("provenance"),
    el("h2", {}, "Provenance"),
    el("p", { class: "lead" }, "Numbers on this page are those of the run's record.json, and of what verify, bench and --report keep beside it."),
    el(
      "div",
      { class: "grid2" },
      el(
        "div",
        { class: "card" },
        el("h3", {}, "Made by"),
        factsTable([
          ["model", record.model],
          ["quench", record.quench],
          ["LibTorch", record.libtorch],
          ["compiler", record.compiler],
          ["device", record.device],
          ["threads", String(record.threads)],
          ["seed", String(record.seed)],
          [
            "calibrated",
            record.calibration &&
              `on ${counted(record.calibration.items, "item")} in ${seconds(record.calibration.seconds)}${record.calibration.reused ? ", statistics reused" : ""}`,
          ],
        ]),
      ),
      el(
        "div",
        { class: "card" },
        el("h3", {}, "Time and memory"),
        record.stages.length ? stagesTable(record.stages) : "not recorded",
      ),
    ),
    record.files.length > 0 &&
      listed(
        el(
          "table",
          {},
          el("thead", {}, el("tr", {}, el("th", {}, "read"), el("th", {}, "SHA-1"), el("th", { class: "wide" }, "of"))),
          el(
            "tbody",
            {},
            record.files.map((file) =>
              el(
                "tr",
                {},
                el("td", { title: file.path }, file.path),
                el("td", { class: "mono" }, file.sha1),
                el("td", { class: "wide" }, file.of),
              ),
            ),
          ),
        ),
      ),
    run.files.length > 0 &&
      listed(
        el(
          "table",
          {},
          el("thead", {}, el("tr", {}, el("th", {}, "written"), el("th", {}, ""), el("th", { class: "num" }, "size"))),
          el(
            "tbody",
            {},
            run.files.map((file) =>
              el(
                "tr",
                {},
                el("td", { title: file.path }, file.path),
                el("td", { class: "good" }, passedIn(run, file)),
                el("td", { class: "num" }, bytes(file.bytes)),
              ),
            ),
          ),
        ),
      ),
    el(
      "details",
      { style: "margin-top:12px" },
      el("summary", {}, "The whole job, as a config file"),
      el("pre", { tabindex: "0" }, record.config),
    ),
    el("p", { class: "under", style: "margin-top:12px" }, `Page made by quench ${data.quench}.`),
  );
}
