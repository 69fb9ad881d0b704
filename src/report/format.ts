// How figures are written: one rule for each kind of figure, so that a column lines up and a test can recompute it.

import type { Cell, CellKind } from "./data";

const thinSpace = "\u202f";
const minus = "\u2212";
export const noFigure = "\u2014";

/// Decimals of a time or rate. A block of calls resolves hundredths of a nanosecond; a single call one timer tick.
const decimalsOf: Record<CellKind, number> = { body: 2, tail: 1, phase: 2, rate: 1 };

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

export function bytes(size: number): string {
  if (size === 0) return "seven sizes";
  return size >= 1024 && size % 1024 === 0 ? `${size / 1024} KiB` : `${size} B`;
}

/// Where and what, short enough for a row label: "64 B", "seven sizes, alloc", "random, free".
export function shortName(cell: Cell): string {
  const place = cell.order === "" ? bytes(cell.size) : cell.order;
  return cell.kind === "body" || cell.kind === "rate" ? place : `${place}, ${cell.operation}`;
}

export function cellName(cell: Cell): string {
  return `${cell.suite} ${shortName(cell)}`;
}

/// How the figures of a cell were taken.
export function method(cell: Cell): string {
  const calls = count(cell.callsPerSample);
  switch (cell.kind) {
    case "body": return `alloc+free pairs, blocks of ${calls} calls; ns per ${cell.operation}`;
    case "tail": return `single ${cell.operation} calls; ns per call`;
    case "phase": return cell.unit === "bytes" ? `${cell.operation}, for each of ${calls} blocks; bytes`
      : `${cell.operation}, whole phases of ${calls} calls; ns per call`;
    case "rate": return `batches of ${calls}, uninstrumented; Mops/s, higher is better`;
  }
}
