/** What became of the gates (`--fail-if`), where there are any. */

import { byId, fill, make } from "./dom.js";
import { count, counted } from "./format.js";

/** Shows one line a gate, those that failed first. */
export function showGates(gates) {
  byId("gates").hidden = !gates?.length;
  if (!gates?.length) return;
  const failed = gates.filter(({ holds }) => holds !== false);
  byId("gates-note").textContent = failed.length ? `${count(failed.length)} of ${counted(gates.length, "gate")} failed.` : `${counted(gates.length, "gate")} passed.`;
  fill(byId("gates-list"), make("ul", { class: "health" }, [...failed, ...gates.filter((each) => !failed.includes(each))].map(item)));
}

function item({ condition, holds, text }) {
  const word = holds === null ? "unknown" : holds ? "failed" : "passed";
  return make("li", { class: holds === false ? "" : "health-error" }, make("strong", {}, word), " ", make("code", {}, condition), `: ${text}`);
}
