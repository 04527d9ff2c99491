/** On paper: light colours, the width of the page, everything unfolded. */

import { fitCharts, redrawCharts } from "./charts.js";
import { fitTables } from "./table.js";

const ON_PAPER = 0.6; // of a chart's height: so less of a page is left empty before it

/** Prepares the page for paper, and puts it back afterwards. */
export function followPrinting() {
  let unfolded = [];
  addEventListener("beforeprint", () => {
    unfolded = [...document.querySelectorAll("details:not([open])")];
    change(true, unfolded);
  });
  addEventListener("afterprint", () => change(false, unfolded));
}

function change(onPaper, unfolded) {
  document.documentElement.classList.toggle("paper", onPaper);
  for (const each of unfolded) each.open = onPaper;
  fitTables();
  fitCharts(onPaper ? ON_PAPER : 1);
  redrawCharts();
}
