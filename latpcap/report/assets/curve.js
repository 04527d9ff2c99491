/** Runtime over RTT on logarithmic or linear axes: the range, the measured point, the chosen one, the same with the fixes. */

import { button, byId, data, fill, make, tableOf } from "./dom.js";
import { POINTER, axis, between, chart, colour, logTicks, reach, reading, removeChart } from "./charts.js";
import { formatGivenMs, formatMs, formatS, significant } from "./format.js";
import { isProjected, jobWith, projectAt, readAt } from "./model.js";
import { chooseAxes, chooseRtt, follow, state } from "./state.js";
import { showTable } from "./table.js";

const curve = data.jobs[0]?.curve;
const baseline = data.moving.measured_ms;
const measured = data.summary.runtime_s;
const ladder = document.querySelector("#elsewhere .scroller");
const LEAST_S = 1e-6;
const AXES = { logarithmic: false, linear: true };

/** Draws the curve and the table beside it, and follows the reader's choice. */
export function showCurve() {
  if (!isProjected(data)) return;
  ladder.id = "ladder";
  const buttons = Object.entries(AXES).map(([name, linear]) => button(name, () => chooseAxes(linear)));
  fill(byId("curve-axes"), ...buttons);
  let [plot, drawn] = [null, null];
  follow(({ linear }) => {
    if (linear === drawn) {
      plot.setData(series());
    } else {
      if (plot) removeChart(plot);
      [plot, drawn] = [draw(linear), linear];
      buttons.forEach((each, at) => each.setAttribute("aria-pressed", Boolean(at) === linear));
      tellCaption(linear);
    }
    byId("curve").setAttribute("aria-label", inWords());
    showLadder();
  });
}

function draw(linear) {
  const plot = chart("curve", 330, options(linear), series());
  plot.over.addEventListener("click", (event) => chooseRtt(Number(within(plot.posToVal(event.offsetX, "x")).toPrecision(3))));
  return plot;
}

function tellCaption(linear) {
  fill(byId("curve-caption"), `Runtime over round-trip time, both ${linear ? "linear" : "logarithmic"}. `,
    ...(baseline === null ? [] : [make("span", { class: "key measured-key" }), ` measured: ${formatMs(baseline)}, ${formatS(measured)}. `]),
    make("span", { class: "key chosen-key" }), " chosen. The bands are the ranges from optimistic to pessimistic; dashed: with the chosen fixes.");
}

const within = (rtt) => Math.min(Math.max(rtt, curve.rtt_ms[0]), curve.rtt_ms.at(-1));

function series() {
  const shown = (seconds) => Math.max(seconds, LEAST_S);
  const fixed = jobWith(data, state.fixes).curve;
  const rtts = between([...new Set([...curve.rtt_ms, ...fixed.rtt_ms])].sort((a, b) => a - b));
  const drawn = (from, name) => rtts.map((rtt) => shown(readAt(from.rtt_ms, from[name], rtt)));
  const each = (from) => ["pessimistic_s", "optimistic_s", "runtime_s"].map((name) => drawn(from, name));
  const nothing = rtts.map(() => null);
  return [rtts, ...each(curve), ...(state.fixes.size ? each(fixed) : [nothing, nothing, nothing])];
}

function options(linear) {
  const line = (name, more = {}) => ({ stroke: () => colour(name), width: 1, points: { show: false }, pxAlign: 0, ...more });
  return {
    padding: [12, 26, 0, 0],
    ...(linear ? linearAxes() : logarithmicAxes()),
    series: [
      ...[{}, line("band-edge"), line("band-edge"), line("accent", { width: 2 })],
      ...[line("band-edge", { dash: [3, 3] }), line("band-edge", { dash: [3, 3] }), line("accent", { width: 2, dash: [6, 5] })],
    ],
    bands: [[1, 2], [4, 5]].map((edges) => ({ series: edges, fill: () => colour("band") })),
    cursor: POINTER,
    hooks: { draw: [drawPoints], ...reading(valuesAt) },
  };
}

function logarithmicAxes() {
  return {
    scales: { x: { time: false, distr: 3, range: [curve.rtt_ms[0], curve.rtt_ms.at(-1)] }, y: { distr: 3, range: verticalRange } },
    axes: [
      axis({ label: "round-trip time", splits: decades, values: (_, at) => at.map(formatGivenMs) }),
      axis({ label: "runtime", size: 70, splits: (plot) => logTicks(plot.scales.y.min, plot.scales.y.max), values: (_, at) => at.map(inSeconds) }),
    ],
  };
}

function linearAxes() {
  return {
    scales: { x: { time: false, range: () => [0, end()] }, y: { range: () => [0, highestTo(end()) * 1.05] } },
    axes: [
      axis({ label: "round-trip time", space: 70, values: (_, at) => at.map(formatGivenMs) }),
      axis({ label: "runtime", size: 70, values: (_, at) => at.map(inSeconds) }),
    ],
  };
}

