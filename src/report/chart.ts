// The parts that all charts share: a figure that redraws itself when the view, the theme or its size changes, the scale
// of its values, and its axes.

import uPlot from "uplot";
import type { Lines } from "./data";
import { el } from "./dom";
import { figure } from "./format";
import { looksOf, themeColour, type Look } from "./palette";
import type { ScaleChoice, View } from "./view";

/// "auto" is logarithmic if the largest value is this many times the smallest.
const logFromSpread = 50;

const steps = [1, 2, 5, 10];

/// The nearest 1, 2 or 5 times a power of ten at or below (direction -1) or above (+1) a positive value.
export function roundStep(value: number, direction: 1 | -1): number {
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

export interface Scale { log: boolean; low: number; high: number; note: string }

/// A scale that holds all values. A linear scale ends at `most` if the largest value exceeds it, and its note says so.
export function chooseScale(choice: ScaleChoice, values: number[], most = Infinity, spread = logFromSpread): Scale {
  const positive = values.filter((value) => value > 0);
  if (positive.length === 0) return { log: false, low: 0, high: 1, note: "no line is shown" };
  const least = Math.min(...positive), largest = Math.max(...positive);
  if (choice === "log" || (choice === "auto" && largest / least > spread)) {
    const below = values.some((value) => value <= 0) ? "; values at or below 0 lie on the lower edge" : "";
    return { log: true, low: roundStep(least, -1), high: roundStep(largest, 1), note: `log scale${below}` };
  }
  const cropped = largest > most ? `, cropped at ${figure(most, 1)} ns: the log scale shows the maxima` : "";
  const high = Math.min(most, largest * 1.1);
  return { log: false, low: Math.min(0, ...values), high, note: `linear scale${cropped}` };
}

/// A value that a logarithmic scale can show, at its lower edge or above.
export function raised(scale: Scale, value: number | null): number | null {
  return value === null || !scale.log ? value : Math.max(value, scale.low);
}

export function baseAxis(): uPlot.Axis {
  const rule = { stroke: themeColour("--grid"), width: 1 };
  const font = `11px ${themeColour("--font")}`;
  const ticks = { ...rule, size: 4 };
  return { stroke: themeColour("--ink-soft"), font, labelFont: font, grid: rule, ticks, gap: 4 };
}

/// Texts of the ticks of an axis with room for few figures: as few decimals as distinguish them.
export function tickTexts(splits: number[]): string[] {
  const decimals = [0, 1, 2, 3].find((each) => splits.every((value) => Number(value.toFixed(each)) === value)) ?? 3;
  return splits.map((value) => figure(value, decimals));
}

export function timeAxis(scale: Scale, label: string): uPlot.Axis {
  const widest = figure(scale.high, 0).length * 6 + 16; // CSS pixels, for figures of 11 px
  const axis: uPlot.Axis = { ...baseAxis(), size: Math.max(52, widest), labelSize: 18, label };
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

/// Calls `draw` once for all changes of one event, before the browser prints or paints.
export function drawnSoon(draw: () => void): () => void {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    queueMicrotask(() => {
      waiting = false;
      draw();
    });
  };
}

const plain: Look = { colour: "--line-1", dash: [], width: 1.6 };

/// What one backend draws in a chart.
interface Drawn { backend: string }

export abstract class Chart<Row extends Drawn> {
  readonly element: HTMLElement;
  protected readonly note = el("span", { class: "scale" });
  protected readonly readout = el("output", { class: "readout" });
  protected readonly holder: HTMLElement;
  protected readonly unit: string = "ns"; // of what the pointer reads
  protected focused: number | null = null; // the series nearest to the pointer, counted from 1
  private readonly looks: Map<string, Look>;
  private plot: uPlot | undefined;
  private wanted = false; // draw() was called; the plot now follows the size of its box

  constructor(protected readonly bench: Lines, private readonly rows: Row[], protected readonly view: View,
              name: string, description: string) {
    this.looks = looksOf(bench.backends);
    this.holder = el("div", { class: "plot", role: "img", "aria-label": description });
    this.element = el("figure", { class: name }, this.holder, el("figcaption", {}, this.readout, this.note));
    view.onChange(drawnSoon(() => this.draw()));
    new ResizeObserver(() => this.fit()).observe(this.holder);
  }

  /// The plot of these rows in a box of this size.
  protected abstract plotted(rows: Row[], width: number, height: number):
    { options: uPlot.Options; data: uPlot.AlignedData };

  /// Called with the plot once it is drawn, and with every later one.
  protected afterDraw(_plot: uPlot, _rows: Row[]): void {}

  protected look(backend: string): Look {
    return this.looks.get(backend) ?? plain;
  }

  protected titleOf(backend: string): string {
    return this.bench.backends.find((each) => each.name === backend)?.title ?? backend;
  }

  protected kindOf(backend: string): string | undefined {
    return this.bench.backends.find((each) => each.name === backend)?.kind;
  }

  protected line(row: Row): uPlot.Series {
    const look = this.look(row.backend);
    return {
      label: row.backend, stroke: themeColour(look.colour), width: look.width, dash: look.dash,
      spanGaps: true, points: { show: false },
    };
  }

  /// Lines are drawn in this order, so the subject lies on top.
  private shownRows(): Row[] {
    const rows = this.rows.filter((row) => !this.view.hidden.has(row.backend));
    const isSubject = (row: Row) => this.kindOf(row.backend) === "subject";
    return [...rows.filter((row) => !isSubject(row)), ...rows.filter(isSubject)];
  }

  draw(): void {
    this.wanted = true;
    this.plot?.destroy();
    this.plot = undefined;
    const { clientWidth: width, clientHeight: height } = this.holder;
    if (width === 0 || height === 0) return;
    const rows = this.shownRows();
    this.readout.textContent = "";
    const { options, data } = this.plotted(rows, width, height);
    options.hooks = { ...options.hooks, draw: [...(options.hooks?.draw ?? []), (plot) => this.afterDraw(plot, rows)] };
    this.plot = new uPlot(options, data, this.holder);
  }

  private fit(): void {
    const { clientWidth: width, clientHeight: height } = this.holder;
    if (width === 0 || height === 0) return;
    if (this.plot) this.plot.setSize({ width, height });
    else if (this.wanted) this.draw();
  }

  /// Options that all line charts share. `read` describes in words what lies under the pointer.
  protected lineOptions(rows: Row[], width: number, height: number, scale: Scale, axes: uPlot.Axis[],
                        xRange: [number, number], read: (plot: uPlot) => void): uPlot.Options {
    return {
      width, height, axes,
      padding: [10, 24, 0, 0],
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, focus: { prox: 24 }, points: { size: 6 } },
      focus: { alpha: 0.3 },
      scales: {
        x: { time: false, range: () => xRange },
        y: { distr: scale.log ? 3 : 1, range: () => [scale.low, scale.high] },
      },
      series: [{}, ...rows.map((row) => this.line(row))],
      hooks: {
        setCursor: [read],
        setSeries: [(plot, index) => {
          this.focused = index;
          read(plot);
        }],
      },
    };
  }

  /// Describes what lies under the pointer: the nearest line, the subject and the floor. `text` formats a value.
  protected say(plot: uPlot, rows: Row[], where: (x: number) => string,
                text: (value: number | null | undefined) => string): void {
    const at = plot.cursor.idx;
    if (at === null || at === undefined || (plot.cursor.left ?? -1) < 0) {
      this.readout.textContent = "";
      return;
    }
    const wanted = rows.filter((row, i) =>
      i + 1 === this.focused || ["subject", "control"].includes(this.kindOf(row.backend) ?? ""));
    const texts = wanted.map((row) => `${this.titleOf(row.backend)} ${text(plot.data[rows.indexOf(row) + 1]?.[at])}`);
    this.readout.textContent = `${where(plot.data[0][at] ?? 0)}, ${this.unit}: ${texts.join(" · ")}`;
  }
}

