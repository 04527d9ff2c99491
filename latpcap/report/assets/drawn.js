/** The charts of sections: lines, dots and bars over one axis, a panel for each axis of their values. */

import { byId, data, fill, make } from "./dom.js";
import { POINTER, axis, chart, colour, lineAt, reading } from "./charts.js";
import { count, counted, formatGivenMs, formatMs, percent } from "./format.js";

const [HEIGHT, LOWER] = [230, 120];
const TELL = { ms: formatMs, count, share: percent };
const TICK = { ms: formatGivenMs, count, share: percent };

/** Draws each in its figure. */
export function showCharts() {
  for (const each of data.charts) {
    const told = each.lines.filter(({ values }) => values.some(Boolean));
    if (told.length > 0) show(byId(`${each.name}-figure`), each, told);
  }
}

function show(host, drawn, told) {
  const panels = [...new Set(told.map(({ axis: of }) => of))].map((one) => told.filter(({ axis: of }) => of === one));
  const legend = told.length > 1 ? make("div", { class: "legend" }, told.map(key)) : null;
  const hosts = panels.map((_, at) => make("div", { id: `${drawn.name}-${at}`, role: "img", "aria-label": `${drawn.title}: ${panels[at].map(({ name }) => name).join(", ")}.` }));
  fill(host, legend, ...hosts);
  const places = drawn.places.map(place(drawn));
  panels.forEach((lines, at) => {
    const columns = lines.map(({ values }) => places.map((_, row) => values[row] ?? null));
    chart(hosts[at].id, at ? LOWER : HEIGHT, options(drawn, places, lines), [places, ...columns]);
  });
}

const key = ({ name, colour: stroke, style }) => make("span", {}, make("i", { class: `line-key line-${stroke} line-${style}` }), ` ${name}`);

/** Where a place stands on the axis: seconds of a time, powers of ten of what is logarithmic. */
const place = ({ kind, is_log: log }) => (value) => (kind === "time" ? Date.parse(value) / 1000 : log ? Math.log10(value) : value);

function options(drawn, places, lines) {
  const { kind, is_log: log, mark } = drawn;
  const at = mark === null ? [] : [place(drawn)(mark)];
  const ends = [Math.min(places[0], ...at), Math.max(places.at(-1), ...at)];
  const [low, high] = log ? [Math.floor(ends[0] + 1e-9), Math.ceil(ends[1] - 1e-9)] : ends;
  const powers = () => Array.from({ length: high - low + 1 }, (_, step) => low + step);
  const below = kind === "time" ? { values: (_, ticks) => ticks.map(clock), space: 80 } : { splits: powers, values: (_, ticks) => ticks.map((power) => formatGivenMs(10 ** power)) };
  return {
    padding: [8, 26, 0, 0],
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "UTC"),
    scales: { x: { time: kind === "time", range: [low, high] }, y: { range: (_, __, most) => [0, Math.max(most, 1e-3) * 1.05] } },
    axes: [axis(below), axis({ size: 70, values: (_, ticks) => ticks.map(TICK[lines[0].kind]) })],
    series: [{}, ...lines.map(series)],
    cursor: POINTER,
    hooks: { draw: at.map((x) => (plot) => lineAt(plot, x, "network", { width: 2 })), ...reading((x) => told(drawn, places, lines, x)) },
  };
}

function series({ colour: name, style }) {
  const stroke = () => colour(name);
  if (style === "bars") return { paths: uPlot.paths.bars({ size: [1, Infinity], align: 1, gap: 1 }), fill: () => colour(`${name}-soft`), stroke, width: 1, points: { show: false } };
  const dots = style === "dots";
  return { stroke, width: dots ? 0 : 2, dash: style === "dashed" ? [6, 5] : undefined, spanGaps: false, pxAlign: 0, points: { show: dots, size: 6, fill: stroke } };
}

/** What lies under the crosshair: from which place to which, and the values there. */
function told(drawn, places, lines, x) {
  const row = places.findIndex((each, at) => each <= x && x < places[at + 1]);
  if (row < 0) return [];
  const [from, to] = [drawn.places[row], drawn.places[row + 1]];
  const where = drawn.kind === "time" ? `${from.slice(11, 19)} UTC, ${formatGivenMs(1000 * (places[row + 1] - places[row]))}` : `${formatMs(from)} to ${formatMs(to)}`;
  const values = lines.filter(({ values: all }) => all[row] !== null).map(({ name, kind, style, values: all }) => style === "bars"
    ? `${counted(all[row], name.slice(0, -1))}, ${percent(all[row] / all.reduce((sum, each) => sum + each, 0))}`
    : `${name}: ${TELL[kind](all[row])}`);
  return [where, ...values];
}

const clock = (seconds) => new Date(seconds * 1000).toISOString().slice(11, Number.isInteger(seconds) ? 19 : 23);
