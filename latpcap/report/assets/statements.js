/** The statements, the costliest first until the reader sorts them. */

import { byId, data, make } from "./dom.js";
import { count, fixedMs, fixedS, formatGivenMs, percent } from "./format.js";
import { isProjected, jobWith, networkFactor } from "./model.js";
import { sortableTable } from "./sorting.js";
import { follow, state } from "./state.js";

const { statements, statements_rest: rest } = data.analysis;
const SHORT = 140;
// Where only some servers move, no one factor is that of all statements.
const followsSlider = isProjected(data) && data.moving.text === "";

/** Shows the table; the network's seconds at the chosen RTT follow the slider. */
export function showStatements() {
  const refresh = sortableTable({ id: "statements-table", caption: "Statements", columns: columns(), rows: statements, foot: foot() });
  if (isProjected(data)) follow(refresh);
  byId("statements-note").textContent = "Seconds are shared where connections work side by side, so that they add up to the budget. " +
    "Response: first packet of the request to the last of the response. Delta: start of the request before it to its own start. " +
    "Client: end of the response before it to its own start. Share: of what all statements waited for network and server.";
}

function columns() {
  const number = (title, value, show, more = {}) => ({ title, value, show: (row) => show(value(row)), ...more });
  const known = (value) => (value === null ? "" : count(value));
  const network = number("network s", (row) => row.network_s, fixedS);
  const there = number(() => `network s at ${formatGivenMs(state.rtt)}`, (row) => left(row, "network_s") * factor(), fixedS, { live: true });
  return [
    { title: "statement", value: (row) => row.text, show: statement, text: true, long: true },
    number("runs", (row) => row.executions, count),
    number("round trips", (row) => Math.round(left(row, "round_trips")), count, { live: true }),
    number("rows", (row) => row.rows, known),
    network,
    ...(followsSlider ? [there] : []),
    number("server s", (row) => left(row, "service_s"), fixedS, { live: true }),
    number("response p50 ms", (row) => row.response_ms.p50, fixedMs),
    number("p95 ms", (row) => row.response_ms.p95, fixedMs),
    number("delta p50 ms", (row) => row.delta_ms.p50, fixedMs),
    number("delta p95 ms", (row) => row.delta_ms.p95, fixedMs),
    number("client p50 ms", (row) => row.client_ms.p50, fixedMs),
    number("client p95 ms", (row) => row.client_ms.p95, fixedMs),
    number("share", (row) => row.share, (share) => (share === null ? "" : percent(share))),
  ];
}

const factor = () => networkFactor(jobWith(data, state.fixes), state.rtt);

/** What the chosen fixes leave of a statement. */
function left(row, name) {
  const gone = [...state.fixes].flatMap((fix) => data.switches[fix].statements).filter(({ statement }) => statements[statement] === row);
  return Math.max(gone.reduce((rest, part) => rest - part[name], row[name]), 0);
}

/** A short text as it is, a long one that unfolds. */
function statement({ text }) {
  if (text.length <= SHORT) return make("code", { class: "sql" }, text);
  return make("details", { class: "sql" }, make("summary", {}, `${text.slice(0, SHORT)}…`), make("pre", {}, text));
}

function foot() {
  if (rest.count === 0) return null;
  const there = followsSlider ? [""] : [];
  return [`${count(rest.count)} further statements together`, count(rest.executions), count(rest.round_trips), count(rest.rows),
    fixedS(rest.network_s), ...there, fixedS(rest.service_s), "", "", "", "", "", "", ""];
}
