/** The runtime over the RTT of both captures, each with its range. */

import { byId, data, make } from "./dom.js";
import { colour } from "./charts.js";
import { curves, secondsAt } from "./curves.js";
import { significant } from "./format.js";

const SIDES = [["before ", "think"], ["after ", "accent"]];
const BAND = "2e"; // how opaque a band is, so that both are seen where they overlap

/** Shows them; nothing where one of the baselines is unknown. */
export function showCurves() {
  const host = byId("curves-figure");
  const { sides, headline_rtt_ms: told } = data;
  if (!host || sides.some(({ curve }) => curve === null)) return;
  const draw = curves(host, {
    legend: make("div", { class: "legend" }, SIDES.map(([name, stroke]) => make("span", {}, make("i", { class: `line-key line-${stroke}` }), ` ${name}`)),
      make("span", {}, make("i", { class: "key measured-key" }), " measured")),
    lines: () => SIDES.map(([name, stroke], at) => ({ name, stroke, edge: stroke, fill: () => colour(stroke) + BAND, curve: sides[at].curve })),
    dots: () => sides.map(({ baseline_rtt_ms: rtt, runtime_s: seconds }, at) => ({ rtt, seconds, inside: "paper", outside: SIDES[at][1] })),
    focus: () => Math.max(told ?? 0, ...sides.map(({ baseline_rtt_ms: baseline }) => baseline)),
    choose: (linear) => draw(linear),
    more: (rtt) => [`× ${significant(secondsAt(sides[1].curve, rtt) / secondsAt(sides[0].curve, rtt))}`],
    caption: () => "The bands are the ranges from optimistic to pessimistic.",
  });
  byId("curve").setAttribute("aria-label", "Runtime over round-trip time before and after. The table below has the values.");
  draw(false);
}
