/** Runtime over RTT, both logarithmic: the range, the measured point, the chosen one, and the curve with the fixes. */

import { byId, data, fill, make } from "./dom.js";
import { axis, chart, colour, font, logTicks } from "./charts.js";
import { formatGivenMs, formatMs, formatS, significant } from "./format.js";
import { isProjected, jobWith, projectAt, readAt } from "./model.js";
import { chooseRtt, follow, state } from "./state.js";

const curve = data.jobs[0]?.curve;
const baseline = data.analysis.summary.baseline_rtt_ms;
const measured = data.analysis.summary.runtime_s;
const LEAST_S = 1e-6;

/** Draws the curve and the table beside it, and follows the reader's choice. */
export function showCurve() {
  if (!isProjected(data)) return;
  const plot = chart("curve", 330, options(), series());
  follow(() => {
    plot.setData(series());
    byId("curve").setAttribute("aria-label", inWords());
    showLadder();
  });
  plot.over.addEventListener("click", (event) => chooseRtt(clicked(plot, event)));
  fill(byId("curve-caption"), "Runtime over round-trip time, both logarithmic. ",
    make("span", { class: "key measured-key" }), ` measured: ${formatMs(baseline)}, ${formatS(measured)}. `,
    make("span", { class: "key chosen-key" }), " chosen. The band is the range from optimistic to pessimistic; dashed: with the chosen fixes.");
}

function clicked(plot, event) {
  const rtt = plot.posToVal(event.offsetX, "x");
  return Number(Math.min(Math.max(rtt, curve.rtt_ms[0]), curve.rtt_ms.at(-1)).toPrecision(3));
}

function series() {
  const shown = (seconds) => Math.max(seconds, LEAST_S);
  const fixed = jobWith(data, state.fixes).curve;
  const rtts = between([...new Set([...curve.rtt_ms, ...fixed.rtt_ms])].sort((a, b) => a - b));
  const drawn = (from, name) => rtts.map((rtt) => shown(readAt(from.rtt_ms, from[name], rtt)));
  return [
    rtts,
    drawn(curve, "pessimistic_s"),
    drawn(curve, "optimistic_s"),
    drawn(curve, "runtime_s"),
    state.fixes.size ? drawn(fixed, "runtime_s") : rtts.map(() => null),
  ];
}

/** With points between these: a straight line is bent on logarithmic axes. */
const between = (rtts) => rtts.flatMap((rtt, at) =>
  at + 1 < rtts.length ? [0, 0.2, 0.4, 0.6, 0.8].map((part) => rtt * (rtts[at + 1] / rtt) ** part) : [rtt]);

function options() {
  const line = (name, more = {}) => ({ stroke: () => colour(name), width: 1, points: { show: false }, pxAlign: 0, ...more });
  return {
    padding: [12, 26, 0, 0],
    scales: { x: { time: false, distr: 3, range: [curve.rtt_ms[0], curve.rtt_ms.at(-1)] }, y: { distr: 3, range: verticalRange } },
    axes: [
      axis({ label: "round-trip time", splits: decades, values: (_, at) => at.map(formatGivenMs) }),
      axis({ label: "runtime", size: 70, splits: (plot) => logTicks(plot.scales.y.min, plot.scales.y.max), values: (_, at) => at.map(inSeconds) }),
    ],
    series: [{}, line("band-edge"), line("band-edge"), line("accent", { width: 2 }), line("accent", { width: 2, dash: [6, 5] })],
    bands: [{ series: [1, 2], fill: () => colour("band") }],
    cursor: { drag: { x: false, y: false }, points: { show: false }, y: false },
    hooks: { draw: [drawPoints] },
  };
}

/** Powers of ten, and three times these where there is room. */
const decades = (plot) => logTicks(curve.rtt_ms[0], curve.rtt_ms.at(-1), plot.width < 480 ? [1] : [1, 3]);

const inSeconds = (seconds) => formatGivenMs(1000 * seconds);

function verticalRange(plot, low, high) {
  const values = [measured, ...curve.optimistic_s, ...curve.pessimistic_s, ...plot.data[4].filter((each) => each !== null)];
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
  dot(plot, baseline, measured, "paper", "ink");
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
  return `Runtime over round-trip time: measured ${formatS(measured)} at ${formatMs(baseline)}; ` +
    `${formatS(there.runtime)} at ${formatGivenMs(state.rtt)}. The table below has the values.`;
}

/** The runtimes at the RTTs of the analysis, as a table. */
function showLadder() {
  const head = ["RTT", "runtime s", "× now", "optimistic s", "pessimistic s", "statements/s", ...(state.fixes.size ? ["with the fixes s", "range s"] : [])];
  const rows = data.analysis.projection.points.map(({ rtt_ms: rtt }) => {
    const there = projectAt(data.jobs[0], rtt);
    return row(formatGivenMs(rtt), there, state.fixes.size ? fixedCells(rtt) : []);
  });
  const { runtime_s: runtime, throughput_per_s: throughput } = data.analysis.projection.now;
  const now = row(`now: ${formatMs(baseline)}`, { runtime, optimistic: runtime, pessimistic: runtime, throughput }, state.fixes.size ? ["", ""] : []);
  fill(byId("ladder"), make("table", { class: "numbers" },
    make("caption", { id: "ladder-title" }, "At other round-trip times"),
    make("thead", {}, make("tr", {}, head.map((title) => make("th", { scope: "col" }, title)))),
    make("tbody", {}, [now, ...rows])));
}

function row(title, there, fixed) {
  const factor = measured > 0 ? there.runtime / measured : null;
  const figures = [there.runtime, factor, there.optimistic, there.pessimistic, there.throughput];
  const cells = figures.map((figure) => (figure === null ? "" : significant(figure)));
  return make("tr", {}, make("th", { scope: "row" }, title), [...cells, ...fixed].map((cell) => make("td", {}, cell)));
}

function fixedCells(rtt) {
  const fixed = projectAt(jobWith(data, state.fixes), rtt);
  return [significant(fixed.runtime), `${significant(fixed.optimistic)} to ${significant(fixed.pessimistic)}`];
}
