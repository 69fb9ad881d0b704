// The gates: what queueing theory says, and what the simulator gives.

import { el, scrollBox } from "./dom";
import { figure, noFigure, range } from "./format";
import type { Gate } from "./simulated";

/// Five significant digits, as the laws are compared to within fractions of a percent.
function precise(value: number): string {
  if (value === 0) return "0";
  return figure(value, Math.min(6, Math.max(0, 4 - Math.floor(Math.log10(Math.abs(value))))));
}

function signed(share: number): string {
  const text = figure(share * 100, 2);
  return `${share >= 0 ? "+" : ""}${text}\u00a0%`;
}

function line(gate: Gate): HTMLElement {
  const { law, expected, measured, interval: [low, high], holds } = gate;
  const cell = (field: string, text: string) => el("td", { "data-field": field }, text);
  return el("tr", { "data-law": law, class: holds ? undefined : "broken" },
    el("th", { scope: "row" }, law),
    cell("expected", precise(expected)),
    cell("measured", precise(measured)),
    cell("error", expected === 0 ? noFigure : signed(measured / expected - 1)),
    cell("interval", range(low, high, precise)),
    cell("width", `${figure(((high - low) / measured) * 100, 2)}\u00a0%`),
    el("td", { "data-field": "holds", class: holds ? "winner" : "loser" }, 
      holds ? "\u2713 holds" : isClose(gate) ? "\u2717 interval too wide" : "\u2717 does not hold"));
}

/// Whether the measured value is within 1 % of the law, whatever its interval.
function isClose({ expected, measured }: Gate): boolean {
  return Math.abs(measured / expected - 1) <= 0.01;
}

/// "All 16 laws hold", or how many do not.
export function lawsText(gates: Gate[]): string {
  const broken = gates.filter((gate) => !gate.holds);
  const wide = broken.filter(isClose).length;
  if (gates.length === 0) return "The simulator was not checked against queueing theory in this run.";
  return broken.length === 0
    ? `All ${gates.length} laws of queueing theory hold in the simulator: within 1 %, by a 95 % interval of less ` +
      "than 0.5 %."
    : `${broken.length} of ${gates.length} laws of queueing theory are not shown to hold in this run, within 1 % by a ` +
      `95 % interval of less than 0.5 %${wide > 0 ? ` (in ${wide} of them only the interval is too wide)` : ""}. ` +
      "Nothing else here is to be believed before they are.";
}

export function lawsSection(gates: Gate[]): HTMLElement {
  return el("section", { id: "laws", "aria-labelledby": "laws-title" },
    el("h2", { id: "laws-title" }, "Laws",
      el("span", { class: "meaning" }, "systems that queueing theory has solved, simulated")),
    el("p", { class: "key" }, lawsText(gates)),
    gates.length > 0 && scrollBox("Laws of queueing theory",
      el("table", { class: "laws" },
        el("thead", {}, el("tr", {},
          ...["Law", "Expected", "Measured", "Error", "95 % interval", "Its width", ""].map((name) =>
            el("th", { scope: "col" }, name)))),
        el("tbody", {}, ...gates.map(line)))));
}
