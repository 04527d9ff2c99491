/** A bar of the parts of a runtime, and what they are called. */

import { data, make } from "./dom.js";
import { formatS, percent } from "./format.js";

/** Of each part its name and what it is. */
export const PARTS = data.parts;

/** Their sum. */
export const total = (parts) => Object.values(parts).reduce((sum, seconds) => sum + seconds, 0);

/** A bar of the seconds of the parts under its title, as `markup.py` draws it; `longest` takes all the room. */
export function barOf(title, parts, longest) {
  const whole = total(parts);
  const pieces = Object.keys(PARTS).map((name) => [name, parts[`${name}_s`]]).filter(([, seconds]) => seconds > 0);
  const words = pieces.map(([name, seconds]) => `${PARTS[name][0]} ${percent(seconds / whole)}`);
  const bar = drawn("svg", { class: "bar", role: "img", "aria-label": `${title}: ${words.join(", ")}` });
  let at = 0;
  for (const [name, seconds] of pieces) {
    bar.append(drawn("rect", { class: `part-${name}`, x: `${100 * at}%`, width: `${(100 * seconds) / longest}%`, height: "100%" }));
    at += seconds / longest;
  }
  const keys = pieces.flatMap(([name], place) => [make("span", { class: `swatch part-${name}` }), ` ${words[place]}`]);
  return make("div", { class: "bar-row" }, make("span", { class: "bar-title" }, `${title}: ${formatS(whole)} `, make("small", {}, keys)), bar);
}

const { namespaceURI } = document.querySelector("svg.bar") ?? {};

function drawn(tag, attributes) {
  const element = document.createElementNS(namespaceURI, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}
