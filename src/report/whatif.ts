// What if the load or the age of the reports were another: all policies at one place of a grid that was simulated
// beforehand. The reader moves between the places.

import { roundStep } from "./chart";
import type { Lines } from "./data";
import { el, scrollBox } from "./dom";
import { count, figure, inServices, percentMore, refusedShare } from "./format";
import { looksOf, swatch, type Look } from "./palette";
import { ours, type WhatIf, type WhatIfCell } from "./simulated";

const heads = [["P50", "services"], ["P99.9", "services"], ["Above", "the least"], ["Refused", "of the tasks"]] as const;
const few = 3; // policies that the sentence names besides the best

/// The policies at one place, the least P99.9 first.
function cellsAt({ cells, loads, staleness }: WhatIf, load: number, age: number): WhatIfCell[] {
  return cells.filter((cell) => cell.load === loads[load] && cell.staleness === staleness[age])
    .sort((a, b) => a.p999 - b.p999);
}

function answer(cells: WhatIfCell[]): string {
  const [best, ...others] = cells;
  if (!best) return "Nothing was simulated here.";
  const above = (cell: WhatIfCell) => `${cell.policy} ${percentMore(cell.p999 / best.p999 - 1)}`;
  const named = others.slice(0, few);
  const us = others.find((cell) => cell.policy === ours);
  if (us && !named.includes(us)) named.push(us);
  const next = named.length > 0 ? ` Above it: ${named.map(above).join(", ")}.` : "";
  const old = best.staleness === 0 ? "reports that are seen at once"
    : `reports ${figure(best.staleness, 0)} mean service ${best.staleness === 1 ? "time" : "times"} old`;
  return `At load ${best.load}, with ${old}, ${best.policy} has the least P99.9: ${inServices(best.p999)} mean ` +
    `service times.${next}`;
}

/// Where a sojourn is on the axis that all places share, from 0 to 100 %.
type Axis = (sojourn: number) => string;

function axisOf({ cells }: WhatIf): { axis: Axis; ticks: number[] } {
  const positive = cells.flatMap((cell) => [cell.p50, cell.p999]).filter((value) => value > 0);
  const low = roundStep(Math.min(...positive), -1), high = roundStep(Math.max(...positive), 1);
  const axis = (sojourn: number) =>
    `${Math.min(100, Math.max(0, (Math.log(sojourn / low) / Math.log(high / low)) * 100)).toFixed(2)}%`;
  const decades = Array.from({ length: 12 }, (_, i) => 10 ** (i - 3));
  return { axis, ticks: decades.flatMap((each) => [each, 3 * each]).filter((each) => each >= low && each <= high) };
}

function row(cell: WhatIfCell, best: WhatIfCell, axis: Axis, look: Look | undefined): HTMLElement {
  const text = (field: string, content: string) => el("td", { "data-field": field }, content);
  const left = axis(cell.p50), right = axis(cell.p999), colour = `background: var(${look?.colour ?? "--line-1"})`;
  return el("tr", { "data-backend": cell.policy, "data-kind": cell.policy === ours ? "subject" : "general",
    class: cell === best ? "winner" : undefined, "data-decider": "p999" },
    el("th", { scope: "row" }, look ? swatch(look) : null, cell.policy,
      cell === best && el("span", { class: "mark", title: "the least P99.9 here" }, "\u25cf")),
    el("td", { class: "bar", "aria-hidden": "true" },
      el("div", { class: "track" },
        el("div", { class: "reach", style: `left: ${left}; width: calc(${right} - ${left}); ${colour}` }),
        el("div", { class: "middle", style: `left: ${left}` }),
        el("div", { class: "end", style: `left: ${right}; ${colour}` }))),
    text("p50", inServices(cell.p50)),
    text("p999", inServices(cell.p999)),
    text("above", percentMore(cell.p999 / best.p999 - 1)),
    text("refused", refusedShare(cell.refused)));
}

interface Slider { element: HTMLElement; input: HTMLInputElement }

function slider(id: string, name: string, values: number[], text: (value: number) => string,
                moved: () => void): Slider {
  const input = el("input", { type: "range", id, min: 0, max: values.length - 1, step: 1, input: moved });
  input.value = String(values.length >> 1);
  return { input, element: el("div", { class: "slider" },
    el("label", { for: id }, name),
    input,
    el("div", { class: "ticks", "aria-hidden": "true" }, ...values.map((value) => el("span", {}, text(value))))) };
}

