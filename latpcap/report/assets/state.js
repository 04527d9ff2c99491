/** What the reader chose: the RTT and the fixes. Each change is passed on to whatever shows it. */

import { data } from "./dom.js";

export const state = { rtt: data.asked_rtt_ms, fixes: new Set() };

const listeners = [];

/** Calls `listener` now and after each change. */
export function follow(listener) {
  listeners.push(listener);
  listener(state);
}

/** Changes the RTT (ms). */
export function chooseRtt(rtt) {
  state.rtt = rtt;
  tell();
}

/** Switches a fix on or off; where combinations were not replayed, the others go off. */
export function chooseFix(fix, on) {
  if (!data.combined) state.fixes.clear();
  if (on) state.fixes.add(fix);
  else state.fixes.delete(fix);
  tell();
}

function tell() {
  for (const listener of listeners) listener(state);
}
