/** The sections as they were made for every format (`report/section.py`), whatever they are about; and links to them. */

import { byId, data, fill, make, withCode } from "./dom.js";
import { bar } from "./parts.js";
import { drawTable } from "./table.js";

const TONES = { strong: "strong", quiet: "note", missing: "missing" };

/** Draws them all; `live` has for a section's name what makes another table of its one, and what calls a function after each change. */
export function showSections(live = {}) {
  for (const section of data.sections) show(section, live[section.name]);
  const shown = [...document.querySelectorAll("main > section")].filter(({ id, hidden }) => id !== "verdict" && !hidden);
  fill(byId("sections"), ...shown.map((section) => make("a", { href: `#${section.id}` }, section.querySelector("h2").textContent)));
}

function show({ name, title, parts }, live) {
  const host = byId(name) ?? make("section", { id: name });
  if (!host.isConnected) byId("main").insertBefore(host, byId("colophon"));
  host.hidden = false;
  if (!host.querySelector("h2")) {
    host.setAttribute("aria-labelledby", `${name}-title`);
    host.prepend(make("h2", { id: `${name}-title` }, title));
  }
  for (const part of parts) DRAWN[part.part](host, { caption: title, ...part }, live);
}

const DRAWN = {
  say: (host, { text, tone }) => host.append(make(tone === "head" ? "h3" : "p", { class: TONES[tone] }, withCode(text))),
  bar: (host, part) => host.append(bar(part)),
  table: (host, part, live) => {
    const refresh = drawTable(host, live ? live.table(part) : part);
    if (live) live.follow(refresh);
  },
  entry: (host, { text, lead, tone, code, lines = [] }) => {
    if (!host.lastElementChild?.matches("ul.entries")) host.append(make("ul", { class: "entries" }));
    host.lastElementChild.append(make("li", { class: tone ? `tone-${tone}` : null },
      lead ? [make("strong", {}, lead), " "] : null, withCode(text), code ? [" ", make("span", { class: "code" }, code)] : null, lines.map(line)));
  },
};

function line({ text, name, kind }) {
  if (kind === "code") return make("pre", { class: "sql", tabindex: "0", "aria-label": name }, text);
  return make("span", { class: "second" }, name ? `${name}: ` : null, withCode(text));
}
