// The percentile curve of one cell. The x axis is HdrHistogram's: log10(1 / (1 - p)). Each further nine takes as much
// room as the one before it, so the tail is as visible as the body.

import type uPlot from "uplot";
import { Chart, baseAxis, chooseScale, raised, timeAxis } from "./chart";
import type { Bench, Cell, Row } from "./data";
import { inCell } from "./format";
import type { View } from "./view";

export type Point = [x: number, value: number];

const labelled = [0, 50, 90, 99, 99.9, 99.99, 99.999, 99.9999];

/// Where a percentile stands on the x axis.
export function place(percentile: number): number {
  return -Math.log10(1 - percentile / 100);
}

const beforeMaximum = 0.05; // gap between the last percentile and the maximum, in decades

/// What has a curve: pairs of a percentile and a value.
export interface Curved { samples: number; curve?: [number, number][] }

/// The maximum (percentile 100) is one sample of `samples`, so it stands at that place, and always last.
export function points(row: Curved): Point[] {
  let last = 0;
  return (row.curve ?? []).map(([percentile, value]): Point => {
    const x = percentile < 100 ? place(percentile) : Math.max(Math.log10(row.samples), last + beforeMaximum);
    last = x;
    return [x, value];
  });
}

export function percentileAt(x: number, last: number): string {
  if (x >= last - 1e-9) return "maximum";
  return `P${Number((100 - 100 * 10 ** -x).toPrecision(7))}`;
}

/// One column of x for all lines. A line without a value at some x is joined across it.
export function align(lines: Point[][]): { xs: number[]; columns: (number | null)[][] } {
  const xs = [...new Set(lines.flatMap((line) => line.map(([x]) => x)))].sort((a, b) => a - b);
  const columns = lines.map((line) => {
    const values = new Map(line);
    return xs.map((x) => values.get(x) ?? null);
  });
  return { xs, columns };
}

export function percentileAxis(last: number): uPlot.Axis {
  const ticks = labelled.filter((percentile) => place(percentile) <= last + 1e-9);
  return {
    ...baseAxis(), size: 26, label: "percentile, %; the last point is the maximum", labelSize: 18,
    splits: () => ticks.map(place),
    values: () => ticks.map(String),
  };
}

export class Curve extends Chart<Row> {
  constructor(bench: Bench, private readonly cell: Cell, view: View) {
    super(bench, cell.rows, view, "curve",
      `Percentile curves of ${cell.id}, a line for each backend; the figures are in the table next to it`);
  }

  protected plotted(rows: Row[], width: number, height: number): { options: uPlot.Options; data: uPlot.AlignedData } {
    const { xs, columns } = align(rows.map(points));
    const values = rows.flatMap((row) => (row.curve ?? []).map(([, value]) => value));
    const scale = chooseScale(this.view.scale, values, Math.max(...rows.map((row) => row.p999)) * 1.1);
    this.note.textContent = scale.note;
    const last = xs[xs.length - 1] ?? 1;
    const what = this.cell.kind === "round" ? "round" : "pair";
    const label = this.cell.callsPerSample > 1 ? `ns per ${what}, mean of a block` : "ns";
    const axes = [percentileAxis(last), timeAxis(scale, label)];
    const read = (plot: uPlot) =>
      this.say(plot, rows, (x) => percentileAt(x, last), (value) => inCell(this.cell, value));
    return {
      options: this.lineOptions(rows, width, height, scale, axes, [0, last], read),
      data: [xs, ...columns.map((column) => column.map((value) => raised(scale, value)))],
    };
  }
}
