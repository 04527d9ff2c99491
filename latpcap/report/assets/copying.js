/** Copies a text, also where the clipboard interface is not allowed (some browsers refuse it to files). */

import { button, make } from "./dom.js";

const SHOWN_MS = 1500;

/** A button beside each text that can be copied whole. */
export function offerCopies() {
  for (const each of document.querySelectorAll("[data-copy]")) {
    const whose = each.closest("li")?.firstElementChild?.nextSibling?.textContent ?? "";
    each.after(copyButton(each.dataset.copy, `the display filter of ${whose.trim()}`));
  }
}

/** A button that copies `text` and says so. */
function copyButton(text, what) {
  const word = make("span", { role: "status" }, "Copy");
  const element = button("", () => copied(text).then((done) => say(word, done)), { class: "copy", "aria-label": `Copy ${what}` });
  element.append(word);
  return element;
}

function say(word, done) {
  word.textContent = done ? "Copied" : "Select and copy";
  setTimeout(() => (word.textContent = "Copy"), SHOWN_MS);
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copiedBySelection(text);
  }
}

function copiedBySelection(text) {
  const area = make("textarea", { class: "unseen", readonly: "", "aria-hidden": "true" });
  area.value = text;
  const focused = document.activeElement;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  focused?.focus();
  return done;
}
