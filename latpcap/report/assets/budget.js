/** The parts of the runtime as stacked bars and as a table: as measured, and at the chosen RTT. */

import { byId, data, fill } from "./dom.js";
import { fixedS, formatGivenMs, percent } from "./format.js";
import { isProjected, jobWith, partsAt } from "./model.js";
import { PARTS, barOf, total } from "./parts.js";
import { follow } from "./state.js";
import { drawTable } from "./table.js";

/** Shows the parts and follows the reader's choice. */
export function showBudget() {
  if (isProjected(data)) follow(show);
  else show(null);
}

function show(chosen) {
  const measured = data.analysis.budget;
  const sides = [["as measured", measured]];
  if (chosen) sides.push([`at ${formatGivenMs(chosen.rtt)}${chosen.fixes.size ? ", fixed" : ""}`, partsAt(jobWith(data, chosen.fixes), chosen.rtt)]);
  const names = Object.keys(PARTS).filter((name) => sides.some(([, parts]) => parts[`${name}_s`] > 0));
  fill(byId("bars"), ...sides.map(([title, parts]) => barOf(title, parts)));
  fill(byId("budget-table"));
  drawTable(byId("budget-table"), {
    caption: "Time by part",
    columns: [{ title: "part" }, { title: "", kind: "key" }, ...sides.flatMap(([title]) => figures(`${title}, s`, "share")), { title: "what it is" }],
    rows: names.map((name) => [PARTS[name][0], { name }, ...sides.flatMap(([, parts]) => cells(parts[`${name}_s`], total(parts))), PARTS[name][1]]),
    foot: ["runtime", null, ...sides.flatMap(([, parts]) => cells(total(parts), total(parts))), ""],
  });
}

const figures = (...titles) => titles.map((title) => ({ title, kind: "figures" }));
const cells = (seconds, whole) => [fixedS(seconds), whole > 0 ? percent(seconds / whole) : ""];
