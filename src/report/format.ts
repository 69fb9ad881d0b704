// How figures are written: one rule for each kind of figure, so that a column lines up and a test can recompute it.

import type { Cell, CellKind } from "./data";

const thinSpace = "\u202f";
const minus = "\u2212";
export const noFigure = "\u2014";

/// Decimals of a figure. A block of calls resolves hundredths of a nanosecond; a single call one timer tick.
const decimalsOf: Record<CellKind, number> = { body: 2, tail: 1, drift: 1, phase: 2, rate: 1, bytes: 2, round: 1 };

/// A figure with its thousands apart; from 1,000 up, decimals would be noise and are left out.
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

/// Parts per million: whole, but never a 0 that is not one.
export function partsPerMillion(value: number | null): string {
  return value !== null && value > 0 && value < 1 ? "<1" : count(value);
}

/// Of a share from 0 to 1, one decimal.
export function percent(share: number): string {
  return `${figure(share * 100, 1)}\u00a0%`;
}

/// From a low to a high one; `write` writes each.
export function range(low: number, high: number, write: (value: number) => string): string {
  return `${write(low)}\u2013${write(high)}`;
}

/// A size of 0 stands for a mixture.
export function sizeName(suite: string, size: number): string {
  if (size === 0) return suite === "mixed" || suite === "arrivals" ? "seven sizes" : "many sizes";
  return size >= 1024 && size % 1024 === 0 ? `${size / 1024}\u00a0KiB` : `${size}\u00a0B`;
}

/// How the figures of a cell were taken.
export function method(cell: Cell): string {
  const calls = count(cell.callsPerSample);
  switch (cell.kind) {
    case "body": return `alloc+free pairs, blocks of ${calls} calls; ns per ${cell.operation}`;
    case "tail": return `${cell.operation}, each timed by itself; ns`;
    case "drift": return `${cell.operation} of each window of a long run; ns`;
    case "phase": return `${cell.operation}, mean over phases of ${calls}; ns each`;
    case "rate": return `batches of ${calls}, uninstrumented; Mops/s, higher is better`;
    case "round": return cell.callsPerSample === 1 ? "each round timed by itself; ns"
      : `blocks of ${calls} rounds; ns a round`;
    case "bytes": return `${cell.operation}, bytes for each of ${calls} live blocks`;
  }
}
