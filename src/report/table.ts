// The figures of one cell: a row for each backend, best median first, the floor apart.

import { higherIsBetter, measuredIn, type Backend, type Bench, type Cell, type Row } from "./data";
import { el, scrollBox, type Child } from "./dom";
import { count, figure, inCell, noFigure, partsPerMillion, range } from "./format";
import { looksOf, swatch } from "./palette";
import { decider } from "./verdict";

interface Part { field: string; text: string; label?: string }

/// A column of figures. `below` is a second one in small figures, followed by `label`.
export interface Column<R> {
  field: string;
  head: string;
  unit: string;
  text: (row: R) => string;
  below?: (row: R) => Part | undefined;
}

function medianColumn(cell: Cell): Column<Row> {
  return {
    field: "p50", head: cell.kind === "drift" ? "Median\nwindow" : "P50", unit: cell.unit,
    text: (row) => inCell(cell, row.p50),
    below: (row) => ({ field: "p50_interval", text: intervalText(cell, row.p50_low, row.p50_high) }),
  };
}

/// The clock's cost matters only in single calls, which pay it on every call.
function netColumns(cell: Cell): Column<Row>[] {
  if (cell.kind !== "tail" || cell.rows.every((row) => row.p50_net === undefined)) return [];
  return [{ field: "p50_net", head: "P50\nnet", unit: "ns", text: (row) => inCell(cell, row.p50_net) }];
}

/// The counts of the processor, if the run has them.
function counterColumns(cell: Cell): Column<Row>[] {
  const column = (field: "instructions" | "branch_misses" | "cache_misses" | "tlb_misses", head: string): Column<Row> =>
    ({ field: `${field}_per_operation`, head, unit: "a call", text: (row) => figure(row[`${field}_per_operation`], 3) });
  const all = [column("instructions", "Instruc-\ntions"), column("branch_misses", "Branch\nmisses"),
    column("cache_misses", "Cache\nmisses"), column("tlb_misses", "TLB\nmisses")];
  return all.filter(({ field }) => cell.rows.some((row) => typeof row[field as keyof Row] === "number"));
}

function exceedanceColumns(cell: Cell): Column<Row>[] {
  if (cell.kind === "round") return []; // a round is longer than the least threshold
  return [
    { field: "over_100ns_ppm", head: ">100 ns", unit: "ppm", text: (row) => partsPerMillion(row.over_100ns_ppm) },
    { field: "over_1us_ppm", head: ">1 µs", unit: "ppm", text: (row) => partsPerMillion(row.over_1us_ppm) },
    { field: "over_10us_ppm", head: ">10 µs", unit: "ppm", text: (row) => partsPerMillion(row.over_10us_ppm) },
  ];
}

/// The requests of a round of containers to the heap, and the memory that it held.
function memoryColumns(cell: Cell): Column<Row>[] {
  if (cell.kind !== "round") return [];
  return [
    { field: "heap_calls", head: "Heap\ncalls", unit: "a round", text: (row) => count(row.heap_calls) },
    { field: "held_bytes", head: "Held", unit: "bytes", text: (row) => count(row.held_bytes) },
  ];
}

function timeColumns(cell: Cell): Column<Row>[] {
  const time = (value: number | null | undefined) => inCell(cell, value);
  return [
    medianColumn(cell),
    ...netColumns(cell),
    { field: "p90", head: "P90", unit: "ns", text: (row) => time(row.p90) },
    { field: "p99", head: "P99", unit: "ns", text: (row) => time(row.p99) },
    { field: "p999", head: "P99.9", unit: "ns", text: (row) => time(row.p999),
      below: (row) => ({ field: "p999_interval", text: intervalText(cell, row.p999_low, row.p999_high) }) },
    { field: "jitter", head: "P99.9\n\u2212P50", unit: "ns", text: (row) => time(row.p999 - row.p50) },
    { field: "p9999", head: "P99.99", unit: "ns", text: (row) => time(row.p9999) },
    ...exceedanceColumns(cell),
    { field: "max", head: "Max", unit: "ns", text: (row) => count(row.max) },
    ...memoryColumns(cell),
    ...counterColumns(cell),
  ];
}

/// The worst window is that of any process; the other figures are medians over processes.
function driftColumns(cell: Cell): Column<Row>[] {
  const column = (field: "first" | "last" | "worst", head: string): Column<Row> =>
    ({ field, head, unit: cell.unit, text: (row) => inCell(cell, row.windows?.[field]) });
  return [
    medianColumn(cell), column("first", "First"), column("last", "Last"), column("worst", "Worst"),
    { field: "slope_ns_per_million", head: "Slope", unit: "ns a million",
      text: (row) => figure(row.windows?.slope_ns_per_million, 3) },
  ];
}

function barColumns(cell: Cell): Column<Row>[] {
  const { unit } = cell;
  return [
    medianColumn(cell),
    { field: "mean", head: "Mean", unit, text: (row) => inCell(cell, row.mean) },
    { field: "max", head: "Max", unit, text: (row) => inCell(cell, row.max) },
    ...counterColumns(cell),
  ];
}

