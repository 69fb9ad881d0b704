// The percentile curve of one cell. The x axis is HdrHistogram's: log10(1 / (1 - p)), so that each further nine takes
// as much room as the one before it and the tail is as visible as the body.

import uPlot from "uplot";
import type { Bench, Cell, Row } from "./data";
import { el } from "./dom";
import { figure, inCell } from "./format";
import { looksOf, themeColour, type Look } from "./palette";
import type { View } from "./view";

type Point = [x: number, value: number];

const labelled = [0, 50, 90, 99, 99.9, 99.99, 99.999, 99.9999];
const logFromSpread = 50; // "auto" turns logarithmic where the largest value is this many times the smallest

function place(percentile: number): number {
  return -Math.log10(1 - percentile / 100);
}

const beforeMaximum = 0.05; // room kept between the last percentile and the maximum, in decades

/// The maximum (percentile 100) stands where one sample in `samples` does, being that sample, and always last.
function points(row: Row): Point[] {
  let last = 0;
  return (row.curve ?? []).map(([percentile, value]): Point => {
    const x = percentile < 100 ? place(percentile) : Math.max(Math.log10(row.samples), last + beforeMaximum);
    last = x;
    return [x, value];
  });
}

function percentileAt(x: number, last: number): string {
  if (x >= last - 1e-9) return "maximum";
  return `P${Number((100 - 100 * 10 ** -x).toPrecision(7))}`;
}

/// One column of x for all lines; a line without a value there is joined across.
function align(lines: Point[][]): { xs: number[]; columns: (number | null)[][] } {
  const xs = [...new Set(lines.flatMap((line) => line.map(([x]) => x)))].sort((a, b) => a - b);
  const columns = lines.map((line) => {
    const values = new Map(line);
    return xs.map((x) => values.get(x) ?? null);
  });
  return { xs, columns };
}

const steps = [1, 2, 5, 10];

/// The nearest 1, 2 or 5 times a power of ten at or below (direction -1) or above (+1) a positive value.
function roundStep(value: number, direction: 1 | -1): number {
  const decade = 10 ** Math.floor(Math.log10(value));
  const tolerance = 1 + 1e-9;
  const fit = direction > 0
    ? steps.find((step) => step * decade * tolerance >= value)
    : [...steps].reverse().find((step) => step * decade <= value * tolerance);
  return (fit ?? 1) * decade;
}

function logSplits(low: number, high: number): number[] {
  const splits: number[] = [];
  for (let decade = 10 ** Math.floor(Math.log10(low)); decade <= high * 1.001; decade *= 10) {
    for (const step of steps.slice(0, 3)) splits.push(Number((step * decade).toPrecision(6)));
  }
  return splits.filter((value) => value >= low * 0.999 && value <= high * 1.001);
}

interface Scale { log: boolean; low: number; high: number; note: string }

function chooseScale(cell: Cell, rows: Row[], view: View): Scale {
  const values = rows.flatMap((row) => (row.curve ?? []).map(([, value]) => value));
  const positive = values.filter((value) => value > 0);
  if (positive.length === 0) return { log: false, low: 0, high: 1, note: "no line is shown" };
  const least = Math.min(...positive), most = Math.max(...positive);
  if (view.scale === "log" || (view.scale === "auto" && most / least > logFromSpread)) {
    const below = values.some((value) => value <= 0) ? "; values at or below 0 lie on the lower edge" : "";
    return { log: true, low: roundStep(least, -1), high: roundStep(most, 1), note: `log scale${below}` };
  }
  const high = Math.max(...rows.map((row) => row.p999)) * 1.1;
  const cropped = most > high ? `, cropped at ${inCell(cell, high)} ns: the log scale shows the maxima` : "";
  return { log: false, low: Math.min(0, ...values), high: Math.min(high, most * 1.1), note: `linear scale${cropped}` };
}

/// A figure element that draws itself again whenever the view, the theme or its size changes.
export class Curve {
  readonly element: HTMLElement;
  private readonly holder: HTMLElement;
  private readonly note = el("span", { class: "scale" });
  private readonly readout = el("output", { class: "readout" });
  private readonly looks: Map<string, Look>;
  private plot: uPlot | undefined;
  private waiting = false;
  private focused: number | null = null; // the series nearest to the pointer, counted from 1

  constructor(private readonly bench: Bench, private readonly cell: Cell, private readonly view: View) {
    this.looks = looksOf(bench.backends);
    this.holder = el("div", {
      class: "plot", role: "img",
      "aria-label": `Percentile curves of ${cell.id}, a line for each backend; the figures are in the table beside it`,
    });
    this.element = el("figure", { class: "curve" }, this.holder,
      el("figcaption", {}, this.readout, this.note));
    view.onChange(() => this.drawSoon());
    new ResizeObserver(() => this.fit()).observe(this.holder);
  }

