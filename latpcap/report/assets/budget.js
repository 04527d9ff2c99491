/** The parts of the runtime as bars on one scale and as a table: as measured, and at the chosen RTT. */

import { data, fill, make, tableOf } from "./dom.js";
import { inColumn, formatGivenMs, percent } from "./format.js";
import { isProjected, jobWith, partsAt } from "./model.js";
import { PARTS, barOf, total } from "./parts.js";
import { follow } from "./state.js";
import { showTable } from "./table.js";

/** Follows the reader's choice, where there is one. */
export function showBudget() {
  const [bar, table] = ["#budget .bar-row", "#budget .scroller"].map((each) => document.querySelector(each));
  if (!isProjected(data) || !bar) return;
  const bars = make("div", { id: "bars" });
  bar.replaceWith(bars);
  table.id = "budget-table";
  follow((chosen) => show(bars, table, chosen));
}

function show(bars, table, { rtt, fixes }) {
  const sides = [["as measured", data.budget], [`at ${formatGivenMs(rtt)}${fixes.size ? ", fixed" : ""}`, partsAt(jobWith(data, fixes), rtt)]];
  const longest = Math.max(...sides.map(([, parts]) => total(parts)));
  const names = Object.keys(PARTS).filter((name) => sides.some(([, parts]) => parts[`${name}_s`] > 0));
  fill(bars, ...sides.map(([title, parts]) => barOf(title, parts, longest)));
  const called = (name) => [make("span", { class: `swatch part-${name}` }), ` ${PARTS[name][0]}`];
  showTable(table, tableOf("Time by part", ["part", ...sides.flatMap(([title]) => [`${title}, s`, "share"]), "what it is"], 
    names.map((name) => [called(name), ...sides.flatMap(([, parts]) => cells(parts[`${name}_s`], total(parts))), PARTS[name][1]]),
    ["runtime", ...sides.flatMap(([, parts]) => cells(total(parts), total(parts))), ""]));
}

const cells = (seconds, whole) => [inColumn(seconds), whole > 0 ? percent(seconds / whole) : ""];
