/** Who talked to whom, and how far apart they are. */

import { data, make } from "./dom.js";
import { bytes, count, fixedMs } from "./format.js";
import { sortableTable } from "./sorting.js";

const { connections, connections_rest: rest } = data.analysis;

/** Shows the table of connections. */
export function showConnections() {
  const number = (title, value, show) => ({ title, value, show: (row) => show(value(row)) });
  const columns = [
    { title: "stream", value: (row) => row.stream },
    { title: "client", value: (row) => row.client, text: true },
    { title: "server", value: (row) => row.server, show: server, text: true },
    { title: "user", value: (row) => row.user, show: who, text: true },
    { title: "state", value: (row) => row.state, show: state, text: true },
    number("exchanges", (row) => row.exchanges, count),
    number("round trips", (row) => row.round_trips, count),
    number("bytes", (row) => row.request_bytes + row.response_bytes, bytes),
    number("sent again", (row) => row.retransmissions, count),
    number("RTT ms", (row) => row.rtt.baseline_ms, fixedMs),
    { title: "iRTT, in-stream ms", value: (row) => row.rtt.handshake_ms, show: ({ rtt }) => two(rtt.handshake_ms, rtt.in_stream_median_ms) },
    { title: "how it is known", value: (row) => row.rtt.method, show: method, text: true, long: true },
    pace("delta p50, p95 ms", "delta_ms"),
    pace("client p50, p95 ms", "client_ms"),
  ];
  sortableTable({ id: "connections-table", caption: "Connections", columns, rows: connections, foot: foot(), wide: true });
}

const lines = (...texts) => texts.filter(Boolean).map((text, at) => make("span", { class: at ? "second" : "first" }, text));
const two = (first, second) => (first === null && second === null ? "" : lines(fixedMs(first) || "–", fixedMs(second) || "–"));
const pace = (title, name) => ({ title, value: (row) => row.chattiness[name].p50, show: ({ chattiness }) => two(chattiness[name].p50, chattiness[name].p95) });
const server = (row) => lines(row.server, [row.protocol, row.server_version].filter(Boolean).join(" "));
const who = (row) => lines(row.user ?? "–", [row.database, row.application].filter(Boolean).join(", "));
const state = (row) => lines(row.state, [row.tls_version ?? row.encryption, row.timing_only ? "timing only" : "", row.compression, row.replication ? "replication" : ""].filter(Boolean).join(", "));

function method({ rtt }) {
  const known = rtt.low_ms === null ? "" : `${fixedMs(rtt.low_ms)} to ${fixedMs(rtt.high_ms)} ms; `;
  return lines(`${rtt.method}, ${rtt.position}`, `${known}${rtt.reason}`);
}

function foot() {
  if (rest.count === 0) return null;
  return ["", `${count(rest.count)} further connections together`, "", "", "", count(rest.exchanges), count(rest.round_trips),
    bytes(rest.request_bytes + rest.response_bytes), count(rest.retransmissions), "", "", "", "", ""];
}
