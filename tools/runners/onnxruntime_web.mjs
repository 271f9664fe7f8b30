// Runs a model in ONNX Runtime's WebAssembly build, in Node: node onnxruntime_web.mjs MODEL INPUTS.npz OUTPUTS.npz.
// Protocol: docs/runners.md.
import fs from 'node:fs';
import path from 'node:path';
import {fileURLToPath, pathToFileURL} from 'node:url';

import {readNpz, writeNpz} from './npz.mjs';

const kSlice = 32;  // items at a time where the model leaves its batch open

function stop(message, code = 1) {
  console.error(message);
  process.exit(code);
}

// The environment of test-venv, by the rule that is written there.
function environment(tools) {
  const root = path.dirname(tools);
  if (process.env.QUENCH_VENV) return process.env.QUENCH_VENV;
  if (fs.existsSync(path.join(root, 'CMakeLists.txt'))) return path.join(root, '.venv');
  const data = process.env.XDG_DATA_HOME || path.join(process.env.HOME || '', '.local', 'share');
  return path.join(data, 'quench', 'venv');
}

async function runtime() {
  const tools = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
  const folder = process.env.QUENCH_NODE_MODULES || path.join(environment(tools), 'node', 'node_modules');
  const file = path.join(folder, 'onnxruntime-web', 'dist', 'ort.wasm.min.mjs');
  if (!fs.existsSync(file))
    stop(
        `the package 'onnxruntime-web' is not in '${folder}'; '${tools}/test-venv onnxruntime-web' puts it there, and ` +
            'QUENCH_NODE_MODULES names another folder',
        2);
  const ort = await import(pathToFileURL(file).href);
  ort.env.wasm.numThreads = 1;
  ort.env.logLevel = 'error';
  return ort;
}

function parse(words) {
  const option = (name) => words.includes(name) ? words.splice(words.indexOf(name), 2)[1] : null;
  const names = option('--tensors')?.split(','), seconds = Number(option('--time') || 0);
  const shared = new Set(option('--shared')?.split(','));
  if (words.length !== 3)
    stop('usage: onnxruntime_web.mjs MODEL INPUTS.npz OUTPUTS.npz [--tensors a,b,c] [--shared a,b] [--time S]');
  return {model: words[0], inputs: words[1], outputs: words[2], names, seconds, shared};
}

// Items first ... end of an array, filled up with the last one to `count`.
function slice({type, shape, data}, first, end, count) {
  const size = data.length / shape[0];
  const part = new data.constructor(count * size);
  part.set(data.subarray(first * size, end * size));
  for (let i = end - first; i < count; ++i) part.set(data.subarray((end - 1) * size, end * size), i * size);
  return {type, shape: [count, ...shape.slice(1)], data: part};
}

// Along the first axis, which need not count items but grows with them: of a slice that was filled up, the share of
// its items.
function join(parts) {
  const rows = parts.map((part) => Math.floor((part.shape[0] * part.items) / part.fed));
  const size = parts[0].data.length / parts[0].shape[0];
  const data = new parts[0].data.constructor(rows.reduce((sum, count) => sum + count, 0) * size);
  let at = 0;
  parts.forEach((part, i) => {
    data.set(part.data.subarray(0, rows[i] * size), at);
    at += rows[i] * size;
  });
  return {type: parts[0].type, shape: [data.length / size, ...parts[0].shape.slice(1)], data};
}

// {"items": of one run, "seconds": of the fastest}
async function printTime(run, items, seconds) {
  let best = Infinity;
  for (const end = performance.now() + 1000 * seconds; performance.now() < end;) {
    const start = performance.now();
    await run();
    best = Math.min(best, performance.now() - start);
  }
  console.log(JSON.stringify({items, seconds: best / 1000}));
}

async function main() {
  const job = parse(process.argv.slice(2));
  const ort = await runtime();
  const session = await ort.InferenceSession.create(
      new Uint8Array(fs.readFileSync(job.model)), {executionProviders: ['wasm'], graphOptimizationLevel: 'all'});
  const feeds = readNpz(job.inputs), parts = {};
  const sliced = Object.keys(feeds).find((name) => !job.shared.has(name)), items = sliced ? feeds[sliced].shape[0] : 1;
  const fixed = session.inputMetadata?.[session.inputNames.indexOf(sliced)]?.shape?.[0];
  const batch = typeof fixed === 'number' && fixed > 0 ? fixed : 0;
  const names = job.names || session.outputNames;
  for (let at = 0; at < items; at += batch || kSlice) {
    const end = Math.min(at + (batch || kSlice), items), tensors = {};
    for (const [name, array] of Object.entries(feeds)) {
      const part = job.shared.has(name) ? array : slice(array, at, end, batch || end - at);
      tensors[name] = new ort.Tensor(part.type, part.data, part.shape);
    }
    const found = await session.run(tensors, names);
    if (at === 0 && job.seconds) await printTime(() => session.run(tensors, names), end - at, job.seconds);
    for (const name of names)
      (parts[name] ??= []).push({
        type: found[name].type,
        shape: found[name].dims,
        data: found[name].data,
        items: end - at,
        fed: batch || end - at
      });
  }
  writeNpz(job.outputs, Object.fromEntries(names.map((name) => [name, sliced ? join(parts[name]) : parts[name][0]])));
}

main().catch((error) => stop(String(error?.stack || error)));
