/** What each route of the application cost, where its statements name one (sqlcommenter's tags). */

import { byId, data } from "./dom.js";
import { count, counted, fixedS, percent } from "./format.js";
import { sortableTable } from "./sorting.js";

const { routes, routes_rest: rest, summary } = data.analysis;

/** Shows the table, the route that waits most first; nothing where no statement is tagged. */
export function showRoutes() {
  byId("routes").hidden = routes.length === 0;
  if (routes.length === 0) return;
  byId("routes-note").textContent = note();
  const number = (title, value, show) => ({ title, value, show: (row) => show(value(row)) });
  const columns = [
    { title: "route", value: (row) => row.route, text: true },
    ...(routes.some(({ framework }) => framework) ? [{ title: "framework", value: (row) => row.framework, text: true }] : []),
    number("network s", (row) => row.network_s, fixedS),
    number("server s", (row) => row.service_s, fixedS),
    number("runs", (row) => row.executions, count),
    number("round trips", (row) => row.round_trips, count),
    number("distinct statements", (row) => row.distinct_statements, count),
  ];
  sortableTable({ id: "routes-table", caption: "Routes", columns, rows: routes, foot: foot(columns.length) });
}

function note() {
  const trips = routes.reduce((sum, row) => sum + row.round_trips, rest.round_trips);
  const share = summary.round_trips > 0 ? ` (${percent(trips / summary.round_trips)})` : "";
  return `${count(trips)} of ${counted(summary.round_trips, "round trip")}${share} are of statements whose comment names a route.`;
}

function foot(columns) {
  if (rest.count === 0) return null;
  const figures = [fixedS(rest.network_s), fixedS(rest.service_s), count(rest.executions), count(rest.round_trips), ""];
  return [`${counted(rest.count, "further route")} together`, ...Array(columns - 1 - figures.length).fill(""), ...figures];
}
