/** Making elements. Children are nodes or text, never markup. */
export function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "class") node.className = value;
    else if (value !== undefined) node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

export function button(label, act, attributes = {}) {
  const node = element("button", { type: "button", ...attributes }, label);
  node.addEventListener("click", act);
  return node;
}

/** Set text only where it differs, so that a selection or a screen reader is not disturbed. */
export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** A value as text that people can read. */
export function pretty(value) {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}
