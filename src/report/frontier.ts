// Time against memory: a mark for each allocator under one program, and the frontier of the marks.

import uPlot from "uplot";
import { Chart, baseAxis, publish, tickTexts } from "./chart";
import type { Bench, Program, ProgramRow } from "./data";
import { figure, range } from "./format";
import { themeColour } from "./palette";
import type { View } from "./view";

type Place = [x: number, y: number];
interface Box { left: number; top: number; right: number; bottom: number }

const kibInMib = 1024;
const markSize = 10;      // CSS pixels across
const reach = 40;         // CSS pixels around a mark in which the pointer selects it
const frontierLabel = "frontier";

/// Seconds and MiB.
export function placeOf(row: ProgramRow): Place {
  return [row.wall_s.median, row.peak_rss_kib.median / kibInMib];
}

/// Slightly more than the span of the intervals, so that marks and their names stay off the edges.
function rangeOf(values: number[], before: number, after: number): [number, number] {
  if (values.length === 0) return [0, 1];
  const low = Math.min(...values), high = Math.max(...values);
  const span = high - low || Math.abs(high) * 0.1 || 1;
  return [Math.max(0, low - before * span), high + after * span];
}

function overlaps(one: Box, other: Box): boolean {
  return one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
}

export class FrontierChart extends Chart<ProgramRow> {
  constructor(bench: Bench, program: Program, view: View) {
    super(bench, program.rows, view, "curve frontier",
      `Time against memory of ${program.title}, a mark for each allocator; the figures are in the table next to it`);
  }

  protected plotted(rows: ProgramRow[], width: number, height: number):
      { options: uPlot.Options; data: uPlot.AlignedData } {
    const places = rows.map(placeOf);
    const xs = [...new Set(places.map(([x]) => x))].sort((a, b) => a - b);
    const column = (place: Place) => xs.map((x) => (x === place[0] ? place[1] : null));
    const onFrontier = new Map(places.filter((_, i) => rows[i]?.frontier));
    this.note.textContent = rows.length === 0 ? "no mark is shown"
      : "lower left is better; filled: on the frontier; thin lines: lowest to highest process; no axis starts at 0";
    const xRange = rangeOf(rows.flatMap(({ wall_s }) => [wall_s.low, wall_s.median, wall_s.high]), 0.12, 0.3);
    const yRange = rangeOf(rows.flatMap(({ peak_rss_kib: kib }) => [kib.low, kib.median, kib.high])
      .map((kib) => kib / kibInMib), 0.12, 0.16);
    const read = (plot: uPlot) => this.readNearest(plot, rows);
    const axis = (label: string, size: number): uPlot.Axis =>
      ({ ...baseAxis(), size, label, labelSize: 18, values: (_, splits) => tickTexts(splits) });
    return {
      options: {
        width, height, padding: [10, 24, 0, 0], legend: { show: false },
        cursor: { x: false, y: false, drag: { x: false, y: false }, points: { show: false } },
        scales: { x: { time: false, range: () => xRange }, y: { range: () => yRange } },
        axes: [axis("wall time, s", 26), axis("peak resident memory, MiB", 52)],
        series: [{}, this.frontierLine(), ...rows.map((row) => this.mark(row))],
        hooks: { setCursor: [read], drawAxes: [(plot) => this.drawIntervals(plot, rows)] },
      },
      data: [xs, xs.map((x) => onFrontier.get(x) ?? null), ...places.map(column)],
    };
  }

  /// Drawn as steps: between two neighbours on the frontier there is nothing better than one or the other.
  private frontierLine(): uPlot.Series {
    const paths = uPlot.paths.stepped?.({ align: 1 });
    return {
      label: frontierLabel, stroke: themeColour("--ink-soft"), width: 1.5, dash: [5, 4], spanGaps: true,
      points: { show: false }, ...(paths && { paths }),
    };
  }

  private mark(row: ProgramRow): uPlot.Series {
    const stroke = themeColour(this.look(row.backend).colour);
    const fill = row.frontier ? stroke : themeColour("--paper");
    return {
      label: row.backend, stroke, width: 0, paths: () => null,
      points: { show: true, size: markSize, width: 2.5, stroke, fill },
    };
  }

