/** The parts of a runtime: their names and colours, and a bar of them. */

import { make } from "./dom.js";
import { formatS, percent } from "./format.js";

export const PARTS = {
  network: ["network", "round trips, waiting for the network"],
  service: ["service", "the server works"],
  transfer: ["transfer", "long requests and responses"],
  stall: ["stall", "Nagle and delayed ACK, with its round trip"],
  client: ["client", "the application works"],
  think: ["think", "long pauses, kept as they are"],
  setup: ["set-up", "TCP, TLS, authentication"],
  loss: ["loss", "retransmissions"],
  unknown: ["unknown", "cannot be divided"],
};

/** Their sum. */
export const total = (parts) => Object.values(parts).reduce((sum, seconds) => sum + seconds, 0);

/** A stacked bar of the parts `names` under its title; `width` is the part of the page's that it takes. */
export function bar({ title: heading, parts }, names, width = 1) {
  const whole = total(parts);
  const shares = names.map((name) => [name, whole > 0 ? parts[`${name}_s`] / whole : 0]).filter(([, share]) => share > 0);
  const pieces = shares.map(([name, share]) => {
    const piece = make("span", { class: `piece part-${name}` }, share * width > 0.08 ? `${PARTS[name][0]} ${percent(share)}` : "");
    piece.style.flexGrow = share;
    return piece;
  });
  const words = shares.map(([name, share]) => `${PARTS[name][0]} ${percent(share)}`).join(", ");
  const stack = make("div", { class: "bar", role: "img", "aria-label": `${heading}: ${words}` }, pieces);
  stack.style.width = `${100 * width}%`;
  return make("div", { class: "bar-row" }, make("span", { class: "bar-title" }, `${heading}: ${formatS(whole)}`), stack);
}