function countColumns(cell: Cell): Column<Row>[] {
  const resident: Column<Row> = {
    field: "resident_kib", head: "Resident", unit: "KiB", text: (row) => count(row.resident_kib),
  };
  const peak: Column<Row> = {
    field: "peak_bytes", head: "Peak", unit: "KiB",
    text: ({ peak_bytes: bytes }) => count(typeof bytes === "number" ? bytes / 1024 : bytes),
  };
  return [
    ...(cell.rows.some((row) => typeof row.peak_bytes === "number") ? [peak] : []),
    { field: "page_faults", head: "Faults", unit: "pages", text: (row) => count(row.page_faults),
      below: ({ page_faults_setup: setup }) => setup === undefined
        ? undefined : { field: "page_faults_setup", text: count(setup) } },
    ...(cell.rows.some((row) => row.resident_kib !== undefined) ? [resident] : []),
    { field: "samples", head: "Samples", unit: "processes", text: (row) => count(row.samples),
      below: (row) => ({ field: "processes", text: count(row.processes), label: " proc." }) },
  ];
}

/// A cell without a distribution or a course has a bar in each row.
export function hasBars(cell: Cell): boolean {
  return cell.kind === "phase" || cell.kind === "rate" || cell.kind === "bytes";
}

function columnsOf(cell: Cell): Column<Row>[] {
  const own = hasBars(cell) ? barColumns(cell) : cell.kind === "drift" ? driftColumns(cell) : timeColumns(cell);
  return [...own, ...countColumns(cell)];
}

function intervalText(cell: Cell, low: number, high: number): string {
  return range(low, high, (value) => inCell(cell, value));
}

export function figureCell<R>(column: Column<R>, row: R): HTMLElement {
  const below = column.below?.(row);
  return el("td", {},
    el("span", { "data-field": column.field }, column.text(row)),
    below && el("small", {}, el("span", { "data-field": below.field }, below.text), below.label));
}

/// A bar as long as the median, with the interval over processes. A bar of `longest` fills the column.
function barCell(row: Row, backend: Backend, colour: string, longest: number): HTMLElement {
  if (backend.kind === "control") return el("td", { class: "bar" });
  const share = (value: number) => `${Math.max(0, Math.min(100, (value / longest) * 100)).toFixed(2)}%`;
  const spread = Math.max(0, row.p50_high - row.p50_low);
  return el("td", { class: "bar", "aria-hidden": "true" },
    el("div", { class: "track" },
      el("div", { class: `fill ${backend.kind}`, style: `width: ${share(row.p50)}; background: var(${colour})` }),
      el("div", { class: "spread", style: `left: ${share(row.p50_low)}; width: ${share(spread)}` })));
}

function sortedRows(cell: Cell): Row[] {
  const direction = higherIsBetter(cell) ? -1 : 1;
  return [...cell.rows].sort((a, b) => direction * (a.p50 - b.p50));
}

export function headCell<R>({ head, unit }: Column<R>): HTMLElement {
  return el("th", { scope: "col" }, head, el("span", { class: "unit" }, unit));
}

function headRow(cell: Cell, columns: Column<Row>[]): HTMLElement {
  const bars = hasBars(cell) ? el("th", { scope: "col", class: "bar" }, "P50 and its interval") : null;
  return el("tr", {}, el("th", { scope: "col" }, "Backend"), bars, ...columns.map(headCell));
}

/// Explains the order of the rows, the small figures, and why a figure may be absent.
function captionOf(cell: Cell): string {
  const order = higherIsBetter(cell) ? "highest" : "lowest";
  const first = cell.kind === "drift" ? "median window" : "P50";
  const worst = cell.kind === "drift" ? "; worst: of any process" : "";
  const noP9999 = !hasBars(cell) && cell.kind !== "drift" && cell.rows.some((row) => row.p9999 === null)
    ? `; ${noFigure}: under 100,000 samples` : "";
  return `${order} ${first} first; small figures: 95 % interval over processes, faults of the setup${worst}${noP9999}`;
}

function absentNote(bench: Bench, cell: Cell): Child {
  const absent = measuredIn(bench, cell.kind === "round").filter((each) => !cell.rows.some((row) => row.backend === each.name));
  if (absent.length === 0) return null;
  return el("p", { class: "note" }, `Not in this cell: ${absent.map((each) => each.title).join(", ")}.`);
}

/// `best` is the row to mark as the winner; none in a void cell, or if the figure does not measure merit.
export function cellTable(bench: Bench, cell: Cell, best: Row | undefined): HTMLElement {
  const columns = columnsOf(cell);
  const backends = new Map(bench.backends.map((each) => [each.name, each]));
  const looks = looksOf(bench.backends);
  const rows = sortedRows(cell);
  const kindOf = (row: Row) => backends.get(row.backend)?.kind;
  const longest = Math.max(...rows.filter((row) => kindOf(row) !== "control").map((row) => row.p50_high)) || 1;

  const line = (row: Row): HTMLElement => {
    const backend = backends.get(row.backend) ?? { name: row.backend, title: row.backend, kind: "general" as const };
    const look = looks.get(row.backend);
    const mark = row === best && el("span", { class: "mark", title: "best of the competitors" }, "\u25cf");
    return el("tr", { "data-backend": row.backend, "data-kind": backend.kind, class: mark ? "winner" : undefined,
      "data-decider": decider(cell).field },
      el("th", { scope: "row" }, look ? swatch(look) : null, backend.title, mark),
      hasBars(cell) ? barCell(row, backend, look?.colour ?? "--line-1", longest) : null,
      ...columns.map((column) => figureCell(column, row)));
  };

  return el("div", { class: "figures" },
    scrollBox(`Figures of ${cell.id}`,
      el("table", { class: hasBars(cell) ? "bars" : undefined },
        el("caption", {}, el("span", {}, captionOf(cell))),
        el("thead", {}, headRow(cell, columns)),
        el("tbody", {}, ...rows.filter((row) => kindOf(row) !== "control").map(line)),
        el("tfoot", {}, ...rows.filter((row) => kindOf(row) === "control").map(line)))),
    absentNote(bench, cell));
}
