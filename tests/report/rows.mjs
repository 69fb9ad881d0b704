// The rows of a run as the checks read them: what each is, which cell it belongs to, and how its figures are written.

const thinSpace = "\u202f";

/// The page's rule for figures, written a second time on purpose: a change of rule must be made twice.
export function figure(value, decimals) {
  if (value === null) return "\u2014";
  const size = Math.abs(value);
  let [whole, fraction] = size.toFixed(size >= 1000 ? 0 : decimals).split(".");
  let grouped = "";
  while (whole.length > 3) {
    grouped = thinSpace + whole.slice(-3) + grouped;
    whole = whole.slice(0, -3);
  }
  const text = whole + grouped + (fraction ? `.${fraction}` : "");
  return value < 0 && /[1-9]/.test(text) ? `\u2212${text}` : text;
}

/// What a row of the JSON is, told from the row alone.
export function kindOf(row) {
  if (row.unit !== "ns") return row.unit === "bytes" ? "bytes" : "rate";
  if (row.windows) return "drift";
  if (!row.curve) return "phase";
  if (row.operation === "round") return "round";
  return row.calls_per_sample === 1 ? "tail" : "body";
}

export const isCurved = (row) => ["tail", "body", "round"].includes(kindOf(row));
export const isRanked = (row) => row.ranked !== false;

export function cellOf(row) {
  const threads = row.threads > 2 ? `${row.threads}-threads` : "";
  return [row.suite, row.size, row.calls_per_sample, row.operation, row.order, threads]
    .filter((part) => part !== "").join("-")
    .split(" ").join("-");
}

/// The rows of the JSON by cell.
export function cellsOf(bench) {
  const cells = new Map();
  for (const row of bench.cells) cells.set(cellOf(row), [...(cells.get(cellOf(row)) ?? []), row]);
  return cells;
}
