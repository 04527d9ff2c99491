/** Runtimes over the RTT with their ranges, on logarithmic or linear axes: one curve or several, and dots. */

import { button, byId, fill, make } from "./dom.js";
import { POINTER, axis, between, chart, colour, lineAt, logTicks, reach, reading, removeChart } from "./charts.js";
import { formatGivenMs, formatS } from "./format.js";
import { readAt } from "./model.js";

const LEAST_S = 1e-6;
const AXES = { logarithmic: false, linear: true };

/** The seconds of a curve at an RTT. */
export const secondsAt = (curve, rtt, name = "runtime_s") => Math.max(readAt(curve.rtt_ms, curve[name], rtt), LEAST_S);

/**
 * Draws `lines()`, each with its `name`, `stroke`, `edge` and `fill` (colours), `dash`, and a `curve` or none, into the figure
 * `host`, and `dots()` on them. Linear axes reach beyond `focus()`; `more(rtt)` is told beside the runtimes under the
 * crosshair, `choose(linear)` hears of other axes. Returns what draws them again, on the axes that are asked for.
 */
export function curves(host, { lines, dots, focus, choose, height = 330, legend = null, more = () => [], mark = null, caption }) {
  const [first] = lines();
  const [low, high] = [first.curve.rtt_ms[0], first.curve.rtt_ms.at(-1)];
  const within = (rtt) => Math.min(Math.max(rtt, low), high);
  const shown = () => lines().filter(({ curve }) => curve);
  const buttons = Object.entries(AXES).map(([name, linear]) => button(name, () => choose(linear)));
  fill(host, make("div", { class: "controls screen", role: "group", "aria-label": "Axes" }, buttons), legend,
    make("div", { id: "curve", role: "img" }), make("figcaption", { id: "curve-caption" }));
  let [plot, drawn] = [null, null];

  function series() {
    const rtts = between([...new Set(shown().flatMap(({ curve }) => curve.rtt_ms))].sort((a, b) => a - b));
    const of = (curve) => (name) => rtts.map((rtt) => (curve ? secondsAt(curve, rtt, name) : null));
    return [rtts, ...lines().flatMap(({ curve }) => ["pessimistic_s", "optimistic_s", "runtime_s"].map(of(curve)))];
  }

  function options(linear) {
    const end = () => reach(focus(), high);
    const highest = () => Math.max(...shown().map(({ curve }) => secondsAt(curve, end(), "pessimistic_s")), ...dots().map(({ seconds }) => seconds));
    const [rtts, seconds] = [formatGivenMs, (place) => formatGivenMs(1000 * place)].map((write) => (_, places) => places.map(write));
    const line = ({ dash }, name, width) => ({ stroke: () => colour(name), width, dash: dash && (width > 1 ? [6, 5] : [3, 3]), points: { show: false }, pxAlign: 0 });
    return {
      padding: [12, 26, 0, 0],
      scales: linear
        ? { x: { time: false, range: () => [0, end()] }, y: { range: () => [0, highest() * 1.05] } }
        : { x: { time: false, distr: 3, range: [low, high] }, y: { distr: 3, range: extent } },
      axes: [
        axis({ label: "round-trip time", space: 70, values: rtts, ...(linear ? {} : { splits: ({ width }) => logTicks(low, high, width < 480 ? [1] : [1, 3]) }) }),
        axis({ label: "runtime", size: 70, values: seconds, ...(linear ? {} : { splits: ({ scales: { y } }) => logTicks(y.min, y.max) }) }),
      ],
      series: [{}, ...lines().flatMap((each) => [line(each, each.edge, 1), line(each, each.edge, 1), line(each, each.stroke, 2)])],
      bands: lines().map(({ fill: filled }, at) => ({ series: [3 * at + 1, 3 * at + 2], fill: filled })),
      cursor: POINTER,
      hooks: { draw: [drawMarks], ...reading((there) => told(within(there))) },
    };
  }

  /** From the least to the most of all that is drawn. */
  function extent() {
    const drawn = shown().flatMap(({ curve }) => [...curve.optimistic_s, ...curve.pessimistic_s]).concat(dots().map(({ seconds }) => seconds));
    const positive = drawn.filter((each) => each > LEAST_S);
    return positive.length ? [Math.min(...positive) / 1.3, Math.max(...positive) * 1.3] : [LEAST_S, 1];
  }

  function told(rtt) {
    const each = shown().map(({ name, curve }) => {
      const [runtime, ...range] = ["runtime_s", "optimistic_s", "pessimistic_s"].map((column) => formatS(secondsAt(curve, rtt, column)));
      return `${name}${runtime} (${range.join(" to ")})`;
    });
    return [formatGivenMs(Number(rtt.toPrecision(3))), ...each, ...more(rtt)];
  }

  function drawMarks(drawing) {
    if (mark) lineAt(drawing, mark(), "quiet", { dash: [4, 6] });
    const { ctx, valToPos } = drawing;
    ctx.save();
    ctx.setLineDash([]);
    for (const { rtt, seconds, inside, outside } of dots()) {
      ctx.beginPath();
      ctx.arc(valToPos(rtt, "x", true), valToPos(Math.max(seconds, LEAST_S), "y", true), 5.5 * devicePixelRatio, 0, 2 * Math.PI);
      [ctx.fillStyle, ctx.strokeStyle, ctx.lineWidth] = [colour(inside), colour(outside), 2 * devicePixelRatio];
      ctx.fill();
      ctx.stroke();
    }
    ctx.restore();
  }

  return (linear, clicked) => {
    if (linear === drawn) return void plot.setData(series());
    if (plot) removeChart(plot);
    [plot, drawn] = [chart("curve", height, options(linear), series()), linear];
    if (clicked) plot.over.addEventListener("click", ({ offsetX }) => clicked(Number(within(plot.posToVal(offsetX, "x")).toPrecision(3))));
    buttons.forEach((each, at) => each.setAttribute("aria-pressed", Boolean(at) === linear));
    fill(byId("curve-caption"), `Runtime over round-trip time, both ${linear ? "linear" : "logarithmic"}. `, caption());
  };
}
