// What the numbers mean, and what to do next: the verdict, ready commands, ready rules.
const clearly = 0.05; // the p-value below which a change is not put down to chance
const fewAgree = 0.95; // below this share of equal predictions something is lost, whatever the labels would say
const chance = (p) => (p < 0.0001 ? "p < 0.0001" : `p = ${p < 0.01 ? p.toFixed(4) : p.toFixed(2)}`);

// {kind: "same", "worse", "better" or "open", text} of a metric, by the paired test of the record.
function verdictOf(run, metric) {
  const change = metric && changeOf(run, metric.name),
    p = change?.p;
  if (p === undefined || p === null) return { kind: "open", text: "" };
  const items = run.record.paired?.items ?? run.record.quantized.items,
    test = `${change.pairs ? "McNemar " : ""}${chance(p)}`,
    on = items ? ` on ${counted(items, "item")}` : "";
  if (p >= clearly) return { kind: "same", text: `not distinguishable from float${on} (${test})` };
  const worse = metric.better === "higher" ? change.value < 0 : change.value > 0;
  return { kind: worse ? "worse" : "better", text: `${worse ? "worse" : "better"} than float${on} (${test})` };
}
const pairsText = (pairs) =>
  pairs && `right only in float ${whole(pairs.only_that_right)}, only quantized ${whole(pairs.only_this_right)}`;

const agreedShare = (agreement) =>
  agreement ? (agreement.share ?? (agreement.rows ? agreement.same / agreement.rows : null)) : null;
function needsWork(run) {
  const verdict = verdictOf(run, run.record.quantized?.metrics?.[0]);
  if (verdict.kind !== "open") return verdict.kind === "worse";
  const share = agreedShare(run.record.agreement);
  return share !== null && share < fewAgree;
}

// The data of the job, as the command line takes it; nothing where it cannot be written so.
function specOf(run) {
  const line = /^ {2}eval: \{(.*)\}$/m.exec(run.record.config) ?? /^ {2}calib: \{(.*)\}$/m.exec(run.record.config);
  const entries = [...(line?.[1] ?? "").matchAll(/(\w+): ("(?:[^"\\]|\\.)*")/g)].map(([, key, text]) => [
    key,
    JSON.parse(text),
  ]);
  const { kind, path, ...options } = Object.fromEntries(entries);
  const written = Object.entries(options).map(([key, value]) => `${key}=${value}`);
  if (!kind || !path || /[?&]/.test(path + Object.values(options).join(""))) return null;
  return `${kind}:${path}${written.length ? `?${written.join("&")}` : ""}`;
}
const quoted = (text) => (/^[\w./:=,+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
const deployedFiles = (run) => run.files.filter((file) => file.path.startsWith("deploy/"));
const dataOf = (run) => quoted(specOf(run) ?? "SPEC");

function verifyCommand(run) {
  const files = deployedFiles(run),
    folder = run.files.length ? run.name : "OUT";
  if (run.files.length && !files.length) return null; // there is nothing to verify
  const runtime = !files.length || files.some((file) => file.path.endsWith("_qdq.onnx")) ? "" : " --runtime NAME";
  return `quench verify ${quoted(`${folder}/deploy`)}${runtime} --data ${dataOf(run)} --layers`;
}

const command = (text) => el("pre", { class: "command", tabindex: "0" }, text);

// What a run has not tried yet, from cheap to dear.
function nextSteps(run) {
  const record = run.record,
    observers = (record.plan?.quantized ?? []).filter((one) => one.role === "activation").map((one) => one.observer);
  return [
    observers.some((one) => one && one !== "mse") && [
      "--set defaults.activation.observer=mse",
      "ranges of least error for the activations",
    ],
    !record.equalize && ["--equalize", "balances the channels of neighbouring layers"],
    !record.bias_correction && ["--bias-correction fast", "takes the mean error out of the biases"],
    !record.reconstruction && [
      "--method blockwise",
      "learns the rounding, block by block; minutes on a CPU, without labels (networkwise takes longer and gives more at few bits)",
    ],
    !record.training && ["quench train", "trains the quantized network; needs labelled data, and helps most below 8 bits"],
  ].filter(Boolean);
}

const layerLoss = (layer) =>
  `${layer.name}: ${decibels(sqnr(layer.standalone))} dB alone${layer.worst ? `, most by its ${layer.worst}` : ""}`;
const worstLayers = (run) => (run.record.profile?.layers ?? []).filter((layer) => !layer.stays_float).slice(0, 3);

function repairCard(run) {
  const worst = worstLayers(run),
    steps = nextSteps(run);
  return el(
    "div",
    { class: "card advice" },
    el("h3", {}, "What now: accuracy was lost"),
    worst.length > 0 && [
      el("p", { class: "under" }, "The layers that lose most, each quantized alone:"),
      el(
        "ul",
        {},
        worst.map((layer) => el("li", {}, layerLoss(layer))),
      ),
      el("p", { class: "under" }, "Kept in float by a rule of the config, or by --set 'layers=[…]':"),
      command(`layers: [${worst.map((one) => `{match: ${JSON.stringify(one.name)}, float: true}`).join(", ")}]`),
    ],
    steps.length > 0 && [
      el("p", { class: "under" }, "Not tried in this run, from cheap to dear:"),
      el(
        "ul",
        {},
        steps.map(([option, what]) => el("li", {}, el("code", {}, option), ` – ${what}`)),
      ),
    ],
  );
}

// Which file a target takes is not in the record and not guessed: one that passed in a runtime is named as such.
function shipCard(run) {
  const passed = run.verified.filter((one) => !one.outdated && one.passed),
    failed = run.verified.some((one) => !one.outdated && !one.passed),
    verify = verifyCommand(run);
  const say = (head, ...rest) => el("div", { class: "card advice" }, el("h3", {}, `What now: ${head}`), rest);
  const known = verdictOf(run, run.record.quantized?.metrics?.[0]).kind !== "open";
  if (failed) return say("find out why the runtime differs", verify && command(verify.replace("--layers", "--layers --details")));
  if (passed.length)
    return say(
      known || run.record.agreement ? "ship it" : "measure accuracy (--eval SPEC), then ship it",
      passed.map((one) => el("p", {}, el("code", {}, one.path ? `${run.name}/${one.path}` : one.file), ` passed in ${one.runtime}.`)),
      el("p", { class: "under" }, "The line 'to ship' that quench quantize and quench deploy print names all that the target takes."),
    );
  const model = run.files.find((file) => file.path.endsWith(".quench.onnx"))?.path;
  if (!verify)
    return model
      ? say("write the target's files", command(`quench deploy ${quoted(`${run.name}/${model}`)} -o ${quoted(`${run.name}/deploy`)}`))
      : null;
  return say(
    "see that the runtime computes the same",
    command(verify),
    verify.includes("--runtime NAME") &&
      el("p", { class: "under" }, "NAME: one of quench list runtimes that reads this target's files; research platforms have none."),
    !known && el("p", { class: "under" }, "Accuracy against float was not measured: quench quantize --eval SPEC does."),
  );
}
const whatNow = (run) => (needsWork(run) ? repairCard(run) : shipCard(run));
