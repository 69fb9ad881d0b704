// The run as the page reads it: `flatline.bench/1`, with its cells grouped by what was timed.

import { sizeName } from "./format";

export type BackendKind = "subject" | "again" | "control" | "unchecked" | "general" | "fixed-pool" | "standard"
  | "drop-in" | "one-to-one" | "alternative";

/// `beside`: the backend that its figures are compared with, in addition to the mallocs; for a copy, the original.
export interface Backend { name: string; title: string; kind: BackendKind; beside?: string }
/// What the charts and the bar at the top need to know of a document: whose lines there are.
export interface Lines { backends: Backend[] }
export interface Missing { name: string; how: string }
export interface Failure { backend: string; suite: string; size: number; order?: string; message: string }
export interface Hiccups {
  seconds: number; over_10us: number; over_10us_per_second?: number; lost_us_per_second?: number; max_ns: number;
}
/// `own_code` is false if the system made the processes share the pages of their code.
export interface Allocator {
  backend: string; version: string; path: string; source?: string; flags: string; own_code?: boolean;
}

export interface Environment {
  processor: string; logical_cpus: number; kernel: string; compiler: string; flags: string;
  flatline_version: string; pinned_cpu: number; transparent_huge_pages: string; hypervisor: string; governor: string;
  isolated_cpus: string; nohz_full: string; smt: string;
  steal_percent: number; context_switches: number; migrations: number;
  timer: { name: string; frequency_hz: number; tick_ns: number; cost_ns: number };
  hiccups: { before: Hiccups; between?: Hiccups; after: Hiccups };
  allocators: Allocator[];
}

/// The course of a long run: one value for each window of `operations` operations, in order of time.
export interface Windows {
  operations: number; values: number[]; first: number; last: number; worst: number; slope_ns_per_million: number;
}

/// What was timed; equal in all rows of a cell. `threads` is set by a run that has cells of more than two threads.
export interface Work {
  suite: string; size: number; calls_per_sample: number; operation: string; order: string; threads?: number;
}

/// One backend's figures in one cell, in `unit`: ns, bytes, or Mops/s or Mtasks/s (more is better). `curve` holds [percentile,
/// value] pairs, ascending. `p50_net` is the median less the clock's own cost. `page_faults` are those while timing,
/// `page_faults_setup` those before. If `ranked` is false, the figure does not measure merit, and no row wins.
export interface Row extends Work {
  backend: string; unit: string; ranked?: boolean; samples: number; processes: number;
  mean: number; p50: number; p90: number; p99: number; p999: number; p9999: number | null; max: number;
  p50_low: number; p50_high: number; p999_low: number; p999_high: number;
  over_100ns_ppm: number | null; over_1us_ppm: number | null; over_10us_ppm: number | null;
  p50_net?: number | null; page_faults: number; page_faults_setup?: number; resident_kib?: number;
  instructions_per_operation?: number | null; branch_misses_per_operation?: number | null;
  cache_misses_per_operation?: number | null; tlb_misses_per_operation?: number | null;
  heap_calls?: number | null; held_bytes?: number | null; // in a round of the standard containers
  counts?: Record<string, number[]>; // of tasks: other figures by name, one for each process
  peak_bytes?: number | null; // peak resident bytes of a process with several threads, without the driver's own
  void: boolean; curve?: [number, number][]; windows?: Windows;
}

/// The comparison of one of Flatline's allocators with one rival: the ratio and its 95 % interval. Rounds have several
/// figures, other cells only the one that decides.
export interface Verdict extends Work {
  figure?: "p50" | "p999" | "jitter"; subject?: string; rival: string; outcome: "faster" | "slower" | "no difference" | "void"; ratio: number; low: number; high: number;
}

/// The spread over the processes of one program under one allocator.
export interface Spread { median: number; low: number; high: number }

/// A program under one allocator. `frontier`: no other allocator needs less time without more memory, or less memory
/// without more time. `allocator_share` is a share of processor time, from 0 to 1.
export interface ProgramRow {
  backend: string; version: string; path: string; settings: string; processes: number;
  wall_s: Spread; user_s: Spread; system_s: Spread; instructions: Spread | null;
  peak_rss_kib: Spread; final_rss_kib: Spread; page_faults: Spread; system_calls: number | null;
  allocations: number; frees: number; allocator_share: number; frontier: boolean;
}

/// A real program. `process` is the one whose memory is measured, `clock` the one whose wall time is. `missing` is how
/// to get the program if it was not found. `shortfalls` are the reasons why its figures say little about allocators.
export interface Program {
  name: string; title: string; package: string; work: string; process: string; clock: string; version: string;
  missing: string | null; shortfalls: string[]; rows: ProgramRow[]; errors: { backend: string; message: string }[];
}

/// `judged` is false for a run written before runs had verdicts.
export interface Bench {
  schema: string; mode: string; started: string; duration_seconds: number; rounds: number;
  environment: Environment; backends: Backend[]; missing: Missing[]; errors: Failure[]; cells: Row[];
  verdicts: Verdict[]; judged: boolean; programs: Program[];
}

/// The figures of a cell: ns per pair in blocks of calls, ns of one call, the windows of a long run, ns per call of a
/// whole phase, a rate, bytes, or ns per round of the standard containers.
export type CellKind = "body" | "tail" | "drift" | "phase" | "rate" | "bytes" | "round";

