/** Runtime over RTT: the range, the measured point, the chosen one, the same with the fixes; and the table below it. */

import { byId, data, make } from "./dom.js";
import { colour } from "./charts.js";
import { curves } from "./curves.js";
import { formatGivenMs, formatMs, formatS, significant } from "./format.js";
import { jobWith, projectAt } from "./model.js";
import { chooseAxes, chooseRtt, follow, state } from "./state.js";
import { addColumn, fitTables } from "./table.js";

const baseline = data.moving?.measured_ms ?? null;
const measured = data.summary?.runtime_s;
const { points } = data.projection;

/** Draws the curve and the table, and follows the reader's choice. */
export function showCurve() {
  const looks = { stroke: "accent", edge: "band-edge", fill: () => colour("band") };
  const draw = curves(byId("curve-figure"), {
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
  });
  followFixes();
}

function inWords() {
  const there = projectAt(jobWith(data, state.fixes), state.rtt);
  const here = baseline === null ? "" : ` at ${formatMs(baseline)}`;
  return `Runtime over round-trip time: measured ${formatS(measured)}${here}; ` +
    `${formatS(there.runtime)} at ${formatGivenMs(state.rtt)}. The table below has the values.`;
}

/** Columns of the runtimes with the chosen fixes, which are there while some are chosen. */
function followFixes() {
  const table = document.querySelector("#elsewhere table");
  table.parentElement.id = "ladder";
  const place = table.tHead.rows[0].cells.length - 1;
  const columns = ["range s", "with the fixes s"].map((title) => addColumn(table, place, { class: "fixed" }, title).cells.slice(-points.length));
  follow(({ fixes }) => {
    table.classList.toggle("unfixed", fixes.size === 0);
    points.forEach(({ rtt_ms: rtt }, row) => {
      const { runtime, ...range } = projectAt(jobWith(data, fixes), rtt);
      const said = [`${significant(range.optimistic)} to ${significant(range.pessimistic)}`, significant(runtime)];
      columns.forEach((cells, at) => (cells[row].textContent = said[at]));
    });
    fitTables();
  });
}