  /// Lines are drawn in this order, so the subject lies on top.
  private shownRows(): Row[] {
    const kind = (row: Row) => this.bench.backends.find((each) => each.name === row.backend)?.kind;
    const rows = this.cell.rows.filter((row) => !this.view.hidden.has(row.backend));
    return [...rows.filter((row) => kind(row) !== "subject"), ...rows.filter((row) => kind(row) === "subject")];
  }

  /// Once for all changes of one event, and before the browser prints or paints.
  private drawSoon(): void {
    if (this.waiting) return;
    this.waiting = true;
    queueMicrotask(() => {
      this.waiting = false;
      this.draw();
    });
  }

  draw(): void {
    this.plot?.destroy();
    this.plot = undefined;
    const { clientWidth: width, clientHeight: height } = this.holder;
    if (width === 0 || height === 0) return;
    const rows = this.shownRows();
    const { xs, columns } = align(rows.map(points));
    const scale = chooseScale(this.cell, rows, this.view);
    this.note.textContent = scale.note;
    this.readout.textContent = "";
    const raised = (value: number | null) => value === null || !scale.log ? value : Math.max(value, scale.low);
    const data: uPlot.AlignedData = [xs, ...columns.map((column) => column.map(raised))];
    this.plot = new uPlot(this.options(width, height, rows, xs, scale), data, this.holder);
  }

  private fit(): void {
    const { clientWidth: width, clientHeight: height } = this.holder;
    if (width === 0 || height === 0) return;
    if (this.plot) this.plot.setSize({ width, height });
    else this.draw();
  }

  private options(width: number, height: number, rows: Row[], xs: number[], scale: Scale): uPlot.Options {
    const last = xs[xs.length - 1] ?? 1;
    return {
      width, height,
      padding: [10, 24, 0, 0],
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, focus: { prox: 24 }, points: { size: 6 } },
      focus: { alpha: 0.3 },
      scales: {
        x: { time: false, range: () => [0, last] },
        y: { distr: scale.log ? 3 : 1, range: () => [scale.low, scale.high] },
      },
      axes: [this.percentileAxis(last), this.timeAxis(scale)],
      series: [{}, ...rows.map((row) => this.line(row))],
      hooks: {
        setCursor: [(plot) => this.read(plot, rows, last)],
        setSeries: [(plot, index) => {
          this.focused = index;
          this.read(plot, rows, last);
        }],
      },
    };
  }

  private line(row: Row): uPlot.Series {
    const look = this.looks.get(row.backend) ?? { colour: "--line-1", dash: [], width: 1.6 };
    return {
      label: row.backend, stroke: themeColour(look.colour), width: look.width, dash: look.dash,
      spanGaps: true, points: { show: false },
    };
  }

  private axis(): uPlot.Axis {
    const rule = { stroke: themeColour("--grid"), width: 1 };
    const font = `11px ${themeColour("--font")}`;
    const ticks = { ...rule, size: 4 };
    return { stroke: themeColour("--ink-soft"), font, labelFont: font, grid: rule, ticks, gap: 4 };
  }

  private percentileAxis(last: number): uPlot.Axis {
    const ticks = labelled.filter((percentile) => place(percentile) <= last + 1e-9);
    return {
      ...this.axis(), size: 26, label: "percentile, %; the last point is the maximum", labelSize: 18,
      splits: () => ticks.map(place),
      values: () => ticks.map(String),
    };
  }

  private timeAxis(scale: Scale): uPlot.Axis {
    const axis: uPlot.Axis = {
      ...this.axis(), size: 52, labelSize: 18,
      label: this.cell.kind === "body" ? "ns per pair, mean of a block" : "ns per call",
    };
    if (!scale.log) return { ...axis, values: (_, splits) => splits.map((value) => figure(value, value % 1 ? 1 : 0)) };
    const crowded = Math.log10(scale.high / scale.low) > 3;
    const isDecade = (value: number) => Math.abs(Math.log10(value) % 1) < 1e-6;
    return {
      ...axis,
      splits: () => logSplits(scale.low, scale.high),
      filter: (_, splits) => splits,
      values: (_, splits) => splits.map((value) =>
        crowded && !isDecade(value) ? "" : figure(value, value < 1 ? 1 : 0)),
    };
  }

  /// Says in words what lies under the pointer: the nearest line, the subject and the floor.
  private read(plot: uPlot, rows: Row[], last: number): void {
    const at = plot.cursor.idx;
    if (at === null || at === undefined || (plot.cursor.left ?? -1) < 0) {
      this.readout.textContent = "";
      return;
    }
    const wanted = rows.filter((row, i) => {
      const kind = this.bench.backends.find((each) => each.name === row.backend)?.kind;
      return i + 1 === this.focused || kind === "subject" || kind === "control";
    });
    const texts = wanted.map((row) => {
      const title = this.bench.backends.find((each) => each.name === row.backend)?.title ?? row.backend;
      const value = plot.data[rows.indexOf(row) + 1]?.[at];
      return `${title} ${inCell(this.cell, value)}`;
    });
    this.readout.textContent = `${percentileAt(plot.data[0][at] ?? 0, last)}, ns: ${texts.join(" · ")}`;
  }
}
