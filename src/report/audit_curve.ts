// The percentile curves of allocating and freeing calls, beside the floor, and on them the worst call of each stall.

import type uPlot from "uplot";
import { lookOfCause, traceShape } from "./audit_causes";
import type { Audit, AuditCurve } from "./audited";
import { firstTouch } from "./audit_head";
import type { Shown, ShownStall } from "./audit_view";
import { Chart, chooseScale, publish, raised, timeAxis } from "./chart";
import { align, percentileAt, percentileAxis, points, type Curved } from "./curve";
import type { Backend, Lines } from "./data";
import { el, scrollBox } from "./dom";
import { count, duration, figure } from "./format";
import { looksOf, swatch, themeColour } from "./palette";

const mostMarks = 40, radius = 5; // CSS pixels

/// A line of the chart under the name by which it is known, which is its title too.
interface AuditRow extends Curved, AuditCurve { backend: string }

function rowsOf({ allocating, freeing, floor }: Audit): AuditRow[] {
  const named: [string, AuditCurve][] = [
    ["allocating", allocating.all], ["allocating, undisturbed", allocating.undisturbed],
    ["freeing", freeing.all], ["freeing, undisturbed", freeing.undisturbed], ["floor", floor]];
  return named.filter(([, curve]) => curve.count > 0)
    .map(([backend, curve]) => ({ ...curve, backend, samples: curve.count, curve: curve.points }));
}

function linesOf(rows: AuditRow[]): Lines {
  return { backends: rows.map(({ backend }): Backend =>
    ({ name: backend, title: backend, kind: backend === "floor" ? "control" : "general" })) };
}

function frees({ operation }: ShownStall): boolean {
  return /free|delete/.test(operation);
}

/// Where a line reaches a duration; null if it never does.
function placeOn(row: AuditRow, ns: number): number | null {
  const all = points(row), i = all.findIndex(([, value]) => value >= ns * (1 - 1e-9));
  const after = all[i], before = all[i - 1];
  if (!after) return null;
  if (!before || before[1] <= 0 || after[1] <= before[1]) return after[0];
  const share = Math.log(ns / before[1]) / Math.log(after[1] / before[1]);
  return before[0] + Math.min(1, Math.max(0, share)) * (after[0] - before[0]);
}

class AuditCurves extends Chart<AuditRow> {
  constructor(lines: Lines, private readonly all: AuditRow[], private readonly shown: Shown) {
    super(lines, all, shown.view, "curve",
      "Percentile curves of allocating and freeing calls, beside those of empty calls; the figures are in the table");
  }

  protected plotted(rows: AuditRow[], width: number, height: number):
      { options: uPlot.Options; data: uPlot.AlignedData } {
    const { xs, columns } = align(rows.map(points));
    const values = rows.flatMap((row) => (row.curve ?? []).map(([, value]) => value));
    const scale = chooseScale("log", values);
    const last = xs[xs.length - 1] ?? 1;
    const axes = [percentileAxis(last), timeAxis(scale, "duration of a call, ns")];
    this.note.textContent = "log scale; a mark is the worst call of a stall that is shown";
    const read = (plot: uPlot) => this.say(plot, rows, (x) => percentileAt(x, last),
      (value) => (typeof value === "number" ? duration(value) : "\u2014"));
    return {
      options: this.lineOptions(rows, width, height, scale, axes, [0, last], read),
      data: [xs, ...columns.map((column) => column.map((value) => raised(scale, value)))],
    };
  }

  /// First touches are no calls, and have no place on these curves.
  protected override afterDraw(plot: uPlot): void {
    const marks = this.shown.stalls().filter(({ operation }) => operation !== firstTouch).slice(0, mostMarks)
      .flatMap((stall) => {
        const row = this.all.find(({ backend }) => backend === (frees(stall) ? "freeing" : "allocating"));
        const x = row ? placeOn(row, stall.max_ns) : null;
        return x === null ? [] : [{ stall: stall.index, x, y: stall.max_ns }];
      });
    const { ctx: context } = plot, scale = devicePixelRatio || 1;
    context.save();
    for (const { stall, x, y } of marks) {
      const look = lookOfCause(this.shown.audit.stalls[stall]?.cause_kind ?? "");
      context.beginPath();
      traceShape(context, look, plot.valToPos(x, "x", true), plot.valToPos(y, "y", true), radius * scale);
      context.fillStyle = themeColour(look.colour);
      context.strokeStyle = themeColour("--paper");
      context.lineWidth = 1.5 * scale;
      context.fill();
      context.stroke();
    }
    context.restore();
    publish(plot, this.holder, { marks });
  }
}

const columns: [keyof AuditCurve & `${string}_ns`, string][] = [["p50_ns", "P50"], ["p90_ns", "P90"], ["p99_ns", "P99"],
  ["p999_ns", "P99.9"], ["p9999_ns", "P99.99"], ["max_ns", "Worst"], ["mean_ns", "Mean"]];

function table(lines: Lines, rows: AuditRow[]): HTMLElement {
  const looks = looksOf(lines.backends);
  const head = (text: string, unit: string) => el("th", { scope: "col" }, text, el("span", { class: "unit" }, unit));
  return scrollBox("Percentiles of all calls", el("table", { class: "figures" },
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Calls"), head("Count", "calls"),
      ...columns.map(([, text]) => head(text, "ns")))),
    el("tbody", {}, ...rows.map((row) => {
      const look = looks.get(row.backend);
      return el("tr", { "data-curve": row.backend },
        el("th", { scope: "row" }, look ? swatch(look) : null, row.backend),
        el("td", { "data-field": "count" }, count(row.count)),
        ...columns.map(([field]) => el("td", { "data-field": field }, figure(row[field], 1))));
    }))));
}

/// The section and its chart, which must be drawn once the section is in the document; null if no call was timed.
export function curvesSection(shown: Shown): { element: HTMLElement; chart: AuditCurves } | null {
  const { audit } = shown, rows = rowsOf(audit);
  if (!audit.timed || rows.length === 0) return null;
  const lines = linesOf(rows), chart = new AuditCurves(lines, rows, shown);
  const told = audit.told_ns > 0 ? ` Telling a system call costs ${duration(audit.told_ns)}, which is subtracted; ` +
    "“undisturbed” are the calls in which none was told." : "";
  const element = el("section", { id: "curves", "aria-labelledby": "curves-title" },
    el("h2", { id: "curves-title" }, "Percentiles",
      el("span", { class: "meaning" }, "of all calls of all threads, whatever is chosen above")),
    el("p", { class: "key" }, "Each further nine takes as much room as the one before. The floor is an empty call, " +
      `timed in the same process: what lies near it is the clock\u2019s own cost. Nothing is trimmed.${told}`),
    el("div", { class: "audit-curves" }, el("div", { class: "pair" }, chart.element, table(lines, rows))));
  return { element, chart };
}
