/** The parts of the runtime as stacked bars and as a table: as measured, and at the chosen RTT. */

import { byId, data, fill, make } from "./dom.js";
import { counted, fixedS, formatGivenMs, percent } from "./format.js";
import { isProjected, jobWith, partsAt } from "./model.js";
import { PARTS, bar, total } from "./parts.js";
import { follow } from "./state.js";

const { budget, purposes } = data.analysis;
const DOES = {
  statements: "run a statement",
  fetches: "fetch more rows",
  blobs: "open, read or write blobs and LOBs",
  prepares: "prepare or describe a statement",
  transactions: "begin or end a transaction",
  setup: "connect and log in",
  pings: "ask whether the server is there",
  unreadable: "are encrypted or were not captured",
  others: "do something else",
};

/** Shows the parts and follows the reader's choice. */
export function showBudget() {
  byId("purposes").textContent = purposesInWords();
  if (isProjected(data)) follow(show);
  else show(null);
}

function purposesInWords() {
  if (purposes.length === 0) return "";
  const parts = purposes.map(({ purpose, round_trips: trips }, at) => `${at ? trips.toLocaleString("en-US") : counted(trips, "round trip")} ${DOES[purpose] ?? purpose}`);
  return `What the round trips do: ${parts.join("; ")}.`;
}

function show(chosen) {
  const columns = [{ title: "as measured", parts: budget }];
  if (chosen) columns.push({ title: title(chosen), parts: chosenParts(chosen) });
  const names = Object.keys(PARTS).filter((name) => columns.some(({ parts }) => parts[`${name}_s`] > 0));
  fill(byId("bars"), ...columns.map((column) => bar(column, names)));
  fill(byId("budget-table"), table(columns, names));
}

function title({ rtt, fixes }) {
  return `at ${formatGivenMs(rtt)}${fixes.size ? ", fixed" : ""}`;
}

const chosenParts = ({ rtt, fixes }) => partsAt(jobWith(data, fixes), rtt);

function table(columns, names) {
  const head = columns.flatMap(({ title: heading }) => [`${heading}, s`, "share"]);
  const rows = names.map((name) => make("tr", {},
    make("th", { scope: "row" }, make("span", { class: `swatch part-${name}` }), ` ${PARTS[name][0]}`),
    columns.flatMap(({ parts }) => cells(parts[`${name}_s`], total(parts))),
    make("td", { class: "text" }, PARTS[name][1])));
  const sums = make("tr", {}, make("th", { scope: "row" }, "runtime"),
    columns.flatMap(({ parts }) => cells(total(parts), total(parts))), make("td", {}));
  return make("table", { class: "numbers" },
    make("thead", {}, make("tr", {}, ["part", ...head, "what it is"].map((text, at, all) =>
      make("th", { scope: "col", class: at === 0 || at === all.length - 1 ? "text" : null }, text)))),
    make("tbody", {}, rows), make("tfoot", {}, sums));
}

const cells = (seconds, whole) => [make("td", {}, fixedS(seconds)), make("td", {}, whole > 0 ? percent(seconds / whole) : "")];
