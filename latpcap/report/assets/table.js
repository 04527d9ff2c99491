/** A table of a section: values written as what they are, headings that sort, rows that stack where it is narrow. */

import { button, fill, make } from "./dom.js";
import { bytes, count, fixedMs, fixedS, significant } from "./format.js";
import { stack } from "./stacking.js";

const FIRST = 20; // rows that are shown before the reader asks for all
const SHORT = 140; // characters of code that is shown without unfolding it
const WIDE = 8; // columns beyond which rows are stacked on paper as well
const WRITERS = {
  id: String, count, bytes, ms: fixedMs, s: fixedS, percent: (share) => (100 * share).toFixed(1), figure: significant, code,
};

/**
 * Draws a table into `host`, as `report/section.py` describes it. A column that is `live` has a `value(row)` that
 * changes, and may have a function as its title; the function that is returned writes these again.
 */
export function drawTable(host, { columns, rows, caption = "", foot = null }) {
  const table = { columns: arranged(columns), rows: [...rows], sorted: null, descending: true, shown: FIRST, body: make("tbody") };
  table.heads = table.columns.map((column) => make("th", { scope: "col", class: isText(column) ? "text" : null }, heading(table, column)));
  const last = foot && make("tfoot", {}, make("tr", {}, table.columns.map((column, at) => cellOf(column, at, foot))));
  const kind = table.columns.length > WIDE ? "numbers stackable wide" : "numbers stackable";
  const drawn = make("table", { class: kind }, make("caption", { class: "unseen" }, caption), make("thead", {}, make("tr", {}, table.heads)), table.body, last);
  table.more = button("", () => showAll(table), { class: "more" });
  host.append(make("div", { class: "scroller", role: "region", "aria-label": `${caption}: table`, tabindex: "0" }, drawn), table.more);
  draw(table);
  stack();
  return () => refresh(table);
}

/** What names a row comes first; what belongs below a cell, and the colour that stands for it, belong to that cell. */
function arranged(columns) {
  const beside = [];
  columns.forEach((column, place) => {
    const at = column.at ?? place;
    const each = { kind: "text", value: (row) => row[at], ...column, at, more: [] };
    if (each.below || each.kind === "key") beside.at(-1).more.push(each);
    else beside.push(each);
  });
  return [...beside.filter(({ heads }) => heads), ...beside.filter(({ heads }) => !heads)];
}

const isText = ({ kind }) => kind === "text" || kind === "code";
const isLong = (column) => isText(column) && (column.folds || column.least > 20 || column.kind === "code" || column.more.some(({ below }) => below));
const titleOf = ({ title, full }) => (typeof title === "function" ? title() : full || title);
const heading = (table, column) =>
  column.kind === "figures" || table.rows.length < 2 ? titleOf(column) : button(titleOf(column), () => sortBy(table, column));

function cellOf(column, at, row) {
  const kind = isText(column) ? (isLong(column) ? "text long" : "text") : null;
  return make(at ? "td" : "th", { class: kind, scope: at ? null : "row", "data-label": titleOf(column) }, shown(column, row));
}

function shown(column, row) {
  const own = written(column, column.value(row));
  if (column.more.length === 0) return own;
  const [more] = column.more;
  const value = more.value(row);
  if (more.kind === "key") return value ? [make("span", { class: `swatch part-${value.name}` }), " ", own] : own;
  return [make("span", { class: "first" }, own), value ? make("span", { class: "second" }, written(more, value)) : null];
}

/** A list of one text in a column of code is no code. */
function written({ kind }, value) {
  if (value === null || value === undefined || value === "") return "";
  if (Array.isArray(value)) return kind === "code" && value.length ? `(${value[0]})` : "";
  return kind in WRITERS ? WRITERS[kind](value) : value;
}

/** A short text as it is, a long one that unfolds. */
function code(text) {
  if (text.length <= SHORT) return make("code", { class: "sql" }, text);
  return make("details", { class: "sql" }, make("summary", {}, `${text.slice(0, SHORT)}…`), make("pre", {}, text));
}

function sortBy(table, column) {
  table.descending = table.sorted === column ? !table.descending : !isText(column);
  table.sorted = column;
  table.rows.sort((a, b) => compare(column.value(a), column.value(b), table.descending));
  table.heads.forEach((head, at) => {
    if (table.columns[at] === column) head.setAttribute("aria-sort", table.descending ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  });
  draw(table);
}

/** Orders two values; what is missing comes last either way. */
function compare(a, b, descending) {
  const [noA, noB] = [a === null || a === undefined, b === null || b === undefined];
  if (noA || noB) return noA - noB;
  const order = typeof a === "number" ? a - b : String(a).localeCompare(String(b));
  return descending ? -order : order;
}

function draw(table) {
  fill(table.body, ...table.rows.slice(0, table.shown).map((row) => make("tr", {}, table.columns.map((column, at) => cellOf(column, at, row)))));
  table.more.hidden = table.rows.length <= table.shown;
  table.more.textContent = `Show all ${count(table.rows.length)}`;
}

function showAll(table) {
  table.shown = table.rows.length;
  draw(table);
}

function refresh(table) {
  table.columns.forEach((column, at) => {
    if (!column.live) return;
    (table.heads[at].querySelector("button") ?? table.heads[at]).textContent = titleOf(column);
    [...table.body.rows].forEach((row, index) => {
      row.cells[at].textContent = shown(column, table.rows[index]);
      row.cells[at].dataset.label = titleOf(column);
    });
  });
}
