/** A switch for each finding whose fix saves time. */

import { byId, data, fill, make } from "./dom.js";
import { counted, formatMs, formatS } from "./format.js";
import { isProjected, savedAt, savedTogether } from "./model.js";
import { chooseFix, follow } from "./state.js";

const findings = data.analysis.findings;

/** Shows the switches, and what each saves at the chosen RTT. */
export function showFixes() {
  const fixable = findings.map((finding, index) => ({ finding, index })).filter(({ finding }) => saves(finding));
  if (fixable.length === 0 || !isProjected(data.curve)) return;
  byId("fixes").hidden = false;
  const rows = fixable.map(row);
  fill(byId("switches"), ...rows.map(({ element }) => element));
  follow((chosen) => {
    for (const { finding, saving } of rows) saving.textContent = `saves ${formatS(savedAt(finding, chosen.rtt))}`;
    byId("fixes-sum").textContent = sum(chosen);
  });
}

const saves = (finding) => finding.round_trips_saved > 0 || Object.values(finding.saved_s ?? {}).some((seconds) => seconds > 0);

function row({ finding, index }) {
  const box = make("input", { type: "checkbox", role: "switch", id: `fix-${index}` });
  box.addEventListener("change", () => chooseFix(index, box.checked));
  const saving = make("span", { class: "saving" });
  const label = make("label", { for: `fix-${index}` }, make("span", { class: "fix-title" }, finding.title), saving);
  return { finding, saving, element: make("div", { class: "switch" }, box, label) };
}

function sum({ rtt, fixes }) {
  if (fixes.size === 0) return `Switch a fix on to see the runtime without its round trips. Savings at ${formatMs(rtt)}.`;
  const trips = [...fixes].reduce((total, index) => total + (findings[index].round_trips_saved ?? 0), 0);
  return `Together ${counted(trips, "round trip")} fewer: ${formatS(savedTogether(findings, fixes, rtt))} saved at ${formatMs(rtt)}.`;
}
