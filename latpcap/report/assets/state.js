/** What the reader chose: the RTT and the fixes. Whoever shows it is told of each change. */

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

/** Switches the fix of the finding with this index on or off. */
export function chooseFix(index, on) {
  if (on) state.fixes.add(index);
  else state.fixes.delete(index);
  tell();
}

function tell() {
  for (const listener of listeners) listener(state);
}
