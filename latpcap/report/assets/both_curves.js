/** The runtime over the RTT of both captures, each with its range, as a chart and as a table. */

import { button, byId, data, fill, make } from "./dom.js";
import { POINTER, axis, between, chart, colour, logTicks, reach, reading, removeChart } from "./charts.js";
import { formatGivenMs, formatS, significant } from "./format.js";
import { readAt } from "./model.js";

const { sides } = data;
const curves = sides.map(({ curve }) => curve);
const told = data.told_rtt_ms;
const LEAST_S = 1e-6;
const AXES = { logarithmic: false, linear: true };
const NAMES = ["before", "after"];
const COLOURS = ["think", "accent"];
const BAND = "2e"; // how opaque a band is, so that both are seen where they overlap

/** Shows chart and table; nothing where one of the baselines is unknown. */
export function showCurves() {
  const unknown = curves.some((curve) => curve === null);
  if (unknown || !byId("curves-figure")) return;
  fill(byId("curves-figure"), make("div", { class: "controls screen", id: "curve-axes", role: "group", "aria-label": "Axes" }),
    make("div", { class: "legend", id: "curve-legend" }), make("div", { id: "curve", role: "img" }), make("figcaption", { id: "curve-caption" }));
  const buttons = Object.entries(AXES).map(([name, linear]) => button(name, () => choose(linear)));
  fill(byId("curve-axes"), ...buttons);
  fill(byId("curve-legend"), ...NAMES.map((name, at) => make("span", {}, make("i", { class: `line-key line-${COLOURS[at]}` }), ` ${name}`)),
    make("span", {}, make("i", { class: "key measured-key" }), " measured"));
  let plot = null;
  function choose(linear) {
    if (plot) removeChart(plot);
    plot = chart("curve", 340, options(linear), series());
    buttons.forEach((each, at) => each.setAttribute("aria-pressed", Boolean(at) === linear));
    byId("curve-caption").textContent = `Runtime over round-trip time, both ${linear ? "linear" : "logarithmic"}; the bands are the ranges from optimistic to pessimistic.`;
  }
  choose(false);
  byId("curve").setAttribute("aria-label", "Runtime over round-trip time before and after. The table below has the values.");
}

const at = (side, rtt, name = "runtime_s") => Math.max(readAt(curves[side].rtt_ms, curves[side][name], rtt), LEAST_S);

function series() {
  const rtts = between([...new Set(curves.flatMap((curve) => curve.rtt_ms))].sort((a, b) => a - b));
  const drawn = (side) => ["pessimistic_s", "optimistic_s", "runtime_s"].map((name) => rtts.map((rtt) => at(side, rtt, name)));
  return [rtts, ...drawn(0), ...drawn(1)];
}

function options(linear) {
  const line = (side, width) => ({ stroke: () => colour(COLOURS[side]), width, points: { show: false }, pxAlign: 0 });
  const [low, high] = [curves[0].rtt_ms[0], curves[0].rtt_ms.at(-1)];
  const end = reach(Math.max(told ?? 0, ...sides.map(({ baseline_rtt_ms: baseline }) => baseline)), high);
  const seconds = (_, places) => places.map((place) => formatGivenMs(1000 * place));
  return {
    padding: [12, 26, 0, 0],
    scales: linear
      ? { x: { time: false, range: [0, end] }, y: { range: [0, 1.05 * Math.max(at(0, end, "pessimistic_s"), at(1, end, "pessimistic_s"))] } }
      : { x: { time: false, distr: 3, range: [low, high] }, y: { distr: 3, range: (_, least, most) => [least / 1.3, most * 1.3] } },
    axes: [
      axis({ label: "round-trip time", space: 70, values: (_, places) => places.map(formatGivenMs), ...(linear ? {} : { splits: (plot) => logTicks(low, high, plot.width < 480 ? [1] : [1, 3]) }) }),
      axis({ label: "runtime", size: 70, values: seconds, ...(linear ? {} : { splits: (plot) => logTicks(plot.scales.y.min, plot.scales.y.max) }) }),
    ],
    series: [{}, line(0, 0), line(0, 0), line(0, 2), line(1, 0), line(1, 0), line(1, 2)],
    bands: [0, 1].map((side) => ({ series: [3 * side + 1, 3 * side + 2], fill: () => colour(COLOURS[side]) + BAND })),
    cursor: POINTER,
    hooks: { draw: [drawMeasured], ...reading((rtt) => valuesAt(Math.min(Math.max(rtt, low), high))) },
  };
}

function valuesAt(rtt) {
  const each = NAMES.map((name, side) => `${name} ${formatS(at(side, rtt))} (${formatS(at(side, rtt, "optimistic_s"))} to ${formatS(at(side, rtt, "pessimistic_s"))})`);
  return [formatGivenMs(Number(rtt.toPrecision(3))), ...each, `× ${significant(at(1, rtt) / at(0, rtt))}`];
}

function drawMeasured(plot) {
  const { ctx } = plot;
  ctx.save();
  sides.forEach((summary, side) => {
    ctx.beginPath();
    ctx.arc(plot.valToPos(summary.baseline_rtt_ms, "x", true), plot.valToPos(Math.max(summary.runtime_s, LEAST_S), "y", true), 5 * devicePixelRatio, 0, 2 * Math.PI);
    ctx.fillStyle = colour("paper");
    ctx.strokeStyle = colour(COLOURS[side]);
    ctx.lineWidth = 2 * devicePixelRatio;
    ctx.fill();
    ctx.stroke();
  });
  ctx.restore();
}
