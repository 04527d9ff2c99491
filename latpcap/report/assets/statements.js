/** What of the statements follows the reader's choice: what the fixes leave of them, and the network's seconds there. */

import { data } from "./dom.js";
import { formatGivenMs } from "./format.js";
import { isProjected, jobWith, networkFactor } from "./model.js";
import { state } from "./state.js";

// Where only some servers move, no one factor is that of all statements.
const followsSlider = isProjected(data) && data.moving.text === "";

/** The table of the statements with these columns. */
export function liveStatements({ columns, rows, ...others }) {
  const gone = (row, name) => [...state.fixes].flatMap((fix) => data.switches[fix].statements)
    .filter(({ statement }) => rows[statement] === row).reduce((sum, part) => sum + part[name], 0);
  const left = (row, name) => Math.max(row[columns.findIndex((column) => column.name === name)] - gone(row, name), 0);
  const there = {
    at: -1, kind: "s", live: true, title: () => `network s at ${formatGivenMs(state.rtt)}`,
    value: (row) => left(row, "network_s") * networkFactor(jobWith(data, state.fixes), state.rtt),
  };
  const live = { round_trips: (row) => Math.round(left(row, "round_trips")), service_s: (row) => left(row, "service_s") };
  const changed = columns.flatMap((column, at) => {
    const each = { ...column, at };
    if (column.name === "network_s") return followsSlider ? [each, there] : [each];
    return isProjected(data) && live[column.name] ? [{ ...each, live: true, value: live[column.name] }] : [each];
  });
  return { columns: changed, rows, ...others };
}
