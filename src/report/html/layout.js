// A layered drawing of a graph: a node's layer is one below the lowest of what it reads; orders inside layers are improved
// by barycentres. An edge over several layers bends around what is between. Computed once; moving and zooming reuse it.
const nodeWidth = 172,
  nodeHeight = 42,
  gapX = 26,
  gapY = 34,
  wireWidth = 14;

// Boxes: graph inputs, nodes, graph outputs. Wires: value, from box, to box, whether it is read quantized.
function boxesAndWires(graph) {
  const boxes = [],
    wires = [],
    maker = new Map();
  const add = (box) => (boxes.push(box), boxes.length - 1);
  for (const name of graph.inputs) maker.set(name, add({ kind: "input", name, op: "input", value: name }));
  for (const node of graph.nodes) {
    const at = add({ kind: "node", name: node.name, op: node.op, node, constants: [] });
    node.inputs.forEach((value, slot) => {
      const from = maker.get(value);
      if (from !== undefined) wires.push({ value, from, to: at, quantized: node.quantized[slot] === 1 });
      else boxes[at].constants.push({ value, quantized: node.quantized[slot] === 1 });
    });
    for (const value of node.outputs) maker.set(value, at);
  }
  for (const { value, quantized } of graph.outputs) {
    const at = add({ kind: "output", name: value, op: "output", value });
    if (maker.has(value)) wires.push({ value, from: maker.get(value), to: at, quantized });
  }
  return { boxes, wires };
}

// Layers, and for each value that is read further down one chain of points, which all of its readers share.
function layersOf(boxes, wires) {
  for (const box of boxes) box.layer = 0;
  for (const wire of wires) boxes[wire.to].layer = Math.max(boxes[wire.to].layer, boxes[wire.from].layer + 1);
  const layers = [];
  const place = (item) => (layers[item.layer] ??= []).push(item);
  for (const box of boxes) ((box.width = nodeWidth), (box.above = []), (box.below = []), place(box));
  const chains = new Map();
  for (const wire of wires) {
    const from = boxes[wire.from],
      to = boxes[wire.to],
      key = `${wire.from} ${wire.value}`;
    if (!chains.has(key)) chains.set(key, []);
    const chain = chains.get(key);
    for (let layer = from.layer + 1 + chain.length; layer < to.layer; ++layer) {
      const point = { width: wireWidth, layer, above: [chain.at(-1) ?? from], below: [], bend: true };
      point.above[0].below.push(point);
      chain.push(point);
      place(point);
    }
    wire.bends = chain.slice(0, to.layer - from.layer - 1);
    const last = wire.bends.at(-1) ?? from;
    last.below.push(to);
    to.above.push(last);
  }
  return layers;
}

function orderLayers(layers) {
  layers.forEach((layer) => layer.forEach((item, i) => (item.rank = i)));
  for (let sweep = 0; sweep < 6; ++sweep) {
    const down = sweep % 2 === 0,
      beside = down ? "above" : "below";
    for (const layer of down ? layers : [...layers].reverse()) {
      for (const item of layer)
        item.key = item[beside].length
          ? item[beside].reduce((sum, one) => sum + one.rank, 0) / item[beside].length
          : item.rank;
      layer.sort((a, b) => a.key - b.key).forEach((item, i) => (item.rank = i));
    }
  }
}

// As near to the middle of their neighbours as those beside them allow.
function placeAcross(layers) {
  for (const layer of layers) {
    const width = layer.reduce((sum, item) => sum + item.width + gapX, -gapX);
    let x = -width / 2;
    for (const item of layer) ((item.x = x + item.width / 2), (x += item.width + gapX));
  }
  for (let sweep = 0; sweep < 8; ++sweep) {
    const beside = sweep % 2 === 0 ? "above" : "below";
    for (const layer of sweep % 2 === 0 ? layers : [...layers].reverse()) {
      const wanted = layer.map((item) =>
        item[beside].length ? item[beside].reduce((sum, one) => sum + one.x, 0) / item[beside].length : item.x,
      );
      const room = (a, b) => (a.width + b.width) / 2 + gapX;
      const left = [],
        right = [];
      layer.forEach(
        (item, i) => (left[i] = i ? Math.max(wanted[i], left[i - 1] + room(layer[i - 1], item)) : wanted[i]),
      );
      for (let i = layer.length - 1; i >= 0; --i)
        right[i] = i < layer.length - 1 ? Math.min(wanted[i], right[i + 1] - room(layer[i], layer[i + 1])) : wanted[i];
      layer.forEach((item, i) => (item.x = (left[i] + right[i]) / 2));
    }
  }
}

function layOut(graph) {
  const { boxes, wires } = boxesAndWires(graph),
    layers = layersOf(boxes, wires);
  orderLayers(layers);
  placeAcross(layers);
  layers.forEach((layer, i) => layer.forEach((item) => (item.y = i * (nodeHeight + gapY))));
  for (const wire of wires) {
    const from = boxes[wire.from],
      to = boxes[wire.to];
    let x = from.x,
      y = from.y + nodeHeight,
      path = `M${x} ${y}`;
    for (const stop of [...wire.bends, to]) {
      const middle = y + (stop.y - y) / 2;
      path += stop.x === x ? `V${stop.y}` : `C${x} ${middle} ${stop.x} ${middle} ${stop.x} ${stop.y}`;
      x = stop.x;
      y = stop.bend ? stop.y + nodeHeight : stop.y;
      if (stop.bend) path += `V${y}`;
    }
    const across = [from.x, to.x, ...wire.bends.map((bend) => bend.x)];
    Object.assign(wire, { path, top: from.y, bottom: to.y, left: Math.min(...across), right: Math.max(...across) });
  }
  const left = Math.min(...boxes.map((box) => box.x)) - nodeWidth,
    right = Math.max(...boxes.map((box) => box.x)) + nodeWidth;
  return { boxes, wires, left, width: right - left, height: layers.length * (nodeHeight + gapY) };
}
