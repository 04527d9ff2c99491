/** A table whose columns sort: buttons in the headings, `aria-sort` on them, and only the first rows at first. */

import { button, byId, fill, make } from "./dom.js";
import { count } from "./format.js";
import { stack } from "./stacking.js";

/**
 * Shows `rows` in the element `id`. A column has `title`, `value(row)` to sort by, `show(row)` for the cell (default: the
 * value), and `text: true` where it is read from the left, `long: true` where it needs a line of its own
 * in rows that are stacked: on narrow screens, those of a `wide` table on paper as well. `foot` holds the cells of a last row that stays in its place.
 * Returns a function that writes headings and cells again.
 */
export function sortableTable({ id, caption, columns, rows, foot = null, first = 20, wide = false }) {
  const table = { columns, rows: [...rows], sorted: null, descending: true, shown: first };
  const head = make("thead", {}, make("tr", {}, columns.map((column, at) => heading(table, column, at))));
  table.body = make("tbody");
  table.heads = [...head.querySelectorAll("th")];
  const caption_ = make("caption", { class: "unseen" }, caption);
  const footRow = foot && make("tfoot", {}, make("tr", {}, foot.map((cell, at) => make(at === 0 ? "th" : "td", cellAttributes(columns[at], at), cell))));
  const scroller = make("div", { class: "scroller", role: "region", "aria-label": `${caption}: table`, tabindex: "0" },
    make("table", { class: wide ? "numbers stackable wide" : "numbers stackable" }, caption_, head, table.body, footRow));
  table.more = button("", () => showAll(table), { class: "more" });
  fill(byId(id), scroller, table.more);
  draw(table);
  stack();
  return () => refresh(table);
}

function heading(table, column, at) {
  const sort = button(titleOf(column), () => sortBy(table, at));
  return make("th", { scope: "col", class: column.text ? "text" : null }, sort);
}

const titleOf = (column) => (typeof column.title === "function" ? column.title() : column.title);
const cellAttributes = (column, at) => ({
  class: column.text ? (column.long ? "text long" : "text") : null, scope: at === 0 ? "row" : null, "data-label": titleOf(column),
});

function sortBy(table, at) {
  table.descending = table.sorted === at ? !table.descending : !table.columns[at].text;
  table.sorted = at;
  const value = table.columns[at].value;
  table.rows.sort((a, b) => compare(value(a), value(b), table.descending));
  table.heads.forEach((head, index) => {
    if (index === at) head.setAttribute("aria-sort", table.descending ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  });
  draw(table);
}

/** Orders two values; what is missing comes last either way. */
function compare(a, b, descending) {
  const [noA, noB] = [a === null || a === undefined, b === null || b === undefined];
  if (noA || noB) return noA - noB;
  const order = typeof a === "string" ? a.localeCompare(b) : a - b;
  return descending ? -order : order;
}

function draw(table) {
  const shown = table.rows.slice(0, table.shown);
  fill(table.body, ...shown.map((row) => make("tr", {}, table.columns.map((column, at) =>
    make(at === 0 ? "th" : "td", cellAttributes(column, at), cell(column, row))))));
  table.more.hidden = table.rows.length <= table.shown;
  table.more.textContent = `Show all ${count(table.rows.length)}`;
}

const cell = (column, row) => (column.show ? column.show(row) : (column.value(row) ?? ""));

function showAll(table) {
  table.shown = table.rows.length;
  draw(table);
}

/** Writes what depends on the reader's choice: headings and cells of the columns that are `live`. */
function refresh(table) {
  table.columns.forEach((column, at) => {
    if (!column.live) return;
    table.heads[at].querySelector("button").textContent = titleOf(column);
    [...table.body.rows].forEach((row, index) => {
      row.cells[at].textContent = cell(column, table.rows[index]);
      row.cells[at].dataset.label = titleOf(column);
    });
  });
}