/// All rows that timed the same work, one for each backend.
export interface Cell {
  id: string; kind: CellKind; name: string; suite: string; size: number; callsPerSample: number; operation: string;
  order: string; unit: string; ranked: boolean; rows: Row[]; isVoid: boolean; verdicts: Verdict[];
}

/// A run of programs alone names its allocators only in the programs.
function allBackends(backends: Backend[], programs: Program[]): Backend[] {
  const all = new Map(backends.map((each) => [each.name, each]));
  for (const { backend } of programs.flatMap(({ rows, errors }) => [...rows, ...errors])) {
    if (!all.has(backend)) all.set(backend, { name: backend, title: backend, kind: "general" });
  }
  return [...all.values()];
}

export function readBench(text: string): Bench {
  const raw = JSON.parse(text) as Bench;
  if (raw.schema !== "flatline.bench/1") {
    throw new Error(`this page reads flatline.bench/1, but its data is ${raw.schema}: ` +
      "write both with the same Flatline");
  }
  const programs = raw.programs ?? [];
  return {
    ...raw, errors: raw.errors ?? [], programs, backends: allBackends(raw.backends, programs),
    verdicts: raw.verdicts ?? [], judged: raw.verdicts !== undefined,
  };
}

/// Derived from the data, not from the suite's name, so that an unknown suite is shown as well.
function kindOf(rows: Row[]): CellKind {
  const { unit, calls_per_sample: calls } = rows[0] as Row;
  if (unit === "Mops/s" || unit === "Mtasks/s") return "rate";
  if (unit === "bytes") return "bytes";
  if (rows.some((row) => row.windows)) return "drift";
  if (rows[0]?.operation === "round") return "round";
  if (!rows.some((row) => row.curve)) return "phase";
  return calls === 1 ? "tail" : "body";
}

/// Two threads are not named: a verdict on them may not have the number.
function idOf(work: Work): string {
  const threads = (work.threads ?? 1) > 2 ? `${work.threads}-threads` : "";
  return [work.suite, work.size, work.calls_per_sample, work.operation, work.order, threads]
    .filter((part) => part !== "").join("-").replace(/\s+/g, "-");
}

function groupBy<T>(all: T[], key: (each: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const each of all) {
    const group = groups.get(key(each));
    if (group) group.push(each);
    else groups.set(key(each), [each]);
  }
  return groups;
}

const suiteOrder = [
  "hot", "fifo", "churn", "mixed", "order", "throughput", "drift", "startup", "memory", "anysize", "new-delete",
  "threads", "pipeline", "arrivals", "stalls", "containers", "engine",
];
const kindOrder: CellKind[] = ["body", "tail", "drift", "phase", "rate", "bytes", "round"];

/// Unknown suites come after the known ones.
function suiteRank(suite: string): number {
  const at = suiteOrder.indexOf(suite);
  return at < 0 ? suiteOrder.length : at;
}

/// Cells by suite, then by size, body before tail. Rows keep the order of the data.
export function groupCells(bench: Bench): Cell[] {
  const verdicts = groupBy(bench.verdicts, idOf);
  const sizes = new Map([...groupBy(bench.cells, (row) => row.suite)]
    .map(([suite, rows]) => [suite, new Set(rows.map((row) => row.size)).size]));
  const cells = [...groupBy(bench.cells, idOf)].map(([id, rows]): Cell => {
    const row = rows[0] as Row;
    return {
      id, rows, kind: kindOf(rows), name: nameOf(row, (sizes.get(row.suite) ?? 1) > 1), suite: row.suite,
      size: row.size, callsPerSample: row.calls_per_sample, operation: row.operation, order: row.order,
      unit: row.unit, ranked: row.ranked !== false, isVoid: rows.some((each) => each.void),
      verdicts: verdicts.get(id) ?? [],
    };
  });
  return cells.sort((a, b) =>
    suiteRank(a.suite) - suiteRank(b.suite) || a.suite.localeCompare(b.suite) || a.size - b.size ||
    kindOrder.indexOf(a.kind) - kindOrder.indexOf(b.kind));
}

/// The label of a row: "hot 64 B", "mixed seven sizes, alloc", "order random, free". It leaves out the obvious: the
/// size next to an order in a suite of one size, the operation "pair", and that a round was timed alone.
function nameOf(row: Row, manySizes: boolean): string {
  if (row.operation === "round") {
    const rounds = row.calls_per_sample;
    return `${row.suite} ${row.order}${rounds === 1 ? "" : `, ${rounds} rounds`}`;
  }
  const places = [row.order === "" || manySizes ? sizeName(row.suite, row.size) : "", row.order].filter(Boolean);
  const threads = (row.threads ?? 1) > 1 ? `, ${row.threads} threads` : "";
  return `${row.suite} ${places.join(" ")}${threads}${row.operation === "pair" ? "" : `, ${row.operation}`}`;
}

/// The backends expected in cells that time rounds, or in those that do not: the ones with a figure there, or with none
/// anywhere.
export function measuredIn(bench: Bench, inRounds: boolean): Backend[] {
  const names = new Set(bench.cells.filter((row) => (row.operation === "round") === inRounds)
    .map((row) => row.backend));
  const elsewhere = new Set(bench.cells.filter((row) => (row.operation === "round") !== inRounds)
    .map((row) => row.backend));
  return bench.backends.filter(({ name }) => names.has(name) || !elsewhere.has(name));
}

export function higherIsBetter(cell: Cell): boolean {
  return cell.kind === "rate";
}
