// The figures of one cell: a row for each backend, best median first, the floor apart.

import { higherIsBetter, type Backend, type Bench, type Cell, type Row } from "./data";
import { el, scrollBox, type Child } from "./dom";
import { count, inCell, noFigure, partsPerMillion } from "./format";
import { looksOf, swatch } from "./palette";
import { decider } from "./verdict";

interface Part { field: string; text: string; label?: string }

/// A column of figures; `below` is a second one in small figures, a `label` following it.
interface Column {
  field: string;
  head: string;
  unit: string;
  text: (row: Row) => string;
  below?: (row: Row) => Part | undefined;
}

function medianColumn(cell: Cell): Column {
  return {
    field: "p50", head: "P50", unit: cell.unit, text: (row) => inCell(cell, row.p50),
    below: (row) => ({ field: "p50_interval", text: intervalText(cell, row.p50_low, row.p50_high) }),
  };
}

/// The clock's cost matters where it is paid on every call: in single calls.
function netColumns(cell: Cell): Column[] {
  if (cell.kind !== "tail" || cell.rows.every((row) => row.p50_net === undefined)) return [];
  return [{ field: "p50_net", head: "P50\nnet", unit: "ns", text: (row) => inCell(cell, row.p50_net) }];
}

function timeColumns(cell: Cell): Column[] {
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
    { field: "over_100ns_ppm", head: ">100 ns", unit: "ppm", text: (row) => partsPerMillion(row.over_100ns_ppm) },
    { field: "over_1us_ppm", head: ">1 µs", unit: "ppm", text: (row) => partsPerMillion(row.over_1us_ppm) },
    { field: "over_10us_ppm", head: ">10 µs", unit: "ppm", text: (row) => partsPerMillion(row.over_10us_ppm) },
    { field: "max", head: "Max", unit: "ns", text: (row) => count(row.max) },
  ];
}

function barColumns(cell: Cell): Column[] {
  const unit = cell.unit;
  return [
    medianColumn(cell),
    { field: "mean", head: "Mean", unit, text: (row) => inCell(cell, row.mean) },
    { field: "max", head: "Max", unit, text: (row) => inCell(cell, row.max) },
  ];
}

function countColumns(cell: Cell): Column[] {
  const resident: Column = {
    field: "resident_kib", head: "Resident", unit: "KiB", text: (row) => count(row.resident_kib),
  };
  return [
    { field: "page_faults", head: "Faults", unit: "pages", text: (row) => count(row.page_faults),
      below: ({ page_faults_setup: setup }) => setup === undefined
        ? undefined : { field: "page_faults_setup", text: count(setup) } },
    ...(cell.rows.some((row) => row.resident_kib !== undefined) ? [resident] : []),
    { field: "samples", head: "Samples", unit: "processes", text: (row) => count(row.samples),
      below: (row) => ({ field: "processes", text: count(row.processes), label: " proc." }) },
  ];
}

export function hasBars(cell: Cell): boolean {
  return cell.kind === "phase" || cell.kind === "rate";
}

function intervalText(cell: Cell, low: number, high: number): string {
  return `${inCell(cell, low)}\u2013${inCell(cell, high)}`;
}

function figureCell(column: Column, row: Row): HTMLElement {
  const below = column.below?.(row);
  return el("td", {},
    el("span", { "data-field": column.field }, column.text(row)),
    below && el("small", {}, el("span", { "data-field": below.field }, below.text), below.label));
}

/// A bar as long as the median, with its interval over processes; `longest` fills the column.
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

function headRow(cell: Cell, columns: Column[]): HTMLElement {
  const bars = hasBars(cell) ? el("th", { scope: "col", class: "bar" }, "P50 and its interval") : null;
  return el("tr", {},
    el("th", { scope: "col" }, "Backend"), bars,
    ...columns.map((column) =>
      el("th", { scope: "col" }, column.head, el("span", { class: "unit" }, column.unit))));
}

function absentNote(bench: Bench, cell: Cell): Child {
  const absent = bench.backends.filter((each) => !cell.rows.some((row) => row.backend === each.name));
  if (absent.length === 0) return null;
  return el("p", { class: "note" }, `Not in this cell: ${absent.map((each) => each.title).join(", ")}.`);
}

/// `best` is the row to mark as the winner; none in a void cell.
export function cellTable(bench: Bench, cell: Cell, best: Row | undefined): HTMLElement {
  const columns = [...(hasBars(cell) ? barColumns(cell) : timeColumns(cell)), ...countColumns(cell)];
  const backends = new Map(bench.backends.map((each) => [each.name, each]));
  const looks = looksOf(bench.backends);
  const rows = sortedRows(cell);
  const kindOf = (row: Row) => backends.get(row.backend)?.kind;
  const longest = Math.max(...rows.filter((row) => kindOf(row) !== "control").map((row) => row.p50_high));

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

  const order = higherIsBetter(cell) ? "highest" : "lowest";
  const small = "small figures: range over processes, faults of the set-up";
  const noP9999 = rows.some((row) => row.p9999 === null) && !hasBars(cell)
    ? `; ${noFigure}: under 100,000 samples` : "";
  return el("div", { class: "figures" },
    scrollBox(`Figures of ${cell.id}`,
      el("table", { class: hasBars(cell) ? "bars" : undefined },
        el("caption", {}, el("span", {}, `${order} P50 first; ${small}${noP9999}`)),
        el("thead", {}, headRow(cell, columns)),
        el("tbody", {}, ...rows.filter((row) => kindOf(row) !== "control").map(line)),
        el("tfoot", {}, ...rows.filter((row) => kindOf(row) === "control").map(line)))),
    absentNote(bench, cell));
}