  protected override afterDraw(plot: uPlot, rows: ProgramRow[]): void {
    this.drawNames(plot, rows);
    const { left, top } = plot.bbox;
    const at = rows.map((row) => {
      const [x, y] = placeOf(row);
      return { backend: row.backend, left: plot.valToPos(x, "x", true) - left, top: plot.valToPos(y, "y", true) - top };
    });
    publish(plot, this.holder, { at });
  }

  private drawIntervals(plot: uPlot, rows: ProgramRow[]): void {
    const context = plot.ctx;
    context.save();
    context.lineWidth = devicePixelRatio;
    for (const row of rows) {
      const [x, y] = placeOf(row);
      const across = (value: number) => plot.valToPos(value, "x", true);
      const up = (value: number) => plot.valToPos(value, "y", true);
      context.strokeStyle = themeColour(this.look(row.backend).colour);
      context.beginPath();
      context.moveTo(across(row.wall_s.low), up(y));
      context.lineTo(across(row.wall_s.high), up(y));
      context.moveTo(across(x), up(row.peak_rss_kib.low / kibInMib));
      context.lineTo(across(x), up(row.peak_rss_kib.high / kibInMib));
      context.stroke();
    }
    context.restore();
  }

  /// Draws each name next to its mark, the frontier's first, where it covers no mark and no other name. A name without
  /// room is left to the pointer and the table.
  private drawNames(plot: uPlot, rows: ProgramRow[]): void {
    const context = plot.ctx;
    const scale = devicePixelRatio;
    const { left, top, width, height } = plot.bbox;
    const reserve = (markSize / 2 + 2) * scale;
    const centres = rows.map((row) => {
      const [x, y] = placeOf(row);
      return { row, x: plot.valToPos(x, "x", true), y: plot.valToPos(y, "y", true) };
    });
    const taken: Box[] = centres.map(({ x, y }) =>
      ({ left: x - reserve, right: x + reserve, top: y - reserve, bottom: y + reserve }));
    context.save();
    context.font = `${11 * scale}px ${themeColour("--font")}`;
    context.fillStyle = themeColour("--ink");
    context.strokeStyle = themeColour("--paper"); // an outline that keeps a name readable across a line
    context.lineWidth = 4 * scale;
    context.lineJoin = "round";
    context.textAlign = "left";
    context.textBaseline = "middle";
    for (const { row, x, y } of [...centres].sort((a, b) => Number(b.row.frontier) - Number(a.row.frontier))) {
      const text = this.titleOf(row.backend);
      const wide = context.measureText(text).width, half = 7 * scale, gap = reserve + 2 * scale;
      const spots: Place[] = [
        [x + gap, y], [x - gap - wide, y], [x - wide / 2, y - gap - half], [x - wide / 2, y + gap + half],
        [x + gap * 0.6, y - gap], [x + gap * 0.6, y + gap],
        [x - gap * 0.6 - wide, y - gap], [x - gap * 0.6 - wide, y + gap],
      ];
      const boxOf = ([from, middle]: Place): Box =>
        ({ left: from, right: from + wide, top: middle - half, bottom: middle + half });
      const spot = spots.find((each) => {
        const box = boxOf(each);
        return box.left >= left && box.right <= left + width && box.top >= top && box.bottom <= top + height &&
          !taken.some((other) => overlaps(box, other));
      });
      if (!spot) continue;
      taken.push(boxOf(spot));
      context.strokeText(text, ...spot);
      context.fillText(text, ...spot);
    }
    context.restore();
  }

  private readNearest(plot: uPlot, rows: ProgramRow[]): void {
    const { left = -1, top = -1 } = plot.cursor;
    this.readout.textContent = "";
    if (left < 0) return;
    const near = rows.map((row) => {
      const [x, y] = placeOf(row);
      return { row, far: Math.hypot(plot.valToPos(x, "x") - left, plot.valToPos(y, "y") - top) };
    }).sort((a, b) => a.far - b.far)[0];
    if (!near || near.far > reach) return;
    const { wall_s: wall, peak_rss_kib: peak, backend, frontier } = near.row;
    const seconds = range(wall.low, wall.high, (value) => figure(value, 2));
    const memory = range(peak.low, peak.high, (value) => figure(value / kibInMib, 1));
    this.readout.textContent = `${this.titleOf(backend)}: ${figure(wall.median, 2)} s (${seconds}), ` +
      `${figure(peak.median / kibInMib, 1)} MiB (${memory})${frontier ? ", on the frontier" : ""}`;
  }
}
