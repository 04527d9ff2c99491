/** What the reader chose: the RTT, the fixes and the axes. Each change is passed on to whatever shows it. */

import { data } from "./dom.js";

export const state = { rtt: data.asked_rtt_ms, fixes: new Set(), linear: false };

const listeners = [];

/** Calls `listener` now and after each change. */
export function follow(listener) {
  listeners.push(listener);
  listener(state);
}

/** Calls `listener` when after a change there was none for `rest` ms. */
export function followRest(listener, rest) {
  let timer;
  listeners.push((chosen) => {
    clearTimeout(timer);
    timer = setTimeout(() => listener(chosen), rest);
  });
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

/** Draws the curve on linear axes, or on logarithmic ones. */
export function chooseAxes(linear) {
  state.linear = linear;
  tell();
}

function tell() {
  for (const listener of listeners) listener(state);
}
