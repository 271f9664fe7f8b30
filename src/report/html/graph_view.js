// The network: boxes and coloured edges, only those in view drawn; pan, zoom, hover, touch and arrow keys.
const farAway = 0.42; // below this zoom all of the graph is a few shapes, without text

class GraphView {
  constructor(run, describe) {
    this.run = run;
    this.describe = describe;
    this.layout = layOut(run.graph);
    this.boxOf = new Map(
      this.layout.boxes.map((box) => [box.kind === "node" ? box.name : `${box.kind} ${box.name}`, box]),
    );
    for (const wire of this.layout.wires) wire.decision = decisionOf(run, wire.value, wire.quantized);
    this.edges = svg("g");
    this.nodes = svg("g");
    this.stage = svg("g", {}, this.edges, this.nodes);
    this.overview = null;
    this.node = svg(
      "svg",
      {
        id: "view",
        tabindex: "0",
        role: "application",
        "aria-label": `Graph of ${counted(run.graph.nodes.length, "node")}: arrow keys walk, plus and minus zoom`,
      },
      this.stage,
    );
    this.shown = new Map();
    this.selected = null;
    this.listen();
  }

  // Where the drawing lies in the window: a point p of it is at p * zoom + (x, y).
  fit(whole) {
    const { clientWidth: width, clientHeight: height } = this.node,
      layout = this.layout;
    if (!width) return;
    const zoom = Math.min(width / layout.width, height / layout.height, 1.1);
    this.zoom = whole ? zoom : Math.max(zoom, 0.8);
    this.x = width / 2 - (whole ? layout.left + layout.width / 2 : layout.boxes[0].x) * this.zoom;
    this.y = whole ? (height - layout.height * this.zoom) / 2 + 10 : 24;
    this.draw();
  }

