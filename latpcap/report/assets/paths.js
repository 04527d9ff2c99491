/** How far apart the hosts are, and since when: each path, and the periods of those whose RTT changed. */

import { byId, data, fill, make } from "./dom.js";
import { count, counted, fixedMs } from "./format.js";
import { sortableTable } from "./sorting.js";

const { paths, paths_rest: rest } = data.analysis;

/** Shows both tables, where there are several paths or one that changed. */
export function showPaths() {
  const changed = paths.filter(({ periods }) => periods.length > 0);
  byId("paths").hidden = paths.length < 2 && changed.length === 0;
  if (byId("paths").hidden) return;
  if (paths.length > 1) showAll();
  fill(byId("periods"), ...changed.map(periodsOf));
}

function showAll() {
  const number = (title, value, show) => ({ title, value, show: (row) => show(value(row)) });
  const columns = [
    { title: "client", value: (row) => row.client, text: true },
    { title: "server", value: (row) => row.server, text: true },
    number("connections", (row) => row.connections, count),
    ...rtts((row) => row.rtt),
    { title: "how it is known", value: ({ rtt }) => `${rtt.method}, ${rtt.position}: ${rtt.reason}`, text: true, long: true },
  ];
  const foot = rest.count ? [`${counted(rest.count, "further path")} together`, "", count(rest.connections), "", "", "", "", ""] : null;
  sortableTable({ id: "paths-table", caption: "Paths", columns, rows: paths, foot, wide: true });
}

const rtts = (of) => [["RTT ms", "baseline_ms"], ["low ms", "low_ms"], ["high ms", "high_ms"]]
  .map(([title, name]) => ({ title, value: (row) => of(row)[name], show: (row) => fixedMs(of(row)[name]) }))
  .concat([{ title: "samples", value: (row) => of(row).samples, show: (row) => count(of(row).samples) }]);

function periodsOf({ client, server, periods }, at) {
  const host = make("div", { class: "periods" }, make("h3", {}, `${client} → ${server}: the RTT changed`), make("div", { id: `periods-${at}` }));
  byId("periods").append(host);
  const columns = [
    { title: "from (UTC)", value: (row) => row.begin, show: (row) => row.begin.slice(0, 23).replace("T", " ") },
    ...rtts((row) => row.rtt),
    { title: "round trips", value: (row) => row.round_trips, show: (row) => count(row.round_trips) },
    { title: "from what", value: (row) => row.rtt.method, text: true },
    { title: "shown by", value: (row) => row.shown_by, text: true, long: true },
  ];
  sortableTable({ id: `periods-${at}`, caption: `Periods of ${client} → ${server}`, columns, rows: periods });
  return host;
}
