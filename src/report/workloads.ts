// One workload: the tail of each policy as a chart, and its figures as a table.

import type { Chart } from "./chart";
import type { Lines } from "./data";
import { el, scrollBox } from "./dom";
import { figure, inServices, percentMore, range, refusedShare } from "./format";
import { looksOf, swatch } from "./palette";
import { figureCell, headCell, type Column } from "./table";
import { TailChart, rowsOf, type PolicyRow } from "./tail";
import type { WorkloadCells } from "./simulated";
import type { View } from "./view";

const columns: Column<PolicyRow>[] = [
  { field: "p50", head: "P50", unit: "services", text: (row) => inServices(row.p50) },
  { field: "p99", head: "P99", unit: "services", text: (row) => inServices(row.p99) },
  { field: "p999", head: "P99.9", unit: "services", text: (row) => inServices(row.p999),
    below: ({ p999_interval: [low, high] }) =>
      ({ field: "p999_interval", text: range(Math.max(0, low), high, inServices) }) },
  { field: "regret", head: "Regret", unit: "of P99.9", text: (row) => percentMore(row.regret) },
  { field: "max", head: "Longest", unit: "services", text: (row) => inServices(row.max) },
  { field: "refused", head: "Refused", unit: "of the tasks", text: (row) => refusedShare(row.refused) },
  { field: "fairness", head: "Fairness", unit: "1 is equal", text: (row) => figure(row.fairness, 3) },
  { field: "reports_read", head: "Reports", unit: "read a pick", text: (row) => figure(row.reports_read, 2) },
];

function policyTable(lines: Lines, workload: WorkloadCells): HTMLElement {
  const looks = looksOf(lines.backends);
  const rows = rowsOf(workload).sort((a, b) => a.p999 - b.p999);
  const line = (row: PolicyRow): HTMLElement => {
    const look = looks.get(row.backend);
    const best = row.implementable && row.regret === 0;
    return el("tr", { "data-backend": row.backend, class: best ? "winner" : undefined, "data-decider": "p999",
      "data-kind": lines.backends.find(({ name }) => name === row.backend)?.kind },
      el("th", { scope: "row" }, look ? swatch(look) : null, row.policy,
        best && el("span", { class: "mark", title: "the least P99.9 of the implementable policies" }, "\u25cf")),
      ...columns.map((column) => figureCell(column, row)));
  };
  return el("div", { class: "figures" },
    scrollBox(`Figures of ${workload.name}`,
      el("table", {},
        el("caption", {}, el("span", {}, "The least P99.9 first; the small figures are its 95 % interval over the ",
          "seeds. The last lines know what no policy can.")),
        el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Policy"), ...columns.map(headCell))),
        el("tbody", {}, ...rows.filter((row) => row.implementable).map(line)),
        el("tfoot", {}, ...rows.filter((row) => !row.implementable).map(line)))));
}

/// What the name of a kind of workload means.
const meanings: Record<string, string> = {
  "deterministic": "every task takes the same time",
  "exponential": "equal workers, exponential service, fresh reports",
  "bimodal": "one task of 200 takes hundreds of times longer",
  "bounded Pareto": "a few tasks take very long",
  "bursts": "arrivals come several times faster for a tenth of the time",
  "two types": "short and long tasks, each of a known type",
  "different cores": "some workers are slower, always",
  "slowed core": "something else slows a worker at times",
  "memory hogs": "some tasks hold many of a worker's blocks for long after they ran",
  "memory hogs, refused": "the same, and tasks that find too few blocks are refused",
  "stale reports": "what workers say is seen late",
  "unevenly stale reports": "what every second worker says is seen later",
  "many dispatchers": "64 workers, and dispatchers that do not see each other",
};

function workloadPart(lines: Lines, workload: WorkloadCells, view: View):
    { element: HTMLElement; chart: Chart<PolicyRow> } {
  const chart = new TailChart(lines, workload, view);
  const kind = workload.name.replace(/ \d+$/, "");
  const element = el("article", { id: workload.id, class: "cell workload", "data-cell": workload.id,
    style: `--rows: ${workload.cells.length}` },
    el("header", {},
      el("h3", {}, workload.name),
      el("span", { class: "method" }, meanings[kind] ?? ""),
      !workload.heldOut && el("span", { class: "badge" }, "training")),
    el("div", { class: "pair" }, chart.element, policyTable(lines, workload)));
  return { element, chart };
}

/// The section of all workloads of one kind, and its charts, which must be drawn once it is in the document.
export function workloadsSection(lines: Lines, workloads: WorkloadCells[], view: View, id: string, name: string):
    { element: HTMLElement; name: string; charts: Chart<PolicyRow>[] } {
  const parts = workloads.map((workload) => workloadPart(lines, workload, view));
  const element = el("section", { id, "aria-labelledby": `${id}-title` },
    el("h2", { id: `${id}-title` }, `${name} workloads`,
      el("span", { class: "meaning" }, "sojourns, from when a task comes to when it ends, in mean service times")),
    ...parts.map((part) => part.element));
  return { element, name: `${name} workloads`, charts: parts.map((part) => part.chart) };
}
