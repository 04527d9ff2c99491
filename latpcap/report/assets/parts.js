/** A bar of the parts of a runtime, and what they are called. */

import { data, make } from "./dom.js";
import { formatS, percent } from "./format.js";

/** Of each part its name and what it is. */
export const PARTS = data.parts ?? {};

/** Their sum. */
export const total = (parts) => Object.values(parts).reduce((sum, seconds) => sum + seconds, 0);

/** A bar of the seconds of the parts, under its title. */
export function barOf(title, parts) {
  const whole = total(parts);
  const pieces = Object.keys(PARTS).map((name) => ({ name, title: PARTS[name][0], share: whole > 0 ? parts[`${name}_s`] / whole : 0 }));
  return bar({ title: `${title}: ${formatS(whole)}`, pieces: pieces.filter(({ share }) => share > 0) });
}

/** A stacked bar; `width` is the part of the page's that it takes. */
export function bar({ title, pieces, width = 1 }) {
  const drawn = pieces.map(({ name, title: called, share }) => {
    const piece = make("span", { class: `piece part-${name}` }, share * width > 0.08 ? `${called} ${percent(share)}` : "");
    piece.style.flexGrow = share;
    return piece;
  });
  const words = pieces.map(({ title: called, share }) => `${called} ${percent(share)}`).join(", ");
  const stack = make("div", { class: "bar", role: "img", "aria-label": `${title}: ${words}` }, drawn);
  stack.style.width = `${100 * width}%`;
  return make("div", { class: "bar-row" }, make("span", { class: "bar-title" }, title), stack);
}
