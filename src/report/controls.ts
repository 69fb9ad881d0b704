// The bar that stays at the top: links to sections, visible lines, scale, theme.

import type { Lines } from "./data";
import { el, type Child } from "./dom";
import { looksOf, swatch } from "./palette";
import type { ScaleChoice, View } from "./view";

type Theme = "light" | "dark";

function systemTheme(): Theme {
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

function setTheme(theme: Theme, view: View): void {
  document.documentElement.dataset["theme"] = theme;
  view.changed();
}

function themeButton(view: View): HTMLElement {
  const button = el("button", { type: "button", class: "theme", click: () => {
    setTheme(document.documentElement.dataset["theme"] === "dark" ? "light" : "dark", view);
  } });
  const rename = () => {
    button.textContent = document.documentElement.dataset["theme"] === "dark" ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to the ${button.textContent.toLowerCase()} theme`);
  };
  view.onChange(rename);
  rename();
  return button;
}

/// The theme follows the system until the reader chooses one. Print is always light, and shows folded content.
export function followTheme(view: View): void {
  document.documentElement.dataset["theme"] = systemTheme();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => setTheme(systemTheme(), view));
  let before: Theme = "light";
  addEventListener("beforeprint", () => {
    before = document.documentElement.dataset["theme"] === "dark" ? "dark" : "light";
    for (const details of document.querySelectorAll("details")) details.open = true;
    setTheme("light", view);
  });
  addEventListener("afterprint", () => setTheme(before, view));
}

function scaleChoice(view: View, axis: string): HTMLElement {
  const choices: ScaleChoice[] = ["auto", "log", "linear"];
  const select = el("select", { "aria-label": "Scale of the curves' time axis", change: (event) => {
    view.choose((event.target as HTMLSelectElement).value as ScaleChoice);
  } }, ...choices.map((choice) => el("option", { value: choice, selected: choice === view.scale }, choice)));
  return el("label", { class: "scale-choice" }, `${axis} axis `, select);
}

function navigation(places: [string, string][]): HTMLElement {
  const go = (event: Event) => { location.hash = (event.target as HTMLSelectElement).value; };
  return el("nav", { "aria-label": "Sections" },
    el("div", { class: "places" }, ...places.map(([id, name]) => el("a", { href: `#${id}` }, name))),
    el("select", { class: "places-choice", "aria-label": "Go to section", change: go },
      ...places.map(([id, name]) => el("option", { value: id }, name))));
}

/// Marks the section that is being read.
export function followReading(places: [string, string][]): void {
  const links = new Map([...document.querySelectorAll<HTMLAnchorElement>(".places a")]
    .map((link) => [link.hash.slice(1), link]));
  const select = document.querySelector<HTMLSelectElement>(".places-choice");
  const inView = new Set<string>();
  const observer = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) inView.add(target.id);
      else inView.delete(target.id);
    }
    const current = places.find(([id]) => inView.has(id))?.[0];
    if (!current) return;
    for (const [id, link] of links) {
      if (id === current) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
    if (select) select.value = current;
  }, { rootMargin: "-25% 0px -70% 0px" });
  for (const [id] of places) {
    const section = document.getElementById(id);
    if (section) observer.observe(section);
  }
}

/// A button for each backend. Turned off, it hides the backend's line, row, bar and column on the whole page.
function legend(bench: Lines, view: View, name: string): HTMLElement {
  const looks = looksOf(bench.backends);
  const style = el("style");
  document.head.append(style);
  const buttons = bench.backends.map((backend) => {
    const look = looks.get(backend.name);
    return el("button", { type: "button", "aria-pressed": "true", "data-toggle": backend.name,
      title: `Show or hide ${backend.title}`, click: () => view.toggle(backend.name) },
      look ? swatch(look) : null, backend.title);
  });
  const all = el("button", { type: "button", class: "all", click: () => view.showAll() }, "Show all");
  view.onChange(() => {
    for (const button of buttons) {
      button.setAttribute("aria-pressed", String(!view.hidden.has(button.dataset["toggle"] ?? "")));
    }
    style.textContent = [...view.hidden]
      .map((name) => `[data-backend=${JSON.stringify(name)}] { display: none }`).join("\n");
  });
  return el("div", { class: "legend scroll", role: "group", "aria-label": `${name} shown`, tabindex: 0 },
    ...buttons, all);
}

/// What the page calls its lines, and the axis along which they are read.
export interface Named { lines: string; axis: string }

/// The bar at the top: links to the sections, `choices` beside them, and below them `filters`.
export function toolbarOf(view: View, places: [string, string][], choices: Child[], filters: Child): HTMLElement {
  const bar = el("div", { class: "toolbar" },
    el("div", { class: "row" }, navigation(places), ...choices, themeButton(view)), filters);
  // A jump target must stop below the bar, whose height depends on how its buttons wrap.
  new ResizeObserver(() => {
    document.documentElement.style.setProperty("--top", `${bar.offsetHeight}px`);
  }).observe(bar);
  return bar;
}

export function toolbar(bench: Lines, view: View, places: [string, string][], save: HTMLElement,
                        named: Named = { lines: "Backends", axis: "ns" }): HTMLElement {
  return toolbarOf(view, places, [scaleChoice(view, named.axis), save], legend(bench, view, named.lines));
}
