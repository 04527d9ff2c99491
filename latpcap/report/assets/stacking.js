/** Tables whose rows are stacked, each figure below its title: all on narrow screens, the wide ones on paper. */

const narrow = matchMedia("(max-width: 560px)");

/** Stacks what has to be, now. */
export function stack() {
  const onPaper = document.documentElement.classList.contains("paper");
  for (const table of document.querySelectorAll("table.stackable")) {
    table.classList.toggle("stacked", onPaper ? table.classList.contains("wide") : narrow.matches);
  }
}

narrow.addEventListener("change", stack);
