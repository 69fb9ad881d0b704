// Suite engine: what an overload counted, in addition to the times.

import type { Bench, Cell, Row } from "./data";
import { el, scrollBox } from "./dom";
import { count } from "./format";

/// Every cell has this one; a cell with others has a table of them.
const always = "counters apart";

function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return ((sorted[(sorted.length - 1) >> 1] ?? 0) + (sorted[sorted.length >> 1] ?? 0)) / 2;
}

/// The counts of each queue, as the median over the processes; null iff there are none.
export function countsTable(bench: Bench, cell: Cell): HTMLElement | null {
  const names = [...new Set(cell.rows.flatMap((row) => Object.keys(row.counts ?? {})))].filter((name) => name !== always);
  if (names.length === 0) return null;
  const titles = new Map(bench.backends.map((each) => [each.name, each.title]));
  const line = (row: Row) => el("tr", { "data-backend": row.backend },
    el("th", { scope: "row" }, titles.get(row.backend) ?? row.backend),
    ...names.map((name) => el("td", { "data-field": `count ${name}` },
      count(row.counts?.[name] && median(row.counts[name] ?? [])))));
  return el("div", { class: "counts" },
    scrollBox(`Counts of ${cell.id}`,
      el("table", { class: "plain" },
        el("caption", {}, el("span", {}, "medians over the processes; every figure of each process is in the data")),
        el("thead", {}, el("tr", {},
          el("th", { scope: "col" }, "Queue"), ...names.map((name) => el("th", { scope: "col" }, name)))),
        el("tbody", {}, ...cell.rows.map(line)))));
}
