/** Over time: the RTT and the response times, and below them how many round trips there were. */

import { byId, data, fill, make } from "./dom.js";
import { POINTER, axis, chart, colour, reading } from "./charts.js";
import { count, counted, formatGivenMs, formatMs } from "./format.js";

const found = data.minutes;

/** Draws both charts, where the recording is long enough to tell. */
export function showMinutes() {
  if (found === null) return;
  const places = { legend: make("div", { class: "legend" }), caption: make("figcaption", { id: "minutes-caption" }) };
  const hosts = ["minutes-ms", "minutes-trips"].map((id) => make("div", { id, role: "img", "aria-labelledby": "minutes-title minutes-caption" }));
  fill(byId("minutes-figure"), places.legend, ...hosts, places.caption);
  const { rows, every_s: every } = found;
  const starts = rows.map(({ start }) => Date.parse(start) / 1000);
  const column = (name) => rows.map((row) => row[name]);
  chart("minutes-ms", 240, options(lines(), (_, at) => at.map(formatGivenMs)), [starts, ...LINES.map(({ name }) => column(name))]);
  chart("minutes-trips", 120, options([{}, bars()], (_, at) => at.map(count)), [starts, column("round_trips")]);
  fill(places.legend, ...LINES.map(key));
  places.caption.textContent = `${formatGivenMs(every * 1000)} each, by the time of the day in UTC. ${most(rows)}`;
}

const LINES = [
  { name: "response_p95_ms", title: "95 % of the responses", stroke: "band-edge" },
  { name: "response_p50_ms", title: "half of them", stroke: "accent" },
  { name: "baseline_ms", title: "the RTT that round trips count with", stroke: "network", dash: [6, 5] },
  { name: "rtt_min_ms", title: "the RTT as it was measured", stroke: "network", dots: true },
];

const lines = () => [{}, ...LINES.map(({ stroke, dash, dots }) => ({
  stroke: () => colour(stroke), width: dots ? 0 : 2, dash, spanGaps: false, pxAlign: 0,
  points: { show: Boolean(dots), size: 6, fill: () => colour(stroke) },
}))];

const bars = () => ({
  paths: uPlot.paths.bars({ size: [1, Infinity], align: 1, gap: 1 }), fill: () => colour("accent-soft"), stroke: () => colour("accent"),
  width: 1, points: { show: false },
});

function options(series, values) {
  return {
    padding: [8, 26, 0, 0],
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "UTC"),
    scales: { x: { time: true, range: extent }, y: { range: (_, __, most) => [0, Math.max(most, 1e-3) * 1.05] } },
    axes: [axis({ values: (_, at) => at.map(clock), space: 80 }), axis({ size: 70, values })],
    series,
    cursor: POINTER,
    hooks: reading(intervalAt),
  };
}

/** The interval under the crosshair. */
function intervalAt(seconds) {
  const { rows, every_s: every } = found;
  const row = rows[Math.floor((seconds - Date.parse(rows[0].start) / 1000) / every)];
  if (!row) return [];
  const times = LINES.filter(({ name }) => row[name] !== null).map(({ name, title }) => `${title}: ${formatMs(row[name])}`);
  return [`${row.start.slice(11, 19)} UTC, ${formatGivenMs(1000 * every)}`, ...times, counted(row.round_trips, "round trip")];
}

/** All intervals, the last one with its whole width. */
const extent = (_, low, high) => [low, high + found.every_s];

const clock = (seconds) => new Date(seconds * 1000).toISOString().slice(11, Number.isInteger(seconds) ? 19 : 23);

const key = ({ title, stroke, dash, dots }) => make("span", {},
  make("i", { class: `line-key line-${stroke} ${dots ? "line-dots" : ""} ${dash ? "line-dashed" : ""}` }), ` ${title}`);

/** When the slowest interval was, and what was sent again. */
function most(rows) {
  const slowest = rows.reduce((worst, row) => (row.response_p95_ms ?? 0) > (worst.response_p95_ms ?? 0) ? row : worst, rows[0]);
  const again = rows.reduce((sum, row) => sum + row.retransmissions, 0);
  const slow = slowest.response_p95_ms === null ? "" : `Slowest: ${formatMs(slowest.response_p95_ms)} at ${slowest.start.slice(11, 19)}. `;
  return `${slow}${again ? `${count(again)} packets were sent again.` : "No packet was sent again."} Below: the round trips.`;
}
