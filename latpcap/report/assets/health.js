/** What limits the trust in the figures, the most serious first. */

import { byId, data, fill, make, withCode } from "./dom.js";
import { counted } from "./format.js";

const GRAVITY = ["error", "warning"];
const notes = data.analysis.health;

/** Lists the notes, and says below the verdict that there are some. */
export function showHealth() {
  const items = notes.map((note) => make("li", { class: `health-${note.severity}` },
    make("strong", {}, note.severity), " ", withCode(note.message), " ", make("span", { class: "code" }, note.code),
    more(note)));
  fill(byId("health-list"), items.length ? make("ul", { class: "health" }, items) : make("p", {}, "Nothing limits the trust in these figures."));
  tellBelowTheVerdict();
}

/** What it does to the figures, and what to do. */
const more = (note) => [note.effect, note.advice].filter(Boolean).map((text) => make("span", { class: "second" }, withCode(text)));

function tellBelowTheVerdict() {
  const words = GRAVITY
    .map((severity) => [severity, notes.filter((note) => note.severity === severity).length])
    .filter(([, number]) => number > 0)
    .map(([severity, number]) => counted(number, severity));
  if (words.length === 0) return;
  byId("trust").hidden = false;
  fill(byId("trust"), make("a", { href: "#health" }, `${words.join(" and ")} about the capture itself`));
}
