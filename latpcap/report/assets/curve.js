/** Runtime over RTT: the range, the measured point, the chosen one, the same with the fixes; and the table below it. */

import { byId, data, make, tableOf } from "./dom.js";
import { colour } from "./charts.js";
import { curves } from "./curves.js";
import { formatGivenMs, formatMs, formatS, significant } from "./format.js";
import { isProjected, jobWith, projectAt } from "./model.js";
import { chooseAxes, chooseRtt, follow, state } from "./state.js";
import { showTable } from "./table.js";

const baseline = data.moving?.measured_ms ?? null;
const measured = data.summary?.runtime_s;
const ladder = document.querySelector("#elsewhere .scroller");

/** Draws the curve and the table, and follows the reader's choice. */
export function showCurve() {
  if (!isProjected(data)) return;
  ladder.id = "ladder";
  const looks = { stroke: "accent", edge: "band-edge", fill: () => colour("band") };
  const draw = curves({
    lines: () => [
      { ...looks, name: "", curve: data.jobs[0].curve },
      { ...looks, name: "with the fixes ", dash: true, curve: state.fixes.size ? jobWith(data, state.fixes).curve : null },
    ],
    dots: () => [
      ...(baseline === null ? [] : [{ rtt: baseline, seconds: measured, inside: "paper", outside: "ink" }]),
      { rtt: state.rtt, seconds: projectAt(jobWith(data, state.fixes), state.rtt).runtime, inside: "accent", outside: "paper" },
    ],
    focus: () => Math.max(state.rtt, baseline ?? 0),
    choose: chooseAxes,
    mark: () => state.rtt,
    caption: () => make("span", {},
      ...(baseline === null ? [] : [make("span", { class: "key measured-key" }), ` measured: ${formatMs(baseline)}, ${formatS(measured)}. `]),
      make("span", { class: "key chosen-key" }), " chosen. The bands are the ranges from optimistic to pessimistic; dashed: with the chosen fixes."),
  });
  follow(({ linear }) => {
    draw(linear, chooseRtt);
    byId("curve").setAttribute("aria-label", inWords());
    showLadder();
  });
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
