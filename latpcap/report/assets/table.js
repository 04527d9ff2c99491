/** The tables as they stand in the page: headings that sort, long ones that begin short, columns that give way. */

import { button, fill, make } from "./dom.js";
import { count, counted } from "./format.js";

const FIRST = 20; // rows that are shown before the reader asks for all
const narrow = matchMedia("(max-width: 560px)");
const tables = [];

/** Gives every table its buttons, and keeps it as wide as there is room. */
export function showTables() {
  tables.push(...[...document.querySelectorAll(".scroller > table")].map(enhanced));
  fitTables();
  narrow.addEventListener("change", fitTables);
  addEventListener("resize", fitTables);
}

/** Shows the columns for which there is room: those that can be spared go first; on a telephone rows are stacked. */
export function fitTables() {
  const onPaper = document.documentElement.classList.contains("paper");
  for (const table of tables) fit(table, narrow.matches && !onPaper, onPaper);
}

function enhanced(element) {
  const heads = [...element.tHead.rows[0].cells];
  const table = { element, heads, rows: [...element.tBodies[0].rows], shown: FIRST, all: false };
  table.more = button("", () => showAll(table), { class: "more" });
  table.left = make("p", { class: "note left" });
  element.parentElement.after(table.more, table.left);
  for (const head of heads) {
    if (head.dataset.sort && table.rows.length > 1) fill(head, button(head.textContent, () => sortBy(table, head)));
  }
  for (const row of [...table.rows, ...(element.tFoot?.rows ?? [])]) {
    heads.forEach((head, at) => (row.cells[at].dataset.label = head.textContent));
  }
  draw(table);
  return table;
}

/** A column of figures behind another one, before the table gets its buttons: its heading and its cells, to the foot's. */
export function addColumn(element, place, attributes = {}, title = "") {
  const [head, ...cells] = [...element.rows].map((row, at) => {
    const cell = at ? make("td", attributes) : make("th", { scope: "col", ...attributes }, title);
    row.cells[place].after(cell);
    return cell;
  });
  return { head, cells };
}

/** Writes the heading of a column anew, which its cells have as well. */
export function entitle(head, cells, title) {
  (head.querySelector("button") ?? head).textContent = title;
  for (const cell of cells) cell.dataset.label = title;
}

function sortBy(table, head) {
  const at = table.heads.indexOf(head);
  const isText = head.dataset.sort === "text";
  const sorted = head.getAttribute("aria-sort");
  const descending = sorted ? sorted === "ascending" : !isText;
  const value = isText ? ({ cells }) => cells[at].textContent || null : ({ cells }) => numberIn(cells[at]);
  table.rows.sort((a, b) => compare(value(a), value(b), descending));
  for (const each of table.heads) each.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", descending ? "descending" : "ascending");
  draw(table);
}

const numberIn = ({ dataset, textContent }) =>
  dataset.value !== undefined ? Number(dataset.value) : textContent === "" ? null : Number(textContent.replaceAll(",", ""));

/** Orders two values; what is missing comes last either way. */
function compare(a, b, descending) {
  if (a === null || b === null) return (a === null) - (b === null);
  const order = typeof a === "number" ? a - b : a.localeCompare(b);
  return descending ? -order : order;
}

function draw(table) {
  table.rows.forEach((row, at) => (row.hidden = at >= table.shown));
  table.element.tBodies[0].append(...table.rows);
  table.more.hidden = table.rows.length <= table.shown;
  table.more.textContent = `Show all ${count(table.rows.length)}`;
}

function showAll(table) {
  table.shown = table.rows.length;
  draw(table);
}

function fit(table, stacked, onPaper) {
  const { element, heads, rows } = table;
  const room = element.parentElement;
  const whole = [...rows, ...(element.tHead.rows), ...(element.tFoot?.rows ?? [])];
  const show = (at, shown) => whole.forEach((row) => (row.cells[at].hidden = !shown));
  heads.forEach((head, at) => head.hidden && show(at, true));
  element.classList.toggle("stacked", stacked);
  const spare = heads.filter(({ dataset }) => dataset.spare).sort((a, b) => a.dataset.spare - b.dataset.spare || heads.indexOf(b) - heads.indexOf(a));
  while (!stacked && (onPaper || !table.all) && room.scrollWidth > room.clientWidth && spare.length) show(heads.indexOf(spare.shift()), false);
  const gone = heads.filter(({ hidden }) => hidden).map(({ textContent }) => textContent);
  const unprinted = onPaper && rows.length > table.shown ? `The first ${count(table.shown)} of ${count(rows.length)} rows. ` : "";
  const left = onPaper ? "Without these columns, which are in the file that this was printed from" : counted(gone.length, "more column");
  fill(table.left, unprinted, gone.length ? `${left}: ${gone.join(", ")} ` : null,
    gone.length ? button("Show", () => { table.all = true; fitTables(); }, { class: "screen" }) : null);
  table.left.hidden = !gone.length && !unprinted;
  const scrolls = room.scrollWidth > room.clientWidth;
  const named = { role: "region", tabindex: "0", "aria-label": `${element.getAttribute("aria-label") ?? ""}: table` };
  for (const [name, value] of Object.entries(named)) scrolls ? room.setAttribute(name, value) : room.removeAttribute(name);
}
