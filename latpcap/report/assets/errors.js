/** What failed: nothing to see where nothing did. */

import { byId, data, fill, make } from "./dom.js";
import { count, counted } from "./format.js";
import { sortableTable } from "./sorting.js";

const { errors } = data.analysis;

/** Shows how many failed of each kind, and the table of errors. */
export function showErrors() {
  byId("errors").hidden = errors.failures === 0;
  if (errors.failures === 0) return;
  fill(byId("errors-note"), `${ofAll().join(", ")} failed: ${counted(errors.round_trips, "round trip")}.`);
  const number = (title, value) => ({ title, value, show: (row) => (value(row) === null ? "" : count(value(row))) });
  const columns = [
    number("count", (row) => row.count),
    { title: "code", value: (row) => row.code, text: true },
    { title: "what failed", value: (row) => row.kind, text: true },
    { title: "message", value: (row) => row.message, show: said, text: true, long: true },
    { title: "user", value: (row) => row.users.join(", "), text: true },
    number("round trips", (row) => row.round_trips),
    number("first frame", (row) => row.first_frame),
    number("last frame", (row) => row.last_frame),
  ];
  sortableTable({ id: "errors-table", caption: "Errors", columns, rows: errors.found, foot: foot() });
}

const said = (row) => [make("span", { class: "first" }, row.message), make("span", { class: "second" }, row.statement)];

function ofAll() {
  const kinds = [["statement", errors.failed_statements, errors.statements], ["login", errors.failed_logins, errors.logins],
    ["transaction command", errors.failed_transactions, errors.transactions]];
  const others = errors.others > 0 ? [counted(errors.others, "other request")] : [];
  return [...kinds.filter(([, failed]) => failed > 0).map(([name, failed, all]) => `${count(failed)} of ${counted(all, name)}`), ...others];
}

function foot() {
  const rest = errors.found_rest;
  return rest.count === 0 ? null : [count(rest.failures), "", "", `${counted(rest.count, "further line")} together`, "", count(rest.round_trips), "", ""];
}
