// How the learning went: reconstruction unit by unit, training step by step.
function unitsTable(units) {
  const said = (unit) => [unit.resumed && "from the earlier run", unit.note].filter(Boolean).join("; ");
  const number = (text, kind = "num") => el("td", { class: kind }, text);
  const heads = [
    ["unit"],
    ["layers", "wide"],
    ["error", "num"],
    ["after", "num"],
    ["moved", "num"],
    ["iterations", "num wide"],
    ["time", "num wide"],
    ["note", "wide"],
  ];
  const hasNotes = units.some(said);
  const rows = units.map((unit) =>
    el(
      "tr",
      {},
      el("td", { title: unit.name }, shortened(unit.name, 34)),
      el("td", { class: "wide soft", title: unit.layers.join(", ") }, shortened(unit.layers.join(", "), 48)),
      number(short(unit.error_before)),
      number(short(unit.error_after)),
      number(percent(unit.moved, 1)),
      number(whole(unit.iterations), "num wide"),
      number(seconds(unit.seconds), "num wide"),
      hasNotes && el("td", { class: "words wide" }, said(unit)),
    ),
  );
  return plainTable(hasNotes ? heads : heads.slice(0, -1), rows);
}

// Each unit's error before and after; none where there is nothing on a scale of powers.
function unitsChart(run) {
  const units = run.record.reconstruction.units.filter((unit) => unit.error_before > 0);
  const values = units
    .flatMap((unit) => [unit.error_before, unit.error_after])
    .filter((value) => value > 0)
    .map(Math.log10);
  if (!values.length) return null;
  const low = Math.floor(Math.min(...values)),
    high = Math.ceil(Math.max(...values));
  const draw = (width) => {
    const left = width < 460 ? 110 : 220,
      right = width - 14,
      step = 20,
      base = units.length * step + 8,
      picture = frame(width, base + 26);
    const x = linear(low, high, left, right);
    xAxis(picture, ticksOf(low, high, 4).filter(Number.isInteger), x, base, 4, (tick) => short(10 ** tick, 1));
    units.forEach((unit, i) => {
      const y = 14 + i * step,
        at = (error) => x(error > 0 ? Math.log10(error) : low);
      picture.append(
        svg("text", { x: 0, y: y + 4 }, shortened(unit.name, width < 460 ? 16 : 34)),
        svg("line", {
          x1: at(unit.error_before),
          x2: at(unit.error_after),
          y1: y,
          y2: y,
          stroke: "var(--line)",
          "stroke-width": 3,
        }),
        svg("circle", { cx: at(unit.error_before), cy: y, r: 4.5, fill: "var(--float)" }),
        svg("circle", { cx: at(unit.error_after), cy: y, r: 4.5, fill: run.color }),
      );
    });
    return picture;
  };
  return [
    chart(
      draw,
      units.map((unit) => `${unit.name}: ${short(unit.error_before)} to ${short(unit.error_after)}`).join("; "),
    ),
    legend([
      ["before", "var(--float)"],
      ["after", run.color],
    ]),
  ];
}

const unitsCard = (run) =>
  el(
    "div",
    { class: "card", style: "margin-top:12px" },
    el("h3", {}, `${run.name}: error of each unit, ${run.record.reconstruction.method}`),
    unitsChart(run),
    el("div", { style: "margin-top:12px" }, unitsTable(run.record.reconstruction.units)),
    el(
      "p",
      { class: "under", style: "margin:8px 0 0" },
      "Error: squared, of the unit's output, relative to its energy. Moved: weights that left their nearest code.",
    ),
  );

const fewSteps = 10; // as many say less than the epochs do
function spansDecades(series) {
  const values = series.flatMap((one) => one.points.map((p) => p[1]));
  return Math.min(...values) > 0 && Math.max(...values) > 10 * Math.min(...values);
}

function trainingCharts(trained) {
  const loss = trained.flatMap((run) =>
    run.steps.length > fewSteps
      ? [{ name: run.name, color: run.color, points: run.steps.map(([step, value]) => [step, value]) }]
      : [
          {
            name: `${run.name}, by epoch`,
            color: run.color,
            dots: true,
            points: run.record.training.epochs.map((epoch) => [epoch.epoch, epoch.loss]),
          },
        ],
  );
  // Scores: more is better; a value of which less is better comes as a negative number.
  const scores = trained
    .flatMap((run) => {
      const { epochs, validation_at_start: start } = run.record.training,
        after = (key) => epochs.filter((epoch) => epoch[key] !== undefined).map((epoch) => [epoch.epoch, epoch[key]]);
      return [
        {
          name: `${run.name}, quantized`,
          color: run.color,
          dots: true,
          points: [...(start === undefined ? [] : [[0, start]]), ...after("validation")],
        },
        {
          name: `${run.name}, float`,
          color: "var(--float)",
          dashed: true,
          dots: true,
          points: after("validation_float"),
        },
      ];
    })
    .filter((one) => one.points.length);
  const rates = trained
    .filter((run) => run.steps.length > fewSteps)
    .map((run) => ({ name: run.name, color: run.color, points: run.steps.map(([step, , rate]) => [step, rate]) }));
  const box = (title, series, options) =>
    series.some((one) => one.points.length) &&
    el("div", { class: "card" }, el("h3", {}, title), lines(series, { label: title, ...options }));
  return el(
    "div",
    { class: "grid2" },
    box("Training loss", loss, { log: spansDecades(loss) }),
    box("Validation after each epoch", scores, {}),
    box("Learning rate", rates, {}),
  );
}

function drawCurves() {
  const learned = runs.filter((run) => run.record.reconstruction?.units?.length),
    trained = runs.filter((run) => run.record.training?.epochs?.length);
  const section = byId("curves"),
    none = !learned.length && !trained.length;
  document.querySelector('nav a[href="#curves"]').hidden = section.hidden = none;
  if (none) return;
  fill(
    section,
    el("h2", {}, "Curves"),
    trained.length > 0 && trainingCharts(trained),
    learned.map(unitsCard),
  );
}
