/** The findings, the costliest first as latpcap ranked them. */

import { byId, data, fill, make, withCode } from "./dom.js";
import { copyButton } from "./copying.js";
import { count, counted, formatGivenMs, formatS } from "./format.js";
import { isProjected, savedAt } from "./model.js";
import { follow } from "./state.js";

const findings = data.analysis.findings;
const ON_PAPER = 300;

/** Shows each finding, and what its fix saves at the chosen RTT. */
export function showFindings() {
  if (findings.length === 0) {
    const which = data.analysis.timing_only ? "Of what could be looked for, no pattern" : "No pattern";
    fill(byId("findings-list"), make("p", {}, `${which} was found that costs round trips without need.`));
    return;
  }
  const shown = findings.map(article);
  fill(byId("findings-list"), ...shown.map(({ element }) => element));
  if (isProjected(data)) follow(({ rtt }) => shown.forEach((each) => each.update(rtt)));
}

function article(finding, index) {
  const saving = make("dd");
  const saves = finding.round_trips_saved > 0 || isProjected(data) && savedAt(data, index, data.asked_rtt_ms) > 0;
  const facts = make("dl", { class: "figures" },
    fact("exchanges", finding.exchanges === undefined ? null : count(finding.exchanges)),
    fact("round trips saved", saves ? count(finding.round_trips_saved) : null),
    saves ? make("div", {}, make("dt", { class: "at-rtt" }), saving) : null,
    fact("what-if in a terminal", finding.fix_name ? `latpcap project --fix ${finding.fix_name}` : null),
    fact("frames", framesInWords(finding)));
  const element = make("article", { class: `finding severity-${severity(finding)}`, "aria-labelledby": `finding-${index}` },
    make("h3", { id: `finding-${index}` }, finding.title, " ", make("span", { class: "code" }, finding.code)),
    make("p", {}, withCode(finding.why)),
    finding.fix ? make("p", {}, make("strong", {}, "Fix: "), withCode(finding.fix)) : null,
    facts,
    finding.statement ? make("pre", { class: "sql", tabindex: "0", "aria-label": "Statement" }, finding.statement) : null,
    finding.display_filter ? filter(finding) : null,
    finding.frames_left_out ? make("p", { class: "note" }, `The filter leaves out ${counted(finding.frames_left_out, "further range")} of frames.`) : null);
  return { element, update: (rtt) => updateSaving(facts, saving, index, rtt, saves) };
}

function updateSaving(facts, saving, index, rtt, saves) {
  if (!saves) return;
  facts.querySelector(".at-rtt").textContent = `saved at ${formatGivenMs(rtt)}`;
  saving.textContent = formatS(savedAt(data, index, rtt));
}

/** A filter that would fill the page is cut on paper, where nobody copies it. */
function onScreenAndPaper(text) {
  if (text.length <= ON_PAPER) return [make("code", { tabindex: "0" }, text)];
  const cut = make("code", { class: "on-paper", "aria-hidden": "true" }, `${text.slice(0, ON_PAPER)}… (${count(text.length)} characters; whole in the page)`);
  return [make("code", { class: "screen", tabindex: "0" }, text), cut];
}

const severity = (finding) => (["high", "medium"].includes(finding.severity) ? "grave" : "mild");

const fact = (term, value) => (value === null ? null : make("div", {}, make("dt", {}, term), make("dd", {}, value)));

function framesInWords({ first_frame: first, last_frame: last }) {
  if (typeof first !== "number") return null;
  return first === last ? count(first) : `${count(first)} to ${count(last)}`;
}

function filter(finding) {
  return make("div", { class: "filter" },
    make("span", { class: "filter-title" }, "Wireshark display filter"),
    ...onScreenAndPaper(finding.display_filter),
    copyButton(finding.display_filter, `the display filter of ${finding.title}`));
}
