// Puts the page together: theme, run, sections.
function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem("quench-theme", theme);
  } catch {
    /* a page from a file may have no storage */
  }
}
function startTheme() {
  let kept = null;
  try {
    kept = localStorage.getItem("quench-theme");
  } catch {
    /* see above */
  }
  const system = matchMedia("(prefers-color-scheme: dark)");
  document.documentElement.dataset.theme = kept ?? (system.matches ? "dark" : "light");
  system.addEventListener("change", () => {
    if (!kept) document.documentElement.dataset.theme = system.matches ? "dark" : "light";
  });
  byId("theme").addEventListener("click", () => {
    kept = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    setTheme(kept);
  });
}

// Paper is light, whatever the screen is.
function printInLight() {
  let theme = "light";
  addEventListener("beforeprint", () => {
    theme = document.documentElement.dataset.theme;
    document.documentElement.dataset.theme = "light";
  });
  addEventListener("afterprint", () => (document.documentElement.dataset.theme = theme));
}

function startRuns() {
  if (runs.length < 2) return;
  byId("run-picker").hidden = false;
  const pick = byId("run");
  runs.forEach((run, i) => pick.append(el("option", { value: i }, run.name)));
  pick.addEventListener("change", () => state.showRun(runs[pick.value]));
}

// A record that somebody edited may lack anything: the section that trips over it says so, the others are drawn.
function drawn(section, draw) {
  try {
    draw();
  } catch (error) {
    const why = `This part cannot be drawn: the run's files do not have what it needs (${error.message}).`;
    fill(byId(section), el("p", { class: "lead" }, why));
  }
}

startTheme();
printInLight();
startRuns();
drawn("summary", drawSummary);
drawn("layers", drawLayers);
drawn("graph", drawGraph);
drawn("tensors", drawTensors);
drawn("curves", drawCurves);
drawn("provenance", drawProvenance);
state.on("run", () => {
  drawn("summary", drawSummary);
  drawn("graph", drawGraph);
  drawn("tensors", drawTensors);
  drawn("provenance", drawProvenance);
});
