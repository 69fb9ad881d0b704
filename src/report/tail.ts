// The tail of the sojourns in one workload: from the median on, each further nine takes as much room as the one before.

import type uPlot from "uplot";
import { Chart, baseAxis, chooseScale, publish, raised, timeAxis } from "./chart";
import { place } from "./curve";
import type { Lines } from "./data";
import { inServices } from "./format";
import type { SimulatedCell, WorkloadCells } from "./simulated";
import type { View } from "./view";

const labelled = [50, 75, 90, 95, 99, 99.9, 99.99];

/// A cell under the name by which charts and tables know their lines.
export interface PolicyRow extends SimulatedCell { backend: string }

export function rowsOf({ cells }: WorkloadCells): PolicyRow[] {
  return cells.map((cell) => ({ ...cell, backend: cell.policy }));
}

/// 99.9 for a share of 0.999, without the rounding errors of the product.
function percentileOf(share: number): number {
  return Number((share * 100).toFixed(8));
}

export class TailChart extends Chart<PolicyRow> {
  protected override readonly unit = "mean service times";

  constructor(lines: Lines, workload: WorkloadCells, view: View) {
    super(lines, rowsOf(workload), view, "curve tail",
      `Tail of the sojourns in ${workload.name}, a line for each policy; the figures are in the table next to it`);
  }

  protected plotted(rows: PolicyRow[], width: number, height: number):
      { options: uPlot.Options; data: uPlot.AlignedData } {
    const shares = [...new Set(rows.flatMap((row) => (row.curve ?? []).map(([share]) => share)))].sort((a, b) => a - b);
    const xs = shares.map((share) => place(percentileOf(share)));
    const columns = rows.map((row) => {
      const values = new Map(row.curve ?? []);
      return shares.map((share) => values.get(share) ?? null);
    });
    const scale = chooseScale(this.view.scale, columns.flat().filter((value) => value !== null));
    this.note.textContent = scale.note;
    const first = xs[0] ?? 0, last = xs[xs.length - 1] ?? 1;
    const ticks = labelled.filter((each) => place(each) >= first - 1e-9 && place(each) <= last + 1e-9);
    const across: uPlot.Axis = {
      ...baseAxis(), size: 26, label: "percentile of the tasks, %", labelSize: 18,
      splits: () => ticks.map(place), values: () => ticks.map(String),
    };
    const axes = [across, timeAxis(scale, "sojourn, mean service times")];
    const read = (plot: uPlot) => this.say(plot, rows,
      (x) => `P${Number((100 - 100 * 10 ** -x).toPrecision(7))}`, inServices);
    return {
      options: this.lineOptions(rows, width, height, scale, axes, [first, last], read),
      data: [xs, ...columns.map((column) => column.map((value) => raised(scale, value)))],
    };
  }

  protected override afterDraw(plot: uPlot): void {
    publish(plot, this.holder);
  }
}
