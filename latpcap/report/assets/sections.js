/** Links to the sections, below the verdict. */

import { byId, fill, make } from "./dom.js";

/** Lists the sections that are shown. */
export function showSections() {
  const sections = [...document.querySelectorAll("main > section")].filter((section) => section.id !== "verdict" && !section.hidden);
  fill(byId("sections"), ...sections.map((section) => make("a", { href: `#${section.id}` }, section.querySelector("h2").textContent)));
}