  draw() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      this.drawNow();
    });
  }

  drawNow() {
    this.stage.setAttribute("transform", `translate(${this.x} ${this.y}) scale(${this.zoom})`);
    const far = this.zoom < farAway;
    if (far) this.overview ??= this.drawOverview();
    this.node.classList.toggle("far", far);
    if (far) this.showOnly(new Set(this.selected ? [this.selected] : []));
    else this.showOnly(this.inView());
  }

  // One shape for all edges and one for all boxes of a colour: thousands of elements would be too slow to move.
  drawOverview() {
    const edges = {},
      boxes = {};
    for (const wire of this.layout.wires) (edges[wire.decision.kind] ??= []).push(wire.path);
    for (const box of this.layout.boxes) {
      const profile = this.run.layers.get(box.name),
        color = profile ? severity(sqnr(profile.standalone)) : "var(--float)";
      (boxes[color] ??= []).push(`M${box.x - nodeWidth / 2} ${box.y}h${nodeWidth}v${nodeHeight}h${-nodeWidth}z`);
    }
    const group = svg(
      "g",
      { class: "overview" },
      Object.entries(edges).map(([kind, paths]) =>
        svg("path", {
          d: paths.join(""),
          fill: "none",
          stroke: colors[kind],
          "stroke-width": 1.5,
          "vector-effect": "non-scaling-stroke",
        }),
      ),
      Object.entries(boxes).map(([color, paths]) => svg("path", { d: paths.join(""), fill: color, opacity: 0.75 })),
    );
    this.stage.prepend(group);
    return group;
  }

  inView() {
    const { clientWidth: width, clientHeight: height } = this.node;
    const left = -this.x / this.zoom - nodeWidth,
      right = (width - this.x) / this.zoom + nodeWidth;
    const top = -this.y / this.zoom - nodeHeight,
      bottom = (height - this.y) / this.zoom;
    const here = new Set();
    for (const box of this.layout.boxes)
      if (box.y >= top && box.y <= bottom && box.x >= left && box.x <= right) here.add(box);
    for (const wire of this.layout.wires)
      if (wire.bottom >= top && wire.top <= bottom && wire.right >= left && wire.left <= right) here.add(wire);
    return here;
  }

  // Elements of what came into view are made, those of what left it are removed: moving costs as much as is visible.
  showOnly(here) {
    for (const [item, element] of this.shown) if (!here.has(item)) (element.remove(), this.shown.delete(item));
    for (const item of here) if (!this.shown.has(item)) this.show(item);
  }

  show(item) {
    const element = item.path ? this.edgeElement(item) : this.boxElement(item);
    element.item = item;
    (item.path ? this.edges : this.nodes).append(element);
    this.shown.set(item, element);
    this.mark(item);
  }

  edgeElement(wire) {
    const kind = wire.decision.kind;
    return svg(
      "g",
      { class: "wire", "data-kind": kind },
      svg("path", { class: "hit", d: wire.path }),
      svg("path", { class: `edge ${kind}`, d: wire.path, stroke: colors[kind] }),
    );
  }

  boxElement(box) {
    const left = box.x - nodeWidth / 2,
      profile = this.run.layers.get(box.name);
    const group = svg(
      "g",
      {
        class: `node ${box.kind === "node" ? "" : "end"}`,
        "data-name": box.name,
        transform: `translate(${left} ${box.y})`,
      },
      svg("rect", { class: "body", width: nodeWidth, height: nodeHeight, rx: 7 }),
      profile &&
        svg("rect", { x: 0, y: 7, width: 4, height: nodeHeight - 14, rx: 2, fill: severity(sqnr(profile.standalone)) }),
      svg("text", { class: "op", x: 13, y: 18 }, shortened(box.op, 20)),
      svg("text", { class: "name", x: 13, y: 33 }, shortened(box.name, 27)),
    );
    (box.constants ?? [])
      .filter((one) => this.run.planned.has(one.value) || this.run.skipped.has(one.value))
      .slice(0, 4)
      .forEach((one, i) =>
        group.append(
          svg("rect", {
            class: "chip",
            x: nodeWidth - 17 - 13 * i,
            y: 8,
            width: 10,
            height: 10,
            rx: 2.5,
            fill: colors[decisionOf(this.run, one.value, one.quantized).kind],
          }),
        ),
      );
    return group;
  }

  mark(item) {
    const element = this.shown.get(item);
    if (element && !item.path) element.classList.toggle("on", item === this.selected);
    else element?.lastChild.classList.toggle("on", item === this.selected);
  }

  select(item, move) {
    const before = this.selected;
    this.selected = item;
    if (before) this.mark(before);
    this.mark(item);
    this.describe(item);
    if (move && !item.path) this.centre(item);
  }

  centre(box) {
    if (this.zoom < 0.7) this.zoom = 0.9;
    this.x = this.node.clientWidth / 2 - box.x * this.zoom;
    this.y = this.node.clientHeight / 2 - (box.y + nodeHeight / 2) * this.zoom;
    this.draw();
  }

  zoomBy(factor, x = this.node.clientWidth / 2, y = this.node.clientHeight / 2) {
    const zoom = Math.max(0.02, Math.min(3, this.zoom * factor));
    this.x = x - ((x - this.x) * zoom) / this.zoom;
    this.y = y - ((y - this.y) * zoom) / this.zoom;
    this.zoom = zoom;
    this.draw();
  }

  itemAt(event) {
    const item = event.target.closest?.(".node, .wire")?.item;
    if (item || this.zoom >= farAway) return item;
    const frame = this.node.getBoundingClientRect(),
      x = (event.clientX - frame.left - this.x) / this.zoom,
      y = (event.clientY - frame.top - this.y) / this.zoom;
    return this.layout.boxes.find(
      (box) => Math.abs(box.x - x) <= nodeWidth / 2 && y >= box.y && y <= box.y + nodeHeight,
    );
  }

  text(item) {
    if (item.path) return decisionText(item.value, item.decision);
    const profile = this.run.layers.get(item.name),
      value = item.value ?? item.node.outputs[0];
    const output = decisionOf(this.run, value);
    return `${item.op} ${item.name}\n${value === item.name ? "" : `${value}: `}${output.what}\n${output.why}${profile ? `\nSQNR alone ${decibels(sqnr(profile.standalone))} dB` : ""}`;
  }

  listen() {
    const fingers = new Map();
    let moved = 0;
    this.node.addEventListener("pointerdown", (event) => {
      fingers.set(event.pointerId, event);
      moved = 0;
      this.node.focus({ preventScroll: true });
    });
    this.node.addEventListener("pointermove", (event) => {
      const last = fingers.get(event.pointerId);
      if (!last) {
        const item = this.itemAt(event);
        return item ? tip.show(this.text(item), event.clientX, event.clientY) : tip.hide();
      }
      if (fingers.size === 2) this.pinch(fingers, event);
      else ((this.x += event.clientX - last.clientX), (this.y += event.clientY - last.clientY));
      moved += Math.abs(event.clientX - last.clientX) + Math.abs(event.clientY - last.clientY);
      if (moved > 4) (this.node.classList.add("moving"), this.node.setPointerCapture(event.pointerId), tip.hide());
      fingers.set(event.pointerId, event);
      this.draw();
    });
    for (const end of ["pointerup", "pointercancel"])
      this.node.addEventListener(end, (event) => {
        fingers.delete(event.pointerId);
        this.node.classList.remove("moving");
        const item = moved > 4 ? undefined : this.itemAt(event);
        if (end === "pointerup" && item)
          (this.select(item, false), tip.show(this.text(item), event.clientX, event.clientY));
      });
    this.node.addEventListener("pointerleave", () => tip.hide());
    // The page scrolls past a graph that nobody works in.
    this.node.addEventListener(
      "wheel",
      (event) => {
        if (document.activeElement !== this.node && !event.ctrlKey) return;
        event.preventDefault();
        const box = this.node.getBoundingClientRect();
        this.zoomBy(
          Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0016)),
          event.clientX - box.left,
          event.clientY - box.top,
        );
      },
      { passive: false },
    );
    this.node.addEventListener("keydown", (event) => this.key(event));
    this.node.addEventListener("blur", () => tip.hide());
  }

  pinch(fingers, event) {
    const other = [...fingers.values()].find((one) => one.pointerId !== event.pointerId),
      last = fingers.get(event.pointerId);
    const apart = (a) => Math.hypot(a.clientX - other.clientX, a.clientY - other.clientY) || 1;
    const box = this.node.getBoundingClientRect();
    this.zoomBy(
      apart(event) / apart(last),
      (event.clientX + other.clientX) / 2 - box.left,
      (event.clientY + other.clientY) / 2 - box.top,
    );
  }

  // Up and down along edges, left and right beside each other.
  key(event) {
    const now = this.selected && !this.selected.path ? this.selected : null,
      layout = this.layout;
    const beside = (step) => {
      const layer = layout.boxes.filter((box) => box.layer === now.layer).sort((a, b) => a.x - b.x);
      return layer[layer.indexOf(now) + step];
    };
    const along = (from, to) => layout.boxes[layout.wires.find((wire) => layout.boxes[wire[from]] === now)?.[to]];
    const steps = {
      ArrowDown: () => along("from", "to"),
      ArrowUp: () => along("to", "from"),
      ArrowRight: () => beside(1),
      ArrowLeft: () => beside(-1),
    };
    if (steps[event.key]) {
      event.preventDefault();
      const next = now ? steps[event.key]() : layout.boxes[0];
      if (!next) return;
      this.select(next, true);
      const box = this.node.getBoundingClientRect();
      tip.show(
        this.text(next),
        box.left + next.x * this.zoom + this.x,
        box.top + (next.y + nodeHeight) * this.zoom + this.y,
      );
    } else if (event.key === "+" || event.key === "=") this.zoomBy(1.25);
    else if (event.key === "-") this.zoomBy(0.8);
    else if (event.key === "0") this.fit(true);
  }
}