const slice = 12; // ms of drawing before the browser can respond to the reader again

export interface Drawable { element: HTMLElement; draw(): void }

/// Draws the charts that the reader sees first at once, the rest in slices, and all of them before printing. Calls
/// `done` when all are drawn.
export function drawAll(charts: Drawable[], done: () => void): void {
  const edge = 1.5 * innerHeight;
  // Measures the whole cell, since its content is not laid out before it comes near the window.
  const isFirst = charts.map(({ element }) => (element.closest(".cell") ?? element).getBoundingClientRect().top < edge);
  const later = charts.filter((_, i) => !isFirst[i]);
  charts.forEach((chart, i) => isFirst[i] && chart.draw());
  const some = (until: () => boolean) => {
    while (later.length > 0 && !until()) later.shift()?.draw();
    if (later.length === 0) done();
  };
  const next = () => {
    const start = performance.now();
    some(() => performance.now() - start > slice);
    if (later.length > 0) setTimeout(next);
  };
  addEventListener("beforeprint", () => some(() => false));
  setTimeout(next);
}

/// Publishes the content of a chart, read from the chart itself, where a script that reads the page finds it.
export function publish(plot: uPlot, holder: HTMLElement, more: Record<string, unknown> = {}): void {
  holder.dataset["plotted"] = JSON.stringify({
    x: plot.data[0],
    series: plot.series.slice(1).map(({ label }, i) => ({ label, y: plot.data[i + 1] })),
    ...more,
  });
}
