/** Elements are made here. Texts go in as text nodes only, so nothing that a capture holds becomes markup. */

/** The element with this id. */
export const byId = (id) => document.getElementById(id);

/** A new element; attributes that are null are left out, strings among the children become text. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** A button that does something. */
export function button(text, action, attributes = {}) {
  const element = make("button", { type: "button", ...attributes }, text);
  element.addEventListener("click", action);
  return element;
}

/** Puts `children` in the place of what `element` holds. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));
}

/** The data of the page. */
export const data = JSON.parse(byId("data").textContent);
