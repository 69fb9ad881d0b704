// Whether the gain that an engine would state of itself is right, where the truth is known.

import { el, scrollBox } from "./dom";
import { count, noFigure, percent, range } from "./format";
import type { Switchback, SwitchbackPair } from "./simulated";

/// A share as a percentage; null is one that could not be told.
function share(value: number | null | undefined): string {
  return typeof value === "number" ? percent(value) : noFigure;
}

function line(pair: SwitchbackPair): HTMLElement {
  const { workload, policy, fallback, truth, truth_interval: interval, measured, cases, covered } = pair;
  const cell = (field: string, text: string, below = "") =>
    el("td", {}, el("span", { "data-field": field }, text),
      below !== "" && el("small", {}, el("span", { "data-field": `${field}_interval` }, below)));
  return el("tr", { "data-pair": `${workload}, ${policy}, ${fallback}` },
    el("th", { scope: "row" }, workload),
    el("td", {}, policy), el("td", {}, fallback),
    cell("truth", share(truth), interval && range(interval[0], interval[1], share)),
    cell("measured", share(measured)),
    cell("covered", `${count(covered)} of ${count(cases)}`),
    cell("half_width", share(pair.median_half_width)));
}

export function switchbackSection(switchback: Switchback | undefined): HTMLElement | null {
  if (!switchback) return null;
  const { cases, covered, median_half_width: halfWidth, pairs } = switchback;
  return el("section", { id: "switchback", "aria-labelledby": "switchback-title" },
    el("h2", { id: "switchback-title" }, "Switchback",
      el("span", { class: "meaning" }, "time slices under one policy or the other, at random")),
    el("p", { class: "key" },
      `The 95 % interval holds the true gain in ${count(covered)} of ${count(cases)} cases. Half of the intervals reach `,
      `at most ${share(halfWidth)} to each side. Gains are of P99.9, as shares of the fallback's; the true ones are from `,
      "long runs of each policy alone."),
    pairs.length > 0 && scrollBox("Pairs of policies under switchback",
      el("table", { class: "switchbacks" },
        el("thead", {}, el("tr", {},
          ...["Workload", "Policy", "Fallback", "True gain", "Measured, mean", "Intervals that hold it",
            "Median half-width"].map((name) => el("th", { scope: "col" }, name)))),
        el("tbody", {}, ...pairs.map(line)))));
}
