/** What became of the findings: those that are new, those that remain, those that are gone. */

import { byId, data, fill, make, withCode } from "./dom.js";
import { count, counted, formatGivenMs, formatS } from "./format.js";

const TITLES = { new: "New", remaining: "Remaining", gone: "Gone" };

/** Lists them by what became of them. */
export function showFindings() {
  const groups = Object.entries(TITLES).map(([change, title]) => [title, data.findings.filter((each) => each.change === change)]);
  byId("findings-note").textContent = `${groups.map(([title, found]) => `${title.toLowerCase()}: ${count(found.length)}`).join(", ")}.`;
  fill(byId("findings-list"), ...groups.filter(([, found]) => found.length).map(([title, found]) =>
    make("div", { class: "group" }, make("h3", {}, title), found.map(article))));
}

function article({ change, before, after }) {
  const found = after ?? before;
  const sides = change === "remaining" ? [["before", before], ["after", after]] : [["", found]];
  return make("article", { class: `finding severity-${["high", "medium"].includes(found.severity) && change !== "gone" ? "grave" : "mild"}` },
    make("h4", {}, found.title, " ", make("span", { class: "code" }, found.code)),
    change === "gone" ? null : make("p", {}, make("strong", {}, "Fix: "), withCode(found.fix)),
    sides.filter(([, each]) => each.round_trips_saved > 0).map(([when, each]) => make("p", { class: "note" }, [when, saving(each)].filter(Boolean).join(": "))),
    found.statement ? make("pre", { class: "sql", tabindex: "0", "aria-label": "Statement" }, found.statement) : null);
}

function saving({ round_trips_saved: trips, saved_s: saved }) {
  const told = data.sides[0].projection.told_rtt_ms;
  const seconds = told === null ? undefined : saved[`${told}`];
  return `${counted(trips, "round trip")} to save${seconds === undefined ? "" : `, ${formatS(seconds)} at ${formatGivenMs(told)}`}`;
}
