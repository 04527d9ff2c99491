/** A switch for each fix that saves time: for all its findings together, as `latpcap project --fix` makes it. */

import { byId, data, fill, make } from "./dom.js";
import { counted, formatGivenMs, formatS } from "./format.js";
import { savedBy } from "./model.js";
import { chooseFix, follow, state } from "./state.js";

const { switches, combined } = data;

/** Shows the switches, and what each saves at the chosen RTT. */
export function showFixes() {
  if (switches.length === 0) return;
  byId("fixes").hidden = false;
  const rows = switches.map(row);
  fill(byId("switches"), ...rows.map(({ element }) => element));
  follow(({ rtt, fixes }) => {
    rows.forEach(({ box, saving }, fix) => {
      box.checked = fixes.has(fix);
      saving.textContent = `saves ${formatS(savedBy(data, new Set([fix]), rtt))}`;
    });
    byId("fixes-sum").textContent = sum(state);
    byId("chosen-fixes").textContent = [...fixes].map((fix) => `With this fixed: ${switches[fix].title}.`).join(" ");
  });
}

function row({ title, needs, suggestion }, fix) {
  const box = make("input", { type: "checkbox", role: "switch", id: `fix-${fix}` });
  box.addEventListener("change", () => chooseFix(fix, box.checked));
  const saving = make("span", { class: "saving" });
  const remarks = [suggestion ? "a suggestion" : null, needs.length ? `with ${needs.join(", ")}, which it needs` : null].filter(Boolean);
  const text = remarks.length ? `${title} (${remarks.join("; ")})` : title;
  const label = make("label", { for: `fix-${fix}` }, make("span", { class: "fix-title" }, text), saving);
  return { box, saving, element: make("div", { class: "switch" }, box, label) };
}

function sum({ rtt, fixes }) {
  const alone = combined ? "" : " So many fixes are shown one at a time.";
  if (fixes.size === 0) return `Switch a fix on to see the job replayed without its round trips. Savings at ${formatGivenMs(rtt)}.${alone}`;
  const chosen = [...fixes];
  const trips = chosen.reduce((total, fix) => total + switches[fix].round_trips, 0);
  const least = chosen.some((fix) => switches[fix].needs.length) ? "about " : "";
  return `Together ${least}${counted(trips, "round trip")} fewer: ${formatS(savedBy(data, fixes, rtt))} saved at ${formatGivenMs(rtt)}.${alone}`;
}
