/** The parts of the runtime, as measured and at the chosen RTT: bars on one scale, and columns of their table. */

import { data, fill, make } from "./dom.js";
import { inColumn, formatGivenMs, formatS, percent } from "./format.js";
import { jobWith, partsAt } from "./model.js";
import { follow } from "./state.js";
import { addColumn, entitle } from "./table.js";

/** Follows the reader's choice, where something took any time; before the tables get their buttons. */
export function showBudget() {
  const table = document.querySelector("#budget table");
  if (!table) return;
  const bars = make("div", { id: "bars" });
  document.querySelector("#budget .bar-row").replaceWith(bars);
  table.parentElement.id = "budget-table";
  const names = [...table.querySelectorAll("[data-part]")].map(({ dataset }) => dataset.part);
  const [shares, seconds] = ["share", ""].map((title) => addColumn(table, 2, {}, title));
  follow(({ rtt, fixes }) => {
    const [there, title] = [partsAt(jobWith(data, fixes), rtt), `at ${formatGivenMs(rtt)}${fixes.size ? ", fixed" : ""}`];
    const sides = [["as measured", data.budget], [title, there]];
    const longest = Math.max(...sides.map(([, parts]) => total(parts)));
    fill(bars, ...sides.map(([each, parts]) => barOf(each, parts, longest)));
    const values = [...names.map((name) => there[`${name}_s`]), total(there)];
    const written = inColumn(values.slice(0, -1));
    values.forEach((value, row) => {
      seconds.cells[row].textContent = written(value);
      shares.cells[row].textContent = total(there) > 0 ? percent(value / total(there)) : "";
    });
    entitle(seconds.head, seconds.cells, `${title}, s`);
  });
}

/** Their sum. */
const total = (parts) => Object.values(parts).reduce((sum, seconds) => sum + seconds, 0);

/** A bar of the seconds of the parts under its title, as `markup.py` draws it; `longest` takes all the room. */
function barOf(title, parts, longest) {
  const whole = total(parts);
  const pieces = Object.keys(data.parts).map((name) => [name, parts[`${name}_s`]]).filter(([, seconds]) => seconds > 0);
  const words = pieces.map(([name, seconds]) => `${data.parts[name]} ${percent(seconds / whole)}`);
  const bar = drawn("svg", { class: "bar", role: "img", "aria-label": `${title}: ${words.join(", ")}` });
  let at = 0;
  for (const [name, seconds] of pieces) {
    bar.append(drawn("rect", { class: `part-${name}`, x: `${100 * at}%`, width: `${(100 * seconds) / longest}%`, height: "100%" }));
    at += seconds / longest;
  }
  const keys = pieces.flatMap(([name], place) => [make("span", { class: `swatch part-${name}` }), ` ${words[place]}`]);
  return make("div", { class: "bar-row" }, make("span", { class: "bar-title" }, `${title}: ${formatS(whole)} `, make("small", {}, keys)), bar);
}

const { namespaceURI } = document.querySelector("svg.bar") ?? {};

function drawn(tag, attributes) {
  const element = document.createElementNS(namespaceURI, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}
