/** The reader's choice in the page's address (`#rtt=15&fix=n%2B1`), so that a link opens where the page was left. */

import { data } from "./dom.js";
import { chooseAxes, chooseFix, chooseRtt, followRest } from "./state.js";

const REST_MS = 300;
const UNITS = { us: 0.001, µs: 0.001, ms: 1, s: 1000 };

/** Takes the choice over from the address, now and when somebody changes it there, and keeps it there. */
export function followAddress() {
  take();
  addEventListener("hashchange", take);
  followRest(keep, REST_MS);
}

function take() {
  const said = new URLSearchParams(location.hash.slice(1));
  const rtt = inMs(said.get("rtt") ?? "");
  if (rtt === null) return;
  const names = said.getAll("fix").map((name) => name.replaceAll(" ", "+")); // what a plus sign means in an address
  data.switches.forEach(({ fix }, place) => {
    if (!names.includes(fix)) chooseFix(place, false);
  });
  data.switches.forEach(({ fix }, place) => {
    if (names.includes(fix)) chooseFix(place, true);
  });
  chooseAxes(said.get("axes") === "linear");
  chooseRtt(Math.min(Math.max(rtt, data.lowest_rtt_ms), data.highest_rtt_ms));
}

/** Milliseconds of `15`, `15ms`, `500us` or `0.1s`; null of anything else. */
function inMs(text) {
  const found = text.match(/^([0-9]*\.?[0-9]+)(us|µs|ms|s)?$/);
  return found ? Number(found[1]) * UNITS[found[2] ?? "ms"] : null;
}

function keep({ rtt, fixes, linear }) {
  const said = new URLSearchParams({ rtt: Number(rtt.toPrecision(4)) });
  for (const fix of fixes) said.append("fix", data.switches[fix].fix);
  if (linear) said.append("axes", "linear");
  try {
    history.replaceState(null, "", `#${said}`);
  } catch {
    // a page within another one has no address of its own
  }
}
