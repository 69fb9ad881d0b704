// All elements of the page are made here, and none from strings of HTML, so text from the data stays text.

export type Child = Node | string | null | false | undefined;
type Attributes = Record<string, string | boolean | number | undefined | ((event: Event) => void)>;

function apply(element: Element, attributes: Attributes, children: Child[]): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== undefined) element.setAttribute(name, String(value));
  }
  for (const child of children) if (child) element.append(child);
}

/// An element with its attributes and children. An attribute that is a function is a listener; false or undefined
/// leaves it out.
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  apply(element, attributes, children);
  return element;
}

export function svg(tag: string, attributes: Attributes = {}, ...children: Child[]): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  apply(element, attributes, children);
  return element;
}

/// A box that scrolls horizontally on its own and can be reached by keyboard.
export function scrollBox(label: string, ...children: Child[]): HTMLElement {
  return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, ...children);
}
