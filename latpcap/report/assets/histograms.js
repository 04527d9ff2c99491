/** How often which time occurs: bins of equal width on a logarithmic scale. */

import { byId, data, fill, make } from "./dom.js";
import { POINTER, axis, chart, colour, reading } from "./charts.js";
import { counted, formatGivenMs, formatMs, percent } from "./format.js";

const { bins_per_decade: perDecade, response, delta } = data.histograms;
const baseline = data.summary.baseline_rtt_ms;

/** Draws both histograms; the baseline RTT is a line in that of the responses. */
export function showHistograms() {
  show("response", "Response times", response, "exchange", baseline);
  show("delta", "Inter-query deltas", delta, "delta", null);
}

function show(name, label, histogram, word, line) {
  const host = byId(`${name}-figure`);
  if (!host || histogram.total === 0) return;
  fill(host, make("div", { id: `${name}-chart`, role: "img", "aria-label": `${label}; their sentence below has the figures.` }));
  chart(`${name}-chart`, 220, options(histogram, word, line), [edges(histogram), histogram.counts]);
}

/** The lower edges of the bins as powers of ten of a millisecond. */
const edges = ({ first, counts }) => counts.map((_, bin) => (first + bin) / perDecade);

function options(histogram, word, line) {
  const [low, high] = range(histogram, line);
  return {
    padding: [8, 26, 0, 0],
    scales: { x: { time: false, range: [low, high] }, y: { range: (_, __, most) => [0, most * 1.05] } },
    axes: [axis({ splits: () => powers(low, high), values: (_, at) => at.map((power) => formatGivenMs(10 ** power)) }), axis({ size: 64 })],
    series: [{}, { paths: uPlot.paths.bars({ size: [1, Infinity], align: 1, gap: 1 }), fill: () => colour("accent-soft"), stroke: () => colour("accent"), width: 1, points: { show: false } }],
    cursor: POINTER,
    hooks: { draw: line === null ? [] : [(plot) => drawLine(plot, Math.log10(line))], ...reading((power) => binAt(histogram, word, power)) },
  };
}

/** The bin under the crosshair: from when to when, and how many. */
function binAt({ first, counts, total }, word, power) {
  const bin = Math.floor(power * perDecade + 1e-9) - first;
  if (!counts[bin]) return [];
  const [from, to] = [bin, bin + 1].map((edge) => formatMs(10 ** ((first + edge) / perDecade)));
  return [`${from} to ${to}`, `${counted(counts[bin], word)}, ${percent(counts[bin] / total)}`];
}

/** Whole powers of ten around the bins and the line. */
function range({ first, counts }, line) {
  const ends = [first / perDecade, (first + counts.length) / perDecade, ...(line ? [Math.log10(line)] : [])];
  return [Math.floor(Math.min(...ends) + 1e-9), Math.ceil(Math.max(...ends) - 1e-9)];
}

const powers = (low, high) => Array.from({ length: high - low + 1 }, (_, index) => low + index);

function drawLine(plot, power) {
  const { ctx, bbox } = plot;
  const x = plot.valToPos(power, "x", true);
  ctx.save();
  ctx.strokeStyle = colour("network");
  ctx.lineWidth = 2 * devicePixelRatio;
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
  ctx.restore();
}
