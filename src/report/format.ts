// Formats of figures: one rule for each kind, so that columns line up and a test can recompute them.

import type { Cell, CellKind } from "./data";

const thinSpace = "\u202f";
const minus = "\u2212";
export const noFigure = "\u2014";

/// Decimals of a figure. A block of calls resolves hundredths of a nanosecond; a single call one timer tick.
const decimalsOf: Record<CellKind, number> = { body: 2, tail: 1, drift: 1, phase: 2, rate: 1, bytes: 2, round: 1 };

/// A figure with separated thousands. From 1,000 up, decimals would be noise and are left out.
export function figure(value: number | null | undefined, decimals: number): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return noFigure;
  const digits = Math.abs(value).toFixed(Math.abs(value) >= 1000 ? 0 : decimals);
  const [whole = "", fraction] = digits.split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, thinSpace);
  const sign = value < 0 && Number(digits) !== 0 ? minus : "";
  return sign + grouped + (fraction === undefined ? "" : "." + fraction);
}

export function inCell(cell: Cell, value: number | null | undefined): string {
  return figure(value, decimalsOf[cell.kind]);
}

export function count(value: number | null | undefined): string {
  return figure(value, 0);
}

/// Parts per million: whole, but 0 only for 0.
export function partsPerMillion(value: number | null): string {
  return value !== null && value > 0 && value < 1 ? "<1" : count(value);
}

/// A share from 0 to 1 as a percentage with one decimal.
export function percent(share: number): string {
  return `${figure(share * 100, 1)}\u00a0%`;
}

/// A range from low to high; `write` formats each end.
export function range(low: number, high: number, write: (value: number) => string): string {
  return `${write(low)}\u2013${write(high)}`;
}

/// A size of 0 means a mixture.
export function sizeName(suite: string, size: number): string {
  if (size === 0) return suite === "mixed" || suite === "arrivals" ? "seven sizes" : "many sizes";
  return size >= 1024 && size % 1024 === 0 ? `${size / 1024}\u00a0KiB` : `${size}\u00a0B`;
}

/// How the figures of a cell were measured.
export function method(cell: Cell): string {
  const calls = count(cell.callsPerSample);
  switch (cell.kind) {
    case "body": return `alloc+free pairs, blocks of ${calls} calls; ns per ${cell.operation}`;
    case "tail": return `${cell.operation}, each timed by itself; ns`;
    case "drift": return `${cell.operation} of each window of a long run; ns`;
    case "phase": return `${cell.operation}, mean over phases of ${calls}; ns each`;
    case "rate": return `batches of ${calls}, uninstrumented; ${cell.unit}, higher is better`;
    case "round": return cell.callsPerSample === 1 ? "each round timed by itself; ns"
      : `blocks of ${calls} rounds; ns a round`;
    case "bytes": return `${cell.operation}, bytes for each of ${calls} live blocks`;
  }
}

/// By how much a figure is above or below another, as a percentage with one decimal and its sign: "+8.0 %".
export function percentMore(more: number): string {
  const text = percent(more);
  return text.startsWith(minus) ? text : `+${text}`;
}

/// A share of refused tasks as a percentage with two decimals; 0 only for 0.
export function refusedShare(share: number): string {
  return share > 0 && share < 0.00005 ? "<0.01\u00a0%" : `${figure(share * 100, 2)}\u00a0%`;
}

/// A sojourn in mean service times.
export function inServices(value: number | null | undefined): string {
  return figure(value, 2);
}

export const timeUnits: [string, number][] = [["s", 1e9], ["ms", 1e6], ["\u00b5s", 1e3], ["ns", 1]];

/// A duration with three digits, in the unit that suits it: "850 ns", "12.3 \u00b5s", "1.24 ms".
export function duration(ns: number): string {
  const [unit, size] = timeUnits.find(([, each]) => Math.abs(ns) >= each * 0.9995) ?? ["ns", 1];
  const value = ns / size;
  return `${figure(value, unit === "ns" ? 0 : value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2)}\u00a0${unit}`;
}

/// A duration that somebody chose: without decimals that are 0.
export function roundDuration(ns: number): string {
  return duration(ns).replace(/\.0+(?=\u00a0)/, "");
}
