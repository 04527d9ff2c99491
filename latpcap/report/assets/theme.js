/** Light, dark, or as the system has it. */

import { button, byId, fill } from "./dom.js";
import { redrawCharts } from "./charts.js";

const THEMES = { auto: "Auto", light: "Light", dark: "Dark" };

/** Shows the three buttons, and redraws the charts when the colours change. */
export function showTheme() {
  const buttons = Object.entries(THEMES).map(([name, text]) =>
    button(text, () => choose(name, buttons), { "data-theme-name": name, "aria-pressed": name === "auto" }),
  );
  fill(byId("theme"), ...buttons);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawCharts);
}

function choose(name, buttons) {
  if (name === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  for (const each of buttons) each.setAttribute("aria-pressed", each.dataset.themeName === name);
  redrawCharts();
}
