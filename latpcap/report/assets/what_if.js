/** The slider, the number field and the answer at the RTT they choose. */

import { button, byId, data, fill, make } from "./dom.js";
import { count, counted, formatGivenMs, formatMs, formatS, given, percent, significant } from "./format.js";
import { jobWith, networkAt, partsAt, projectAt, savedBy } from "./model.js";
import { chooseRtt, follow, followRest } from "./state.js";

const PLACES = [["same rack", 0.1], ["same city", 2], ["next country", 20], ["across an ocean", 90]];
const SPOKEN_AFTER_MS = 500;

const { lowest_rtt_ms: lowest, highest_rtt_ms: highest, moving } = data;
const { summary, projection } = data;

/** Shows the controls and follows them. */
export function showWhatIf() {
  listen();
  byId("moving").textContent = moving.text;
  follow(answer);
  followRest(speak, SPOKEN_AFTER_MS);
}

function listen() {
  const [slider, number] = [byId("rtt-slider"), byId("rtt-number")];
  slider.addEventListener("input", () => chooseRtt(rttOf(Number(slider.value), Number(slider.max))));
  number.min = given(lowest);
  number.max = highest;
  number.addEventListener("input", () => typed(number, false));
  number.addEventListener("change", () => typed(number, true));
  const measured = moving.measured_ms === null ? [] : [["as measured", moving.measured_ms]];
  fill(byId("places"), ...measured.concat(PLACES).map(([name, rtt]) =>
    button(`${name} ${(rtt === moving.measured_ms ? formatMs : formatGivenMs)(rtt)}`, () => chooseRtt(rtt), { "data-rtt": rtt })));
}

/** Takes over a typed RTT; when the typing is done, one out of range becomes the nearest in range, and that is said. */
function typed(number, done) {
  const value = Number(number.value);
  const isWithin = number.value !== "" && value >= lowest && value <= highest;
  const ends = [lowest, highest].map((end) => formatGivenMs(Number(end.toPrecision(3))));
  const beyond = value > 0 && !isWithin ? `; \`latpcap project --rtt ${given(value, 4)}ms\` replays ${formatGivenMs(value)}` : "";
  byId("bounds").textContent = isWithin ? "" : `The slider goes from ${ends.join(" to ")}${beyond}.`;
  if (isWithin) chooseRtt(value);
  else if (done) chooseRtt(Math.min(Math.max(value || lowest, lowest), highest));
}

const rttOf = (position, steps) => Number((lowest * (highest / lowest) ** (position / steps)).toPrecision(3));
const positionOf = (rtt, steps) => Math.round((steps * Math.log(rtt / lowest)) / Math.log(highest / lowest));

function answer({ rtt, fixes }) {
  const job = jobWith(data, fixes);
  const there = projectAt(job, rtt);
  const slider = byId("rtt-slider");
  slider.value = positionOf(rtt, Number(slider.max));
  slider.setAttribute("aria-valuetext", formatGivenMs(rtt));
  if (document.activeElement !== byId("rtt-number") || Number(byId("rtt-number").value) !== rtt) {
    byId("rtt-number").value = Number(rtt.toPrecision(4));
  }
  for (const place of byId("places").children) place.setAttribute("aria-pressed", Number(place.dataset.rtt) === rtt);
  byId("runtime").textContent = formatS(there.runtime);
  byId("runtime").dataset.seconds = there.runtime;
  byId("range").textContent = `between ${formatS(there.optimistic)} and ${formatS(there.pessimistic)}`;
  byId("range").dataset.optimistic = there.optimistic;
  byId("range").dataset.pessimistic = there.pessimistic;
  fill(byId("figures"), ...figures(rtt, job, there, fixes));
  byId("held").textContent = held(rtt);
}

/** Returns how often the range held for test runs of this kind of work, at longer or shorter RTTs as this one is. */
function held(rtt) {
  const farther = rtt > summary.baseline_rtt_ms;
  const point = projection.points.find((each) => each.coverage && each.rtt_ms > summary.baseline_rtt_ms === farther);
  if (!point) return "";
  const { pairs, inside } = point.coverage;
  return `The range held for ${percent(inside)} of ${count(pairs)} comparable test runs at a ${farther ? "longer" : "shorter"} RTT.`;
}

function figures(rtt, job, there, fixes) {
  const parts = partsAt(job, rtt);
  const total = Object.values(parts).reduce((sum, seconds) => sum + seconds, 0);
  const rows = [
    ["against the capture", comparison(there.runtime)],
    ["waiting for the network", total > 0 ? percent(networkAt(job, rtt) / total) : "–"],
    ["each further millisecond there", `+ ${formatS(there.slope)}`],
    ["statements per second", statementsPerSecond(job, there)],
  ];
  if (fixes.size) rows.push(["saved by the fixes", formatS(savedBy(data, fixes, rtt))]);
  return rows.map(([term, value]) => make("div", {}, make("dt", {}, term), make("dd", {}, value)));
}

/** Of fewer statements a rate says nothing beside that of the capture. */
function statementsPerSecond(job, { throughput }) {
  const fewer = data.jobs[0].statements - job.statements;
  if (fewer > 0) return `not comparable: ${counted(fewer, "statement")} of ${count(data.jobs[0].statements)} removed`;
  return throughput === null ? "–" : significant(throughput);
}

function comparison(runtime) {
  if (!summary.runtime_s) return "–";
  const ratio = runtime / summary.runtime_s;
  if (Math.abs(ratio - 1) < 0.005) return `as measured, ${formatS(summary.runtime_s)}`;
  return `${significant(ratio)} × the measured ${formatS(summary.runtime_s)}`;
}

/** Tells a screen reader the answer. */
function speak({ rtt, fixes }) {
  const fixed = fixes.size ? ` with ${count(fixes.size)} fixed` : "";
  byId("spoken").textContent = `At ${formatGivenMs(rtt)}${fixed}: ${byId("runtime").textContent}, ${byId("range").textContent}.`;
}
