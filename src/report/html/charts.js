// Plain SVG charts. Each is drawn for the width that it has, and again when that changes.
function chart(draw, label) {
  const holder = el("div", { role: "img", "aria-label": label });
  let width = 0;
  new ResizeObserver(() => {
    const now = Math.floor(holder.clientWidth);
    if (now === width || now === 0) return;
    width = now;
    fill(holder, draw(width));
  }).observe(holder);
  return holder;
}

// About `count` round numbers from low to high.
function ticksOf(low, high, count = 5) {
  if (!(high > low)) return [low];
  const raw = (high - low) / count,
    power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((one) => one >= raw * 0.8);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-6; ++i) ticks.push(i * step);
  return ticks;
}
// Two at least: one tick says nothing of the scale.
function axisTicks(low, high, count) {
  for (; count < 20; ++count) {
    const ticks = ticksOf(low, high, count);
    if (ticks.length > 1) return ticks;
  }
  return ticksOf(low, high, count);
}
const linear = (low, high, from, to) => (value) => from + ((value - low) / (high - low || 1)) * (to - from);

function frame(width, height) {
  return svg("svg", { class: "chart", width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
}
function xAxis(picture, ticks, place, y, top, text = short) {
  for (const tick of ticks)
    picture.append(
      svg("line", { class: "rule", x1: place(tick), x2: place(tick), y1: top, y2: y }),
      svg("text", { class: "tick", x: place(tick), y: y + 16, "text-anchor": "middle" }, text(tick)),
    );
}
function yAxis(picture, ticks, place, left, right, text = short) {
  for (const tick of ticks)
    picture.append(
      svg("line", { class: "rule", x1: left, x2: right, y1: place(tick), y2: place(tick) }),
      svg("text", { class: "tick", x: left - 6, y: place(tick) + 4, "text-anchor": "end" }, text(tick)),
    );
}

// Where an axis for these values ends: a little beyond them, but shares never leave 0 to 100 %.
function axisOf(values, unit) {
  const least = Math.min(...values),
    most = Math.max(...values),
    pad = 0.08 * (most - least || Math.abs(most) * 0.1 || 1);
  const share = unit === "%" && least >= 0 && most <= 1;
  return share ? [Math.max(0, least - pad), Math.min(1, most + pad)] : [least - pad, most + pad];
}

function intervalMark(row, place, y) {
  return [
    row.low !== undefined &&
      svg("line", {
        x1: place(row.low),
        x2: place(row.high),
        y1: y,
        y2: y,
        stroke: row.color,
        "stroke-width": 5,
        "stroke-linecap": "round",
        opacity: 0.35,
      }),
    svg("circle", { cx: place(row.value), cy: y, r: 5.5, fill: row.color }),
  ];
}

// Rows of {label, value, low, high, color, text}: a dot with its interval, on one axis. Where there is little room, the words
// stand above.
function intervals(rows, unit) {
  const [low, high] = axisOf(
    rows.flatMap((row) => [row.value, row.low ?? row.value, row.high ?? row.value]),
    unit,
  );
  const longest = (key) => Math.max(...rows.map((row) => row[key].length));
  return chart(
    (width) => {
      const narrow = width < 460,
        step = narrow ? 42 : 27,
        base = rows.length * step + 6;
      const left = narrow ? 18 : Math.min(200, longest("label") * 7 + 14),
        right = width - (narrow ? 18 : longest("text") * 6.6 + 14);
      const picture = frame(width, base + 28),
        place = linear(low, high, left, right);
      put(picture, { "data-low": low, "data-high": high }, []);
      xAxis(picture, axisTicks(low, high, Math.max(2, Math.round((right - left) / 75))), place, base, 4, (tick) =>
        unit === "%" ? `${Number((100 * tick).toPrecision(4))} %` : short(tick),
      );
      rows.forEach((row, i) => {
        const y = 18 + i * step,
          room = narrow ? Math.max(8, Math.floor((width - row.text.length * 6.6) / 7) - 1) : 30;
        put(picture, {}, [
          svg("text", { class: "on-rules", x: 0, y: y + 4 }, shortened(row.label, room)),
          svg("text", { class: "on-rules", x: width, y: y + 4, "text-anchor": "end" }, row.text),
          intervalMark(row, place, narrow ? y + 18 : y),
        ]);
      });
      return picture;
    },
    rows.map((row) => `${row.label}: ${row.text}`).join("; "),
  );
}

// series: [{name, color, points: [[x, y]...], dots}]
function lines(series, { label, log = false, height = 220 }) {
  const all = series.flatMap((one) => one.points),
    values = all.map((p) => p[1]).filter((y) => y > 0 || !log);
  const xs = all.map((p) => p[0]),
    turn = log ? Math.log10 : (y) => y;
  const low = turn(Math.min(...values)),
    high = turn(Math.max(...values)),
    pad = (high - low || Math.abs(high) || 1) * 0.06;
  const draw = (width) => {
    const picture = frame(width, height),
      left = 56,
      right = width - 10;
    const x = linear(Math.min(...xs), Math.max(...xs), left, right),
      y = linear(low - pad, high + pad, height - 26, 8);
    yAxis(picture, ticksOf(low - pad, high + pad, 4), y, left, right, (tick) => short(log ? 10 ** tick : tick, 3));
    xAxis(picture, ticksOf(Math.min(...xs), Math.max(...xs), width < 460 ? 3 : 6).filter(Number.isInteger), x, height - 26, height - 26);
    for (const one of series) {
      const points = one.points.filter((p) => p[1] > 0 || !log).map((p) => [x(p[0]), y(turn(p[1]))]);
      picture.append(
        svg("polyline", {
          points: points.map((p) => p.join(",")).join(" "),
          fill: "none",
          stroke: one.color,
          "stroke-width": 2,
          "stroke-linejoin": "round",
          "stroke-dasharray": one.dashed ? "5 4" : undefined,
        }),
      );
      if (one.dots)
        for (const p of points) picture.append(svg("circle", { cx: p[0], cy: p[1], r: 3.5, fill: one.color }));
    }
    return picture;
  };
  return [chart(draw, label), legend(series.map((one) => [one.name, one.color]))];
}

const legend = (entries, box = false) =>
  el(
    "div",
    { class: "legend" },
    entries.map(([name, color]) =>
      el(
        "span",
        {},
        el("i", { class: box ? "box" : "", style: box ? `background:${color}` : `border-color:${color}` }),
        name,
      ),
    ),
  );

// Where the codes end. Labels come after all lines and on ground of their own; they stand inwards, the second one lower if
// they would meet.
function clipMarks(picture, ends, x, base, width) {
  for (const value of ends)
    picture.append(
      svg("line", {
        class: "clip",
        x1: x(value),
        x2: x(value),
        y1: 4,
        y2: base,
        stroke: "var(--accent)",
        "stroke-width": 1.5,
        "stroke-dasharray": "4 3",
      }),
    );
  const close = ends.length > 1 && x(ends[1]) - x(ends[0]) < 120;
  ends.forEach((value, i) => {
    const rightwards = x(value) < width / 2 && !(close && i > 0 && x(value) > 70);
    const place = { x: x(value) + (rightwards ? 6 : -6), "text-anchor": rightwards ? "start" : "end" };
    picture.append(svg("text", { ...place, y: close && i > 0 ? 30 : 14, class: "tick on-rules" }, short(value)));
  });
}

// Counts of values, the range that the codes cover, and what lies beyond it.
function histogram(tensor, logarithmic) {
  const height = 230,
    clipLow = Math.min(...tensor.low),
    clipHigh = Math.max(...tensor.high);
  const span = tensor.max - tensor.min || Math.abs(tensor.max) || 1;
  // A range far beyond the values would squeeze them into nothing.
  const low = Math.max(Math.min(tensor.min, clipLow), tensor.min - span),
    high = Math.min(Math.max(tensor.max, clipHigh), tensor.max + span);
  const turn = logarithmic ? (count) => Math.log10(1 + count) : (count) => count;
  const top = turn(Math.max(...tensor.counts)) || 1,
    bins = tensor.counts.length;
  return chart(
    (width) => {
      const picture = frame(width, height),
        base = height - 26,
        left = 8,
        right = width - 8;
      const x = linear(low, high, left, right),
        y = (count) => (turn(count) / top) * (base - 14);
      const edge = (value) => Math.max(left, Math.min(right, x(value)));
      picture.append(
        svg("rect", {
          x: edge(clipLow),
          y: 8,
          width: Math.max(1, edge(clipHigh) - edge(clipLow)),
          height: base - 8,
          fill: "var(--band)",
        }),
      );
      xAxis(picture, ticksOf(low, high, width < 460 ? 3 : 6), x, base, base);
      tensor.counts.forEach((count, i) => {
        if (count === 0) return;
        const from = x(tensor.min + ((tensor.max - tensor.min) * i) / bins),
          to = x(tensor.min + ((tensor.max - tensor.min) * (i + 1)) / bins);
        const lost = tensor.lost_counts?.[i] ?? 0,
          tall = Math.max(1, y(count)),
          red = lost === count ? tall : lost ? Math.max(2, (tall * lost) / count) : 0;
        const wide = Math.max(1, to - from - 0.6);
        if (tall > red)
          picture.append(svg("rect", { x: from, y: base - tall, width: wide, height: tall - red, fill: "var(--q8)" }));
        if (red) picture.append(svg("rect", { x: from, y: base - red, width: wide, height: red, fill: "var(--lost)" }));
      });
      clipMarks(
        picture,
        [clipLow, clipHigh].filter((value) => value >= low && value <= high),
        x,
        base,
        width,
      );
      return picture;
    },
    `Histogram of ${tensor.value}: ${counted(tensor.elements, "value")} from ${short(tensor.min)} to ${short(tensor.max)}, ${whole(tensor.lost)} cut off`,
  );
}

// Each channel's least and greatest value, and the range of its codes.
function channelRanges(tensor) {
  const low = tensor.channel_min,
    high = tensor.channel_max,
    count = low.length,
    height = 200;
  const at = (list, i) => list[list.length === 1 ? 0 : i];
  const least = Math.min(...low, ...tensor.low.map((v) => Math.max(v, Math.min(...low) * 2)));
  const most = Math.max(...high, ...tensor.high.map((v) => Math.min(v, Math.max(...high) * 2)));
  return chart(
    (width) => {
      const picture = frame(width, height),
        left = 52,
        right = width - 8,
        base = height - 24;
      const y = linear(least, most, base - 4, 8),
        x = linear(0, count, left, right),
        wide = Math.max(0.8, (right - left) / count - 1);
      yAxis(picture, ticksOf(least, most, 4), y, left, right);
      xAxis(
        picture,
        ticksOf(0, count, width < 460 ? 3 : 6).filter((t) => t <= count),
        x,
        base,
        base,
        (t) => whole(Math.round((t * tensor.channels) / count)),
      );
      const bars = [],
        ends = [];
      const inside = (v) => Math.max(8, Math.min(base - 4, y(v)));
      for (let i = 0; i < count; ++i) {
        const from = x(i + 0.5);
        bars.push(`M${from.toFixed(1)} ${y(low[i]).toFixed(1)}V${(y(high[i]) - 0.5).toFixed(1)}`);
        ends.push(
          `M${x(i).toFixed(1)} ${inside(at(tensor.low, i)).toFixed(1)}H${x(i + 1).toFixed(1)}M${x(i).toFixed(1)} ${inside(at(tensor.high, i)).toFixed(1)}H${x(i + 1).toFixed(1)}`,
        );
      }
      picture.append(
        svg("path", { d: bars.join(""), stroke: "var(--q8)", "stroke-width": wide, fill: "none", opacity: 0.8 }),
        svg("path", { d: ends.join(""), stroke: "var(--low)", "stroke-width": 1.6, fill: "none" }),
      );
      return picture;
    },
    `Ranges of ${counted(tensor.channels, "channel")} of ${tensor.value}`,
  );
}
