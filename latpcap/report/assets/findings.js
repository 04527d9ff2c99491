/** What of the findings follows the slider: the seconds that each fix saves at the chosen RTT. */

import { data } from "./dom.js";
import { formatGivenMs, formatS } from "./format.js";
import { savedAt } from "./model.js";
import { follow } from "./state.js";

/** Writes them behind what each saves as it was asked for. */
export function followFindings() {
  const lines = [...document.querySelectorAll("#findings .entries > li")].map((each) => each.querySelector('[data-line="saves"]'));
  const asked = lines.map((line) => line?.textContent);
  follow(({ rtt }) => lines.forEach((line, index) => {
    if (line) line.textContent = rtt === data.asked_rtt_ms ? asked[index] : `saves ${formatS(savedAt(data, index, rtt))} at ${formatGivenMs(rtt)}`;
  }));
}
