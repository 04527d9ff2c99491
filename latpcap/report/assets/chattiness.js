/** How many round trips the application makes for what it gets done, and the pace of its requests: as captured. */

import { byId, data, fill, make } from "./dom.js";

const rows = data.chattiness;

/** Shows the table; without a round trip there is none. */
export function showChattiness() {
  byId("chattiness").hidden = rows.length === 0;
  fill(byId("chattiness-table"), make("table", { class: "numbers" },
    make("caption", { class: "unseen" }, "Chattiness"),
    make("thead", {}, make("tr", {}, ["ratio", "value", "from"].map((title, at) =>
      make("th", { scope: "col", class: at === 1 ? null : "text" }, title)))),
    make("tbody", {}, rows.map(([ratio, value, from]) =>
      make("tr", {}, make("th", { scope: "row" }, ratio), make("td", {}, value), make("td", { class: "text" }, from))))));
}
