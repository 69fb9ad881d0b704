// The run as the page reads it: `flatline.bench/1`, its cells grouped by what was timed.

export type BackendKind = "subject" | "again" | "control" | "unchecked" | "general" | "fixed-pool";

export interface Backend { name: string; title: string; kind: BackendKind }
export interface Missing { name: string; how: string }
export interface Failure { backend: string; suite: string; size: number; message: string }
export interface Hiccups {
  seconds: number; over_10us: number; over_10us_per_second: number; lost_us_per_second: number; max_ns: number;
}
export interface Allocator { backend: string; version: string; path: string; source?: string; flags: string }

export interface Environment {
  processor: string; logical_cpus: number; kernel: string; compiler: string; flags: string;
  flatline_version: string; pinned_cpu: number; transparent_huge_pages: string; hypervisor: string; governor: string;
  isolated_cpus: string; nohz_full: string; smt: string;
  steal_percent: number; context_switches: number; migrations: number;
  timer: { name: string; frequency_hz: number; tick_ns: number; cost_ns: number };
  hiccups: { before: Hiccups; between: Hiccups; after: Hiccups };
  allocators: Allocator[];
}

/// One backend's figures in one cell. Times are in `unit`; `curve` holds [percentile, value] pairs, ascending.
/// `p50_net` is the median less the clock's own cost; page faults are those while timing, `_setup` those before.
export interface Row {
  suite: string; backend: string; size: number; calls_per_sample: number; operation: string; order: string;
  unit: string; samples: number; processes: number;
  mean: number; p50: number; p90: number; p99: number; p999: number; p9999: number | null; max: number;
  p50_low: number; p50_high: number; p999_low: number; p999_high: number;
  over_100ns_ppm: number | null; over_1us_ppm: number | null; over_10us_ppm: number | null;
  p50_net?: number | null; page_faults: number; page_faults_setup?: number; resident_kib?: number;
  void: boolean; curve?: [number, number][];
}

/// The pool beside one rival in the figure that decides the cell: the ratio of the two and its 95 % interval.
export interface Verdict {
  suite: string; size: number; calls_per_sample: number; operation: string; order: string; rival: string;
  outcome: "faster" | "slower" | "no difference" | "void"; ratio: number; low: number; high: number;
}

export interface Bench {
  schema: string; mode: string; started: string; duration_seconds: number; rounds: number;
  environment: Environment; backends: Backend[]; missing: Missing[]; errors?: Failure[]; cells: Row[];
  verdicts: Verdict[];
}

/// What a cell's figures are: ns a pair in blocks of calls, ns of one call, a whole phase (ns a call, or bytes a block),
/// or a rate.
export type CellKind = "body" | "tail" | "phase" | "rate";

/// All rows that timed the same work, one for each backend.
export interface Cell {
  id: string; kind: CellKind; suite: string; size: number; callsPerSample: number; operation: string; order: string;
  unit: string; rows: Row[]; isVoid: boolean; verdicts: Verdict[];
}

interface Table { columns: string[]; rows: unknown[][] }

/// Undoes what the program did to make the file small: tables of rows become objects again.
function unpackCells(cells: Row[] | { tables: Table[] }): Row[] {
  if (Array.isArray(cells)) return cells;
  return cells.tables.flatMap(({ columns, rows }) =>
    rows.map((row) => Object.fromEntries(columns.map((name, i) => [name, row[i]])) as unknown as Row));
}

export function readBench(text: string): Bench {
  const raw = JSON.parse(text);
  if (raw.schema !== "flatline.bench/1") {
    throw new Error(`this page reads flatline.bench/1, its data says ${raw.schema}: fill it with the same Flatline`);
  }
  return { ...raw, cells: unpackCells(raw.cells) };
}

function kindOf(row: Row): CellKind {
  if (row.unit === "Mops/s") return "rate";
  if (row.curve === undefined) return "phase";
  return row.calls_per_sample === 1 ? "tail" : "body";
}

function idOf(row: Row | Verdict): string {
  return [row.suite, row.size, row.calls_per_sample, row.operation, row.order].filter((part) => part !== "").join("-");
}

const suiteOrder = [
  "hot", "fifo", "churn", "mixed", "order", "throughput", "drift", "startup", "memory", "anysize", "new-delete",
  "threads", "arrivals",
];
const kindOrder: CellKind[] = ["body", "tail", "phase", "rate"];

/// A suite the page does not know comes after those it does.
function suiteRank(suite: string): number {
  const at = suiteOrder.indexOf(suite);
  return at < 0 ? suiteOrder.length : at;
}

/// Cells by suite, then size, the body before the tail; rows keep the order of the data.
export function groupCells(bench: Bench): Cell[] {
  const cells = new Map<string, Cell>();
  for (const row of bench.cells) {
    const id = idOf(row);
    const cell = cells.get(id) ?? {
      id, kind: kindOf(row), suite: row.suite, size: row.size, callsPerSample: row.calls_per_sample,
      operation: row.operation, order: row.order, unit: row.unit, rows: [], isVoid: false,
      verdicts: bench.verdicts.filter((verdict) => idOf(verdict) === id),
    };
    cell.rows.push(row);
    cell.isVoid ||= row.void;
    cells.set(id, cell);
  }
  return [...cells.values()].sort((a, b) =>
    suiteRank(a.suite) - suiteRank(b.suite) || a.size - b.size ||
    kindOrder.indexOf(a.kind) - kindOrder.indexOf(b.kind));
}

export function higherIsBetter(cell: Cell): boolean {
  return cell.kind === "rate";
}
