/** The figures of both captures side by side, and where the time went in each. */

import { byId, data, fill, make } from "./dom.js";
import { count, fixedS, formatMs, percent, significant } from "./format.js";
import { PARTS, bar, total } from "./parts.js";

const { sides } = data;

/** Shows both tables and both bars. */
export function showFigures() {
  byId("meta").textContent = sides.map(({ name, summary, selection, settings }) =>
    [name, `${count(summary.exchanges)} exchanges`, selection, settings].filter(Boolean).join(", ")).join(" → ");
  fill(byId("figures-table"), table(["figure", "before", "after", "difference", "after ÷ before"], figures()));
  showBudgets();
}

function figures() {
  const each = (name) => sides.map(({ summary }) => summary[name]);
  return [
    ["runtime s", each("runtime_s"), fixedS],
    ["round trips", each("round_trips"), count],
    ["effective round trips", each("effective_round_trips"), count],
    ["exchanges", each("exchanges"), count],
    ["database connections", each("connections"), count],
    ["errors", sides.map(({ failures }) => failures), count],
    ["baseline RTT", each("baseline_rtt_ms"), formatMs],
    ["the network's share", each("network_share"), percent, null],
    ["seconds for each further ms", each("seconds_per_ms"), significant],
  ].map(([name, [before, after], show, difference = show]) => row(name, before, after, show, difference));
}

/** Before, after, by how much and to which part it changed; `difference` shows the third, null where it says nothing. */
function row(name, before, after, show, difference = show) {
  const known = before !== null && after !== null;
  const changed = known && difference ? signed(after - before, difference) : "";
  const told = (value) => (value === null ? "unknown" : show(value));
  return [name, told(before), told(after), changed, known && difference && before > 0 ? times(after / before) : ""];
}

/** A difference with its sign; none where it rounds to nothing. */
export function signed(value, show) {
  const text = show(Math.abs(value));
  if (!/[1-9]/.test(text)) return text;
  return `${value > 0 ? "+" : "−"}${text}`;
}

/** `× 0.5`, with as many digits as say something. */
export const times = (ratio) => `× ${ratio >= 100 ? count(ratio) : significant(ratio)}`;

function showBudgets() {
  const longest = Math.max(...sides.map(({ budget }) => total(budget)));
  const names = Object.keys(PARTS).filter((name) => sides.some(({ budget }) => budget[`${name}_s`] > 0));
  fill(byId("bars"), ...["before", "after"].map((title, at) =>
    bar({ title, parts: sides[at].budget }, names, longest > 0 ? total(sides[at].budget) / longest : 1)));
  const rows = names.map((name) => {
    const [before, after] = sides.map(({ budget }) => budget[`${name}_s`]);
    return [[make("span", { class: `swatch part-${name}` }), ` ${PARTS[name][0]}`], ...row("", before, after, fixedS).slice(1)];
  });
  const sums = row("runtime", ...sides.map(({ budget }) => total(budget)), fixedS);
  fill(byId("budget-table"), table(["part", "before s", "after s", "difference s", "after ÷ before"], rows, sums));
}

function table(titles, rows, foot = null) {
  const line = (cells) => make("tr", {}, cells.map((cell, at) => make(at ? "td" : "th", { scope: at ? null : "row" }, cell)));
  return make("table", { class: "numbers" },
    make("thead", {}, make("tr", {}, titles.map((title, at) => make("th", { scope: "col", class: at ? null : "text" }, title)))),
    make("tbody", {}, rows.map(line)), foot && make("tfoot", {}, line(foot)));
}