/** Where the linear axis ends. */
const end = () => reach(Math.max(state.rtt, baseline), curve.rtt_ms.at(-1));

const highestTo = (rtt) => Math.max(readAt(curve.rtt_ms, curve.pessimistic_s, rtt), measured, LEAST_S);

/** The runtimes under the crosshair, with their ranges. */
function valuesAt(there) {
  const rtt = within(there);
  const told = (name, job) => {
    const { runtime, optimistic, pessimistic } = projectAt(job, rtt);
    return `${name}${formatS(runtime)} (${formatS(optimistic)} to ${formatS(pessimistic)})`;
  };
  const fixed = state.fixes.size ? [told("with the fixes ", jobWith(data, state.fixes))] : [];
  return [formatGivenMs(Number(rtt.toPrecision(3))), told("", data.jobs[0]), ...fixed];
}

/** Powers of ten, and three times these where there is room. */
const decades = (plot) => logTicks(curve.rtt_ms[0], curve.rtt_ms.at(-1), plot.width < 480 ? [1] : [1, 3]);

const inSeconds = (seconds) => formatGivenMs(1000 * seconds);

function verticalRange(plot, low, high) {
  const values = [measured, ...curve.optimistic_s, ...curve.pessimistic_s, ...[4, 5].flatMap((edge) => plot.data[edge].filter((each) => each !== null))];
  const positive = values.filter((each) => each > LEAST_S);
  if (positive.length === 0) return [LEAST_S, 1];
  return [Math.min(...positive) / 1.3, Math.max(...positive) * 1.3];
}

function drawPoints(plot) {
  const { ctx } = plot;
  const chosen = projectAt(jobWith(data, state.fixes), state.rtt).runtime;
  const x = plot.valToPos(state.rtt, "x", true);
  ctx.save();
  ctx.strokeStyle = colour("quiet");
  ctx.setLineDash([4, 6]);
  ctx.beginPath();
  ctx.moveTo(x, plot.bbox.top);
  ctx.lineTo(x, plot.bbox.top + plot.bbox.height);
  ctx.stroke();
  ctx.setLineDash([]);
  if (baseline !== null) dot(plot, baseline, measured, "paper", "ink");
  dot(plot, state.rtt, chosen, "accent", "paper");
  ctx.restore();
}

function dot(plot, rtt, seconds, inside, outside) {
  const { ctx } = plot;
  ctx.beginPath();
  ctx.arc(plot.valToPos(rtt, "x", true), plot.valToPos(Math.max(seconds, LEAST_S), "y", true), 5.5 * devicePixelRatio, 0, 2 * Math.PI);
  ctx.fillStyle = colour(inside);
  ctx.strokeStyle = colour(outside);
  ctx.lineWidth = 2 * devicePixelRatio;
  ctx.fill();
  ctx.stroke();
}

function inWords() {
  const there = projectAt(jobWith(data, state.fixes), state.rtt);
  const here = baseline === null ? "" : ` at ${formatMs(baseline)}`;
  return `Runtime over round-trip time: measured ${formatS(measured)}${here}; ` +
    `${formatS(there.runtime)} at ${formatGivenMs(state.rtt)}. The table below has the values.`;
}

/** The runtimes at the RTTs of the analysis, as a table. */
function showLadder() {
  const { now, points } = data.projection;
  const limited = points.some(({ method }) => method !== points[0].method);
  const [how, fixed] = [(text) => (limited ? [text] : []), (cells) => (state.fixes.size ? cells : [])];
  const titles = ["RTT", "runtime s", "× now", "optimistic s", "pessimistic s", "statements/s", ...how("how"), ...fixed(["with the fixes s", "range s"])];
  const here = { runtime: now.runtime_s, optimistic: now.runtime_s, pessimistic: now.runtime_s, throughput: now.throughput_per_s };
  const rows = points.map(({ rtt_ms: rtt, method }) =>
    [formatGivenMs(rtt), ...figures(projectAt(data.jobs[0], rtt)), ...how(method), ...fixed(fixedCells(rtt))]);
  rows.unshift([baseline === null ? "now" : `now: ${formatMs(baseline)}`, ...figures(here), ...how("observed"), ...fixed(["", ""])]);
  showTable(ladder, tableOf("At other round-trip times", titles, rows));
}

function figures({ runtime, optimistic, pessimistic, throughput }) {
  const factor = measured > 0 ? runtime / measured : null;
  return [runtime, factor, optimistic, pessimistic, throughput].map((figure) => (figure === null ? "" : significant(figure)));
}

function fixedCells(rtt) {
  const { runtime, optimistic, pessimistic } = projectAt(jobWith(data, state.fixes), rtt);
  return [significant(runtime), `${significant(optimistic)} to ${significant(pessimistic)}`];
}
