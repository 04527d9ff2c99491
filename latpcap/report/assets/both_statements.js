/** Which statements ran or waited more often or less, and which errors. */

import { byId, data, make } from "./dom.js";
import { count, counted } from "./format.js";
import { sortableTable } from "./sorting.js";
import { signed } from "./both_figures.js";

const { statements, statements_rest: rest, unchanged, errors } = data;

/** Shows both tables, each where something changed. */
export function showStatements() {
  const further = rest ? ` ${counted(rest, "further one")} changed less.` : "";
  byId("statements-note").textContent = `${counted(statements.length + rest, "statement")} changed, ${count(unchanged)} did not.${further}`;
  const number = (title, value, show = count) => ({ title, value, show: (row) => show(value(row)) });
  const more = (value) => signed(value, count);
  if (statements.length > 0) {
    sortableTable({ id: "statements-table", caption: "Statements that changed", rows: statements, columns: [
      { title: "statement", value: (row) => row.text, show: (row) => make("code", { class: "sql" }, row.text), text: true, long: true },
      { title: "change", value: (row) => row.change, text: true },
      number("runs before", (row) => row.executions_before),
      number("after", (row) => row.executions_after),
      number("round trips before", (row) => row.round_trips_before),
      number("round trips after", (row) => row.round_trips_after),
      number("difference", (row) => row.round_trips_after - row.round_trips_before, more),
    ] });
  }
  byId("errors").hidden = errors.length === 0;
  if (errors.length === 0) return;
  sortableTable({ id: "errors-table", caption: "Errors", rows: errors, columns: [
    { title: "code", value: (row) => row.code, text: true },
    { title: "what failed", value: (row) => row.kind, text: true },
    number("before", (row) => row.before),
    number("after", (row) => row.after),
    number("difference", (row) => row.after - row.before, more),
  ] });
}
