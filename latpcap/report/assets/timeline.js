/** What each connection did when: one lane each, zoomed by dragging, by buttons and by keys. */

import { button, byId, data, fill, make } from "./dom.js";
import { axis, chart, colour } from "./charts.js";
import { count, counted, formatMs, formatS, given } from "./format.js";
import { PART_NAMES, blockAt, drawLane, unpack } from "./lanes.js";

const drawn = data.timeline;
const lanes = drawn.lanes.map((lane) => unpack(lane, drawn.stretch_us));
const duration = Math.max(drawn.duration_us, 1);
const LEAST_US = 20;
const LEAST_HEIGHT = 110;
const TALL = 26;
const LOW = 9;
const AXIS_HEIGHT = 60;
const KEYS = { "+": ["in"], "=": ["in"], "-": ["out"], ArrowLeft: ["left"], ArrowRight: ["right"], 0: ["all"] };

let plot;

/** Draws the lanes and the tools. */
export function showTimeline() {
  const figure = byId("timeline-figure");
  if (!figure) return;
  fill(figure, make("div", { class: "toolbar screen", id: "timeline-tools", role: "group", "aria-label": "Zoom the timeline" }),
    make("div", { class: "legend", id: "timeline-legend" }), make("div", { id: "timeline-chart", role: "img" }),
    make("figcaption", {}, make("span", { id: "timeline-range", role: "status" }), make("span", { id: "timeline-hover", class: "hover screen" })));
  plot = chart("timeline-chart", Math.max(lanes.length * laneHeight(), LEAST_HEIGHT) + AXIS_HEIGHT, options(), [[0, duration], [null, null]]);
  byId("timeline-chart").setAttribute("aria-label",
    `${counted(lanes.length, "lane")} over ${formatS(duration / 1e6)}. The table of connections has their figures.`);
  showTools();
  showLegend();
}

const laneHeight = () => (lanes.length <= 20 ? TALL : LOW);

function options() {
  return {
    padding: [4, 26, 0, 0],
    scales: { x: { time: false, range: (_, low, high) => [low, high] }, y: { range: [0, lanes.length] } },
    axes: [axis({ label: "time since the first packet", space: 70, values: (_, at) => at.map(labelled) }), axis({ size: 84, grid: { show: false }, splits: laneCentres, values: (_, at) => at.map(laneName) })],
    series: [{}, { show: false }],
    cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: true } },
    hooks: { draw: [drawLanes], setScale: [tellRange], setCursor: [hover] },
  };
}

/** Moments in the unit that fits the visible range, so that neighbours differ. */
function labelled(us) {
  const { min, max } = plot?.scales.x ?? { min: 0, max: duration };
  const [unit, name] = max - min > 2e6 ? [1e6, "s"] : max - min > 2e3 ? [1e3, "ms"] : [1, "µs"];
  return `${given(us / unit, 8)} ${name}`;
}

/** The middle of each lane, from the top; of every few lanes where they are many. */
function laneCentres() {
  const every = lanes.length <= 20 ? 1 : Math.ceil(lanes.length / 20);
  return lanes.map((_, index) => lanes.length - index - 0.5).filter((_, index) => index % every === 0);
}

function laneName(centre) {
  const lane = lanes[Math.round(lanes.length - centre - 0.5)];
  return lane.connections === 1 ? `stream ${lane.streams[0]}` : `${lane.streams[0]} + ${count(lane.connections - 1)}`;
}

function drawLanes(chart_) {
  const { ctx, bbox } = chart_;
  const { min, max } = chart_.scales.x;
  const height = bbox.height / lanes.length;
  ctx.save();
  ctx.strokeStyle = colour("hairline");
  lanes.forEach((lane, index) => {
    const top = bbox.top + index * height;
    drawLane(ctx, lane, min, max, { left: bbox.left, top: top + height * 0.12, width: Math.floor(bbox.width), height: height * 0.76 });
  });
  ctx.restore();
}

// --- zoom -----------------------------------------------------------------------------------------------------------

function showTools() {
  const tools = { out: ["−", "Zoom out"], in: ["+", "Zoom in"], left: ["←", "Earlier"], right: ["→", "Later"], all: ["All", "The whole time"] };
  fill(byId("timeline-tools"), ...Object.entries(tools).map(([name, [sign, label]]) =>
    button(sign, () => zoom(name), { "aria-label": label, title: label })));
  byId("timeline-tools").addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in KEYS)) return;
    event.preventDefault();
    zoom(KEYS[event.key][0]);
  });
}

function zoom(how) {
  const { min, max } = plot.scales.x;
  const [middle, width] = [(min + max) / 2, max - min];
  const wanted = {
    in: [middle - width / 4, middle + width / 4],
    out: [middle - width, middle + width],
    left: [min - width / 2, max - width / 2],
    right: [min + width / 2, max + width / 2],
    all: [0, duration],
  }[how];
  plot.setScale("x", within(...wanted));
}

/** The wanted range, kept inside the recording and not too narrow. */
function within(from, to) {
  const width = Math.min(Math.max(to - from, LEAST_US), duration);
  const start = Math.min(Math.max(from, 0), duration - width);
  return { min: start, max: start + width };
}

function tellRange(chart_) {
  const { min, max } = chart_.scales.x;
  byId("timeline-range").textContent = `Shown: ${labelled(min)} to ${labelled(max)}. `;
}

// --- what is there --------------------------------------------------------------------------------------------------

function hover(chart_) {
  const { left, top } = chart_.cursor;
  if (left < 0 || top < 0) return;
  const lane = lanes[Math.min(Math.floor((top / chart_.over.clientHeight) * lanes.length), lanes.length - 1)];
  const { min, max } = chart_.scales.x;
  const index = blockAt(lane, chart_.posToVal(left, "x"), ((max - min) / chart_.over.clientWidth) * 3);
  byId("timeline-hover").textContent = index < 0 ? "" : described(lane, index);
}

function described(lane, index) {
  const spent = PART_NAMES.map((name, part) => [data.parts[name], lane.parts[part][index]])
    .filter(([, us]) => us > 0)
    .map(([name, us]) => `${name} ${formatMs(us / 1000)}`)
    .join(", ");
  if (lane.count) return `${labelled(lane.start[index])}: ${counted(lane.count[index], "exchange")} begin; ${spent}`;
  const text = drawn.statements[lane.statement[index]];
  const what = `${drawn.commands[lane.command[index]]}${text ? `: ${text}` : ""}`;
  return `Frame ${count(lane.frame[index])}, ${spent}. ${what}`;
}

function showLegend() {
  const used = PART_NAMES.filter((name) => drawn.lanes.some((lane) => lane[name]));
  fill(byId("timeline-legend"), ...used.map((name) => make("span", {}, make("span", { class: `swatch part-${name}` }), ` ${data.parts[name]}`)));
}
