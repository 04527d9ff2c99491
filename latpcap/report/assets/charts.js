/** What the charts share: colours from the style sheet, axes, and their size on the screen and on paper. */

import { byId } from "./dom.js";

const charts = [];

/** The colour of a custom property such as `network`, as it stands now. */
export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** The canvas font at `size` pixels. */
export const font = (size = 12) => `${size}px system-ui, sans-serif`;

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
  charts.push({ host, plot });
  new ResizeObserver(() => fit({ host, plot })).observe(host);
  return plot;
}

/** Draws all charts again, for other colours. */
export function redrawCharts() {
  for (const { plot } of charts) plot.redraw();
}

/** Gives all charts the width of their places. */
export function fitCharts() {
  charts.forEach(fit);
}

function fit({ host, plot }) {
  if (widthOf(host) !== plot.width) plot.setSize({ width: widthOf(host), height: plot.height });
}

const widthOf = (host) => Math.max(Math.floor(host.clientWidth), 200);

/** The powers of ten between two values, times `steps`: the fewer, the more decades there are. */
export function logTicks(low, high, steps = high / low > 2000 ? [1] : high / low > 100 ? [1, 3] : [1, 2, 5]) {
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
    ticks.push(...steps.map((step) => Number(`${step}e${power}`)).filter((tick) => tick >= low && tick <= high));
  }
  return ticks.length > 1 ? ticks : [low, high];
}
