// Each backend has one look on the whole page: a colour that colour-blind readers can distinguish, and a dash for its
// kind.

import type { Backend } from "./data";
import { svg } from "./dom";

/// `colour` is the name of a custom property in page.css, which holds its light and dark values.
export interface Look { colour: string; dash: number[]; width: number }

const solid: number[] = [];
const known: Record<string, Look> = {
  "flatline-pool": { colour: "--line-subject", dash: solid, width: 3.5 },
  "flatline-pool-again": { colour: "--line-again", dash: [2, 3], width: 1.75 },
  "flatline-malloc": { colour: "--line-subject", dash: [9, 2], width: 2.4 },
  "flatline-malloc-latency": { colour: "--line-subject", dash: [5, 3], width: 1.6 },
  "flatline-malloc-memory": { colour: "--line-subject", dash: [2, 2], width: 1.6 },
  "floor": { colour: "--line-floor", dash: [7, 4], width: 1.5 },
  "list": { colour: "--line-list", dash: [1.5, 2.5], width: 1.75 },
  "glibc": { colour: "--line-1", dash: solid, width: 1.6 },
  "glibc-tuned": { colour: "--line-2", dash: [9, 2], width: 1.6 },
  "jemalloc": { colour: "--line-3", dash: solid, width: 1.6 },
  "tcmalloc": { colour: "--line-4", dash: solid, width: 1.6 },
  "mimalloc": { colour: "--line-5", dash: solid, width: 1.6 },
  "boost-pool": { colour: "--line-6", dash: [8, 3, 2, 3], width: 1.6 },
  "foonathan-pool": { colour: "--line-7", dash: [8, 3, 2, 3], width: 1.6 },
};

/// Policies of dispatch, in the simulation: those that look at the same thing share a colour.
const policies: Record<string, Look> = {
  "predictive": { colour: "--line-subject", dash: solid, width: 3.5 },
  "shortest queue": { colour: "--line-1", dash: solid, width: 1.6 },
  "bounded queue": { colour: "--line-1", dash: [6, 3], width: 1.6 },
  "idle queue": { colour: "--line-1", dash: [2, 2], width: 1.6 },
  "two choices": { colour: "--line-2", dash: solid, width: 2 },
  "two choices, memory": { colour: "--line-2", dash: [6, 3], width: 1.6 },
  "shortest delay": { colour: "--line-3", dash: solid, width: 1.6 },
  "stale load": { colour: "--line-3", dash: [6, 3], width: 1.6 },
  "C3": { colour: "--line-4", dash: solid, width: 1.6 },
  "peak EWMA": { colour: "--line-4", dash: [6, 3], width: 1.6 },
  "Prequal": { colour: "--line-6", dash: solid, width: 1.6 },
  "least occupied": { colour: "--line-7", dash: solid, width: 1.6 },
  "round robin": { colour: "--line-5", dash: solid, width: 1.6 },
  "random": { colour: "--line-5", dash: [6, 3], width: 1.6 },
  "central queue": { colour: "--line-list", dash: [1.5, 2.5], width: 1.75 },
  "least work, known": { colour: "--line-floor", dash: [7, 4], width: 1.5 },
};

/// The lines of an audit: those without the calls in which a system call was told are dashed.
const audited: Record<string, Look> = {
  "allocating": { colour: "--line-subject", dash: solid, width: 2.6 },
  "allocating, undisturbed": { colour: "--line-subject", dash: [6, 3], width: 1.6 },
  "freeing": { colour: "--line-1", dash: solid, width: 2.6 },
  "freeing, undisturbed": { colour: "--line-1", dash: [6, 3], width: 1.6 },
};
const colours = 7;
const spareDashes = [[3, 2], [10, 3, 3, 3], [5, 5]];

/// The look of every backend. A backend without a fixed look takes the next colour, with a dash that no other has.
export function looksOf(backends: Backend[]): Map<string, Look> {
  let spare = 0;
  return new Map(backends.map((backend) => {
    const look = known[backend.name] ?? policies[backend.name] ?? audited[backend.name] ?? {
      colour: `--line-${(spare % colours) + 1}`,
      dash: spareDashes[Math.floor(spare++ / colours) % spareDashes.length] ?? solid,
      width: 1.6,
    };
    return [backend.name, look];
  }));
}

/// The colour in the current theme; a canvas cannot read custom properties itself.
export function themeColour(property: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(property).trim();
}

/// A short piece of the backend's line.
export function swatch(look: Look): SVGElement {
  return svg("svg", { class: "swatch", width: 26, height: 8, viewBox: "0 0 26 8", "aria-hidden": "true" },
    svg("line", {
      x1: 0, y1: 4, x2: 26, y2: 4, style: `stroke: var(${look.colour})`,
      "stroke-width": look.width, "stroke-dasharray": look.dash.join(" ") || undefined,
    }));
}
