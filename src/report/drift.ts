// The course of a long run: the figure of each window, against the operations done by its end.

import type uPlot from "uplot";
import { Chart, baseAxis, chooseScale, publish, raised, tickTexts, timeAxis } from "./chart";
import type { Bench, Cell, Row } from "./data";
import { figure, inCell } from "./format";
import type { View } from "./view";

/// Courses differ by less than tails do. One allocator that is far off must not flatten the others.
const logFromSpread = 10;

/// The end of each window in million operations, for the row with the most windows.
function windowEnds(rows: Row[]): number[] {
  const longest = rows.map((row) => row.windows).reduce((one, other) =>
    (other?.values.length ?? 0) > (one?.values.length ?? 0) ? other : one, undefined);
  return (longest?.values ?? []).map((_, i) => ((i + 1) * (longest?.operations ?? 0)) / 1e6);
}

export class DriftChart extends Chart<Row> {
  constructor(bench: Bench, private readonly cell: Cell, view: View) {
    super(bench, cell.rows, view, "curve drift",
      `Each window of ${cell.name}, a line for each backend; the figures are in the table next to it`);
  }

  protected plotted(rows: Row[], width: number, height: number): { options: uPlot.Options; data: uPlot.AlignedData } {
    const xs = windowEnds(rows);
    const columns = rows.map((row) => xs.map((_, i) => row.windows?.values[i] ?? null));
    const scale = chooseScale(this.view.scale, columns.flat().filter((value) => value !== null), Infinity,
      logFromSpread);
    this.note.textContent = `${scale.note}; ${xs.length} windows`;
    const last = xs[xs.length - 1] ?? 1;
    const across: uPlot.Axis = {
      ...baseAxis(), size: 26, label: "million operations", labelSize: 18, values: (_, splits) => tickTexts(splits),
    };
    const axes = [across, timeAxis(scale, `${this.cell.operation} of a window, ns`)];
    const read = (plot: uPlot) => this.say(plot, rows,
      (x) => `after ${figure(x, 1)} million operations`, (value) => inCell(this.cell, value));
    return {
      options: this.lineOptions(rows, width, height, scale, axes, [0, last], read),
      data: [xs, ...columns.map((column) => column.map((value) => raised(scale, value)))],
    };
  }

  protected override afterDraw(plot: uPlot): void {
    publish(plot, this.holder);
  }
}
