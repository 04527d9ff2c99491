/** What the charts share: colours from the style sheet, axes, and their size on the screen and on paper. */

import { byId, fill, make } from "./dom.js";

const charts = [];
let shown = 1;

/** A crosshair that only points: nothing is zoomed by it, and no point is marked. */
export const POINTER = { drag: { x: false, y: false }, points: { show: false }, y: false };

/** The colour of a custom property such as `network`, as it stands now. */
export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** The canvas font at `size` pixels. */
const font = (size = 12) => `${size}px system-ui, sans-serif`;

/** An axis in the page's colours. */
export function axis(more = {}) {
  return {
    stroke: () => colour("quiet"),
    grid: { stroke: () => colour("hairline"), width: 1 },
    ticks: { stroke: () => colour("hairline"), width: 1, size: 4 },
    font: font(),
    labelFont: font(),
    labelSize: 18,
    labelGap: 2,
    size: 30,
    filter: (_, splits) => splits,
    ...more,
  };
}

/** Draws a chart as wide as the element `id`, and keeps it so. */
export function chart(id, height, options, series) {
  const host = byId(id);
  const plot = new uPlot({ width: widthOf(host), height, legend: { show: false }, ...options }, series, host);
  const sized = new ResizeObserver(() => fit({ host, plot, height }));
  charts.push({ host, plot, height, sized });
  sized.observe(host);
  return plot;
}

/** Takes a chart away, so that another one can stand in its place. */
export function removeChart(plot) {
  const place = charts.findIndex((each) => each.plot === plot);
  const [{ sized }] = charts.splice(place, 1);
  sized.disconnect();
  plot.destroy();
}

/** Hooks that show beside the crosshair what `linesAt(value of x, plot)` says: the values there, or nothing. */
export function reading(linesAt) {
  const box = make("div", { class: "reading" });
  return {
    init: [(plot) => plot.over.append(box)],
    setCursor: [(plot) => {
      const { left } = plot.cursor;
      const lines = left >= 0 ? linesAt(plot.posToVal(left, "x"), plot) : [];
      box.hidden = lines.length === 0;
      fill(box, ...lines.map((line) => make("div", {}, line)));
      const room = plot.over.clientWidth;
      box.style.left = left < room / 2 ? `${left + 10}px` : "auto";
      box.style.right = left < room / 2 ? "auto" : `${room - left + 10}px`;
    }],
  };
}

/** A line down the whole of a chart, at a value of its axis. */
export function lineAt({ ctx, bbox, valToPos }, value, name, { width = 1, dash = [] }) {
  const x = valToPos(value, "x", true);
  ctx.save();
  [ctx.strokeStyle, ctx.lineWidth] = [colour(name), width * devicePixelRatio];
  ctx.setLineDash(dash);
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
  ctx.restore();
}

/** Draws all charts again, for other colours. */
export function redrawCharts() {
  for (const { plot } of charts) plot.redraw(true, true);
}

/** Gives all charts the width of their places, and this part of their height. */
export function fitCharts(part) {
  shown = part;
  charts.forEach(fit);
}

function fit({ host, plot, height }) {
  const size = { width: widthOf(host), height: Math.round(height * shown) };
  if (size.width !== plot.width || size.height !== plot.height) plot.setSize(size);
}

const widthOf = (host) => Math.max(Math.floor(host.clientWidth), 200);

/** With points between these: a straight line is bent on logarithmic axes. */
export const between = (values) => values.flatMap((value, at) =>
  at + 1 < values.length ? [0, 0.2, 0.4, 0.6, 0.8].map((part) => value * (values[at + 1] / value) ** part) : [value]);

/** Where a linear axis ends: a round number beyond the value of interest, but not beyond `most`. */
export function reach(value, most) {
  const least = 1.5 * Math.max(value, 0.1);
  const power = 10 ** Math.floor(Math.log10(least));
  return Math.min([1, 2, 3, 5, 10].map((step) => step * power).find((end) => end >= least), most);
}

/** The powers of ten between two values, times `steps`: the fewer, the more decades there are. */
export function logTicks(low, high, steps = high / low > 2000 ? [1] : high / low > 100 ? [1, 3] : [1, 2, 5]) {
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
    ticks.push(...steps.map((step) => Number(`${step}e${power}`)).filter((tick) => tick >= low && tick <= high));
  }
  return ticks.length > 1 ? ticks : [low, high];
}
