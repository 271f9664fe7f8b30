// Elements, numbers as text, the tooltip. Names come from models: they only ever become text nodes and attributes.
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);

function put(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity))
    if (child !== undefined && child !== null && child !== false) node.append(child);
  return node;
}
const el = (tag, attributes, ...children) => put(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) =>
  put(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
const fill = (node, ...children) => (node.replaceChildren(...children.flat(Infinity).filter((one) => one)), node);

// Four digits, without a tail of zeros; very large and small ones with an exponent.
function short(value, digits = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return value.toExponential(Math.max(0, digits - 2)).replace("e+", "e");
  return String(Number(value.toPrecision(digits)));
}
const whole = (value) => String(value).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
const percent = (share, digits = 2) => `${(100 * share).toFixed(digits)} %`;
function bytes(count) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  for (; count >= 1000 && unit < units.length - 1; ++unit) count /= 1000;
  return `${unit ? count.toFixed(count < 10 ? 2 : 1) : count} ${units[unit]}`;
}
const seconds = (value) =>
  value < 0.1
    ? `${(1000 * value).toFixed(1)} ms`
    : value < 100
      ? `${value.toFixed(2)} s`
      : `${(value / 60).toFixed(1)} min`;
const counted = (count, noun, nouns = `${noun}s`) => `${whole(count)} ${count === 1 ? noun : nouns}`;
// A share of 1 or a plain number, as record.json has it.
const measured = (value, unit) => (unit === "%" ? percent(value) : `${short(value, 6)}${unit ? ` ${unit}` : ""}`);
const metricName = (name) => name.replace(/^top(\d)/, "top-$1");
// A long name keeps both ends: layers often differ in the last part.
const shortened = (text, most) =>
  text.length <= most
    ? text
    : `${text.slice(0, Math.ceil(most / 2) - 1)}…${text.slice(text.length - Math.floor(most / 2))}`;

// A long name breaks where its parts end, not inside a word.
const breakable = (text) => text.split(/(?<=[_./-])/).flatMap((part, i) => (i ? [el("wbr"), part] : [part]));

// Beside the pointer, or below what has the focus; never beyond the window.
const tip = {
  show(text, x, y) {
    const box = byId("tip");
    box.textContent = text;
    box.hidden = false;
    const left = Math.min(x + 14, innerWidth - box.offsetWidth - 8);
    const top = y + 18 + box.offsetHeight > innerHeight ? y - box.offsetHeight - 10 : y + 18;
    box.style.left = `${Math.max(8, left)}px`;
    box.style.top = `${Math.max(8, top)}px`;
  },
  hide() {
    byId("tip").hidden = true;
  },
};
addEventListener("scroll", () => tip.hide(), { passive: true });
addEventListener("keydown", (event) => {
  if (event.key === "Escape") tip.hide();
});

// Text on hover, touch and focus, for any element that is there to stay.
function explained(node, text) {
  node.addEventListener("pointerenter", (event) => tip.show(text, event.clientX, event.clientY));
  node.addEventListener("pointerleave", () => tip.hide());
  node.addEventListener("focus", () => {
    const box = node.getBoundingClientRect();
    tip.show(text, box.left, box.bottom - 12);
  });
  node.addEventListener("blur", () => tip.hide());
  return node;
}
