/** What of the statements follows the reader's choice: what the fixes leave of them, and the network's seconds there. */

import { data } from "./dom.js";
import { count, inColumn, formatGivenMs } from "./format.js";
import { jobWith, networkFactor } from "./model.js";
import { follow, state } from "./state.js";
import { addColumn, entitle } from "./table.js";

/** Adds the column of the chosen RTT, and follows; before the tables get their buttons. */
export function followStatements() {
  const table = document.querySelector("#statements table");
  if (!table) return;
  const rows = [...table.tBodies[0].rows];
  const heads = [...table.tHead.rows[0].cells];
  const column = (name) => rows.map((row) => row.cells[heads.findIndex(({ dataset }) => dataset.name === name)]);
  const columns = Object.fromEntries(["network_s", "service_s", "round_trips"].map((name) => [name, column(name)]));
  const was = Object.fromEntries(Object.entries(columns).map(([name, cells]) => [name, cells.map(({ dataset }) => Number(dataset.value ?? 0))]));
  // Where only some servers move, no one factor is that of all statements.
  const there = data.moving.text === "" ? addColumn(table, heads.findIndex(({ dataset }) => dataset.name === "network_s"), { "data-sort": "number" }) : null;
  follow(() => {
    const left = (name) => was[name].map((value, row) => Math.max(value - gone(row, name), 0));
    writeTimes(columns.service_s, left("service_s"));
    write(columns.round_trips, left("round_trips").map(Math.round), count);
    if (!there) return;
    const factor = networkFactor(jobWith(data, state.fixes), state.rtt);
    writeTimes(there.cells.slice(0, rows.length), left("network_s").map((seconds) => seconds * factor));
    entitle(there.head, there.cells, `network s at ${formatGivenMs(state.rtt)}`);
  });
}

const gone = (row, name) => [...state.fixes].flatMap((fix) => data.switches[fix].statements)
  .filter(({ statement }) => statement === row).reduce((sum, part) => sum + part[name], 0);

const writeTimes = (cells, values) => write(cells, values, inColumn(values));

function write(cells, values, text) {
  cells.forEach((cell, row) => {
    cell.textContent = text(values[row]);
    cell.dataset.value = values[row];
  });
}
