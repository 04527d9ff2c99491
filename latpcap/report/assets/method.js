/** How it was computed: the numbers in that section's sentences. */

import { byId, data, fill, make } from "./dom.js";
import { count, counted, formatGivenMs, formatMs, formatS, moment } from "./format.js";
import { isProjected } from "./model.js";
import { stack } from "./stacking.js";

const { analysis, jobs, timeline } = data;
const { captures, captures_rest: furtherCaptures, summary } = analysis;
const METHODS = ["connections", "RTT from", "capture taken at", "why"];

/** Fills the header and the section. */
export function showMethod() {
  byId("meta").textContent = meta();
  byId("method-rtt").textContent = baseline();
  fill(byId("method-table"), methods());
  stack();
  byId("method-grid").textContent = isProjected(data)
    ? `${count(jobs[0].curve.rtt_ms.length)} round-trip times from ${formatGivenMs(data.lowest_rtt_ms)} to ${formatGivenMs(data.highest_rtt_ms)}`
    : "none, as the RTT of the capture is unknown";
  byId("method-fixes").hidden = analysis.findings.length === 0;
  byId("method-timeline").textContent = timelineRule();
  byId("method-histograms").textContent = `Histograms have ${data.histograms.bins_per_decade} bins for each power of ten over all exchanges; ` +
    "those that open a connection are left out, and so are responses without a wait.";
  byId("method-lists").textContent = lists();
}

function meta() {
  const packets = captures.reduce((sum, file) => sum + file.packets, furtherCaptures.packets);
  const first = captures.map((file) => file.first_time).filter(Boolean).sort()[0];
  return [moment(first), counted(packets, "packet"), counted(summary.connections, "database connection"),
    counted(summary.exchanges, "exchange"), `runtime ${formatS(summary.runtime_s)}`].filter(Boolean).join(" · ");
}

function baseline() {
  if (summary.baseline_rtt_ms === null) return "No RTT could be measured.";
  const changed = analysis.health.some(({ code }) => code === "path-changed");
  const over = changed ? "on a path that changed the mean over its round trips, each with the RTT of its time" : "the median over the connections, each counted by its round trips";
  return `The baseline RTT is ${formatMs(summary.baseline_rtt_ms)}, ${over}. ` +
    `The runtime grows by ${count(summary.effective_round_trips)} effective round trips: TCP handshakes counted too, work side by side counted once.`;
}

function methods() {
  const rows = analysis.methods.map(({ connections, method, position, reason }) => make("tr", {},
    [count(connections), method, position, reason].map((text, at) => make("td", { class: at ? "text" : null, "data-label": METHODS[at] }, text))));
  const head = METHODS.map((text, at) => make("th", { scope: "col", class: at ? "text" : null }, text));
  return make("div", { class: "scroller", role: "region", "aria-label": "How the RTT is known", tabindex: "0" },
    make("table", { class: "numbers stackable" }, make("caption", {}, "How the RTT is known"), make("thead", {}, make("tr", {}, head)), make("tbody", {}, rows)));
}

function timelineRule() {
  if (!timeline.stretch_us) return "The timeline draws every exchange.";
  return `The timeline of so many exchanges is summed over stretches of ${formatGivenMs(timeline.stretch_us / 1000)} for each lane; ` +
    "an exchange counts in each stretch for the part of it that lies there, and nothing shorter than that can be distinguished.";
}

function lists() {
  const parts = [];
  if (analysis.statements_rest.count) parts.push(`the ${count(analysis.statements.length)} costliest statements`);
  if (analysis.connections_rest.count) parts.push(`the ${count(analysis.connections.length)} connections with the most round trips`);
  if (furtherCaptures.count) parts.push(`the first ${count(captures.length)} files`);
  return parts.length ? `Listed are ${parts.join(" and ")}; the rest is summed, and every total counts everything.` : "Every statement and connection is listed.";
}