export function whatIfSection(lines: Lines, whatIf: WhatIf | undefined): HTMLElement | null {
  if (!whatIf || whatIf.cells.length === 0) return null;
  const { loads, staleness, workload } = whatIf;
  const looks = looksOf(lines.backends);
  const { axis, ticks } = axisOf(whatIf);
  const show = () => { draw(Number(load.input.value), Number(age.input.value)); };
  const load = slider("what-if-load", "Load of all workers", loads, (value) => figure(value, 2), show);
  const age = slider("what-if-age", "Age of the reports, mean service times", staleness, (value) => figure(value, 0),
    show);

  const said = el("p", { class: "answer", "aria-live": "polite" });
  const body = el("tbody");
  const go = (toLoad: number, toAge: number) => {
    load.input.value = String(toLoad);
    age.input.value = String(toAge);
    show();
  };
  const places = loads.map((_, i) => staleness.map((_each, j) => {
    const [best] = cellsAt(whatIf, i, j);
    return el("button", { type: "button", "data-place": `${loads[i]} ${staleness[j]}`, click: () => go(i, j) },
      best?.policy ?? "\u2014", el("small", {}, inServices(best?.p999)));
  }));

  function draw(atLoad: number, atAge: number): void {
    const cells = cellsAt(whatIf as WhatIf, atLoad, atAge);
    const [best] = cells;
    said.textContent = answer(cells);
    body.replaceChildren(...cells.map((cell) => row(cell, best as WhatIfCell, axis, looks.get(cell.policy))));
    load.input.setAttribute("aria-valuetext", `load ${figure(loads[atLoad], 2)}`);
    age.input.setAttribute("aria-valuetext", `${figure(staleness[atAge], 0)} mean service times`);
    places.forEach((line, i) => line.forEach((button, j) =>
      button.setAttribute("aria-pressed", String(i === atLoad && j === atAge))));
  }
  draw(Number(load.input.value), Number(age.input.value));

  const bars = scrollBox("Policies at this load and age of the reports",
    el("table", { class: "figures" },
      el("caption", {}, el("span", {},
        "Each line goes from the median (\u2502) to P99.9 (\u25cf), on a scale of ratios that is the same everywhere.")),
      el("thead", {}, el("tr", {},
        el("th", { scope: "col" }, "Policy"),
        el("th", { scope: "col", class: "bar" },
          el("div", { class: "track", "aria-hidden": "true" }, ...ticks.map((value) =>
            el("span", { class: Number.isInteger(Math.log10(value)) ? "decade" : "", style: `left: ${axis(value)}` }, figure(value, value < 1 ? 1 : 0))))),
        ...heads.map(([head, unit]) => el("th", { scope: "col" }, head, el("span", { class: "unit" }, unit))))),
      body));
  const map = scrollBox("The policy with the least P99.9 everywhere",
    el("table", { class: "map" },
      el("caption", {}, el("span", {},
        "The least P99.9 at each load (down) and age of the reports (across). A press goes there.")),
      el("thead", {}, el("tr", {},
        el("th", { scope: "col" }, "Load"), ...staleness.map((each) => el("th", { scope: "col" }, figure(each, 0))))),
      el("tbody", {}, ...places.map((line, i) => el("tr", {},
        el("th", { scope: "row" }, figure(loads[i], 2)), ...line.map((button) => el("td", {}, button)))))));

  return el("section", { id: "what-if", "aria-labelledby": "what-if-title" },
    el("h2", { id: "what-if-title" }, "What if",
      el("span", { class: "meaning" }, "another load, older reports")),
    el("p", { class: "key" },
      "A plain workload of its own, neither trained on nor held out: ",
      `${workload.shards} equal workers, ${workload.dispatchers} dispatchers that do not see each other, `,
      `${workload.service} service of one type. Each place was simulated beforehand, with the same `,
      `${count(whatIf.tasks)} tasks for each policy (seed ${whatIf.seed}). It is one run each: differences of a few `,
      "percent can be chance."),
    el("div", { class: "sliders" }, load.element, age.element),
    said,
    el("div", { class: "what-if" }, bars, map));
}
