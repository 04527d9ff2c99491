/** The parts of the runtime as stacked bars and as a table: as measured, and at the chosen RTT. */

import { byId, data, fill, make } from "./dom.js";
import { counted, fixedS, formatGivenMs, formatS, percent } from "./format.js";
import { budgetAt, isProjected, jobWith } from "./model.js";
import { follow } from "./state.js";

export const PARTS = {
  network: ["network", "round trips, waiting for the network"],
  service: ["service", "the server works"],
  transfer: ["transfer", "long requests and responses"],
  stall: ["stall", "Nagle and delayed ACK, with its round trip"],
  client: ["client", "the application works"],
  think: ["think", "long pauses, kept as they are"],
  setup: ["set-up", "TCP, TLS, authentication"],
  loss: ["loss", "retransmissions"],
  unknown: ["unknown", "cannot be divided"],
};

const { budget, purposes } = data.analysis;
const DOES = {
  statements: "run a statement",
  fetches: "fetch more rows",
  blobs: "open, read or write blobs and LOBs",
  prepares: "prepare or describe a statement",
  transactions: "begin or end a transaction",
  setup: "connect and log in",
  pings: "ask whether the server is there",
  unreadable: "are encrypted or were not captured",
  others: "do something else",
};

/** Shows the parts and follows the reader's choice. */
export function showBudget() {
  byId("purposes").textContent = purposesInWords();
  if (isProjected(data)) follow(show);
  else show(null);
}

function purposesInWords() {
  if (purposes.length === 0) return "";
  const parts = purposes.map(({ purpose, round_trips: trips }, at) => `${at ? trips.toLocaleString("en-US") : counted(trips, "round trip")} ${DOES[purpose] ?? purpose}`);
  return `What the round trips do: ${parts.join("; ")}.`;
}

function show(chosen) {
  const columns = [{ title: "as measured", parts: budget }];
  if (chosen) columns.push({ title: title(chosen), parts: chosenParts(chosen) });
  const names = Object.keys(PARTS).filter((name) => columns.some(({ parts }) => parts[`${name}_s`] > 0));
  fill(byId("bars"), ...columns.map((column) => bar(column, names)));
  fill(byId("budget-table"), table(columns, names));
}

function title({ rtt, fixes }) {
  return `at ${formatGivenMs(rtt)}${fixes.size ? ", fixed" : ""}`;
}

const chosenParts = ({ rtt, fixes }) => budgetAt(jobWith(data, fixes), rtt);

const total = (parts) => Object.values(parts).reduce((sum, seconds) => sum + seconds, 0);

function bar({ title: heading, parts }, names) {
  const whole = total(parts);
  const shares = names.map((name) => [name, whole > 0 ? parts[`${name}_s`] / whole : 0]).filter(([, share]) => share > 0);
  const pieces = shares.map(([name, share]) => {
    const piece = make("span", { class: `piece part-${name}` }, share > 0.08 ? `${PARTS[name][0]} ${percent(share)}` : "");
    piece.style.flexGrow = share;
    return piece;
  });
  const words = shares.map(([name, share]) => `${PARTS[name][0]} ${percent(share)}`).join(", ");
  return make("div", { class: "bar-row" },
    make("span", { class: "bar-title" }, `${heading}: ${formatS(whole)}`),
    make("div", { class: "bar", role: "img", "aria-label": `${heading}: ${words}` }, pieces));
}

function table(columns, names) {
  const head = columns.flatMap(({ title: heading }) => [`${heading}, s`, "share"]);
  const rows = names.map((name) => make("tr", {},
    make("th", { scope: "row" }, make("span", { class: `swatch part-${name}` }), ` ${PARTS[name][0]}`),
    columns.flatMap(({ parts }) => cells(parts[`${name}_s`], total(parts))),
    make("td", { class: "text" }, PARTS[name][1])));
  const sums = make("tr", {}, make("th", { scope: "row" }, "runtime"),
    columns.flatMap(({ parts }) => cells(total(parts), total(parts))), make("td", {}));
  return make("table", { class: "numbers" },
    make("thead", {}, make("tr", {}, ["part", ...head, "what it is"].map((text, at, all) =>
      make("th", { scope: "col", class: at === 0 || at === all.length - 1 ? "text" : null }, text)))),
    make("tbody", {}, rows), make("tfoot", {}, sums));
}

const cells = (seconds, whole) => [make("td", {}, fixedS(seconds)), make("td", {}, whole > 0 ? percent(seconds / whole) : "")];
