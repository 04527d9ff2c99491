/** How the report was made: of which packets, by which program, under which assumptions, and how right that is. */

import { byId, data, fill, make, withCode } from "./dom.js";
import { bytes, count, counted, moment } from "./format.js";

/** Shows it for each of `sides`: a title, its files and how many more there are, and what the report says of itself. */
export function showSignOff(sides) {
  const known = new Set();
  fill(byId("made"), ...sides.flatMap((side) => [side.title ? make("h3", {}, side.title) : null, facts(side, known)]));
  fill(byId("colophon"), `Made by ${data.program}. This file loads nothing from anywhere. `,
    "Charts: uPlot, © 2022 Leon Sorokin, MIT licence, whose text is in the file.");
}

/** What is said of a side; of sentences that were said already, only that they hold as well. */
function facts({ captures, further = 0, told }, known) {
  const assumed = told.assumptions.filter((text) => !known.has(text));
  const others = assumed.length < told.assumptions.length ? [make("li", {}, "All else as above.")] : [];
  const accuracy = known.has(told.accuracy.text) ? "As above." : told.accuracy.text;
  for (const text of [...told.assumptions, told.accuracy.text]) known.add(text);
  const rows = [
    ["made by", told.program],
    ["captured", told.captured],
    ["packets", packets(told.packets)],
    ["files", [...captures.map(file), further ? make("p", {}, `${count(further)} further files`) : null]],
    ["assumptions", told.assumptions.length ? make("ul", {}, assumed.map((text) => make("li", {}, withCode(text))), others) : null],
    ["accuracy", accuracy],
  ];
  return make("dl", { class: "facts" }, rows.filter(([, value]) => value !== null && value !== "").map(([name, value]) =>
    make("div", {}, make("dt", {}, name), make("dd", {}, value))));
}

const packets = ({ read, decoded, other_tcp: other, skipped }) =>
  `${counted(read, "packet")} read: ${count(decoded)} decoded, ${count(other)} of other TCP connections, ${count(skipped)} skipped`;

function file({ path, format, packets: held, bytes: size, sha256, first_time: first, last_time: last }) {
  const span = first ? `, ${moment(first)} to ${moment(last)}` : "";
  return make("p", {}, make("code", {}, path), ` (${format}, ${counted(held, "packet")}, ${bytes(size)}${span})`,
    sha256 ? [make("br"), "SHA-256 ", make("code", { class: "hash" }, sha256)] : null);
}
