// What an audit has found, as the page reads it: `flatline.audit/1`. All durations are in ns.

/// A function of a stack. `file` is empty and `line` 0 where they are not known.
export interface Place { function: string; file: string; line: number }

/// `module` is the path of the file that holds the code.
export interface StackFrame extends Place { inlined: boolean; module: string }

/// Calls of one kind that were slow at one site for one cause: `cause` may say more than its kind, as which system call
/// it was. Of first touch, the calls are bursts of page faults in one block's memory. `stack` is innermost first, and
/// `site` the frame of it that is the program's own, null iff there is no stack. `thread` and `at_ns` are of the
/// slowest call.
export interface Stall {
  operation: string; cause: string; cause_kind: string; count: number;
  p50_ns: number; p999_ns: number; max_ns: number; total_ns: number;
  thread: string; at_ns: number; largest_bytes: number; page_faults: number; system_calls: number;
  site: Place | null; stack: StackFrame[];
}

/// `thread` and `stall` are places in the document's lists.
export interface SlowCall { at_ns: number; duration_ns: number; thread: number; stall: number }

/// Each of `points` is a percentage of the calls, and the time that they took at most.
export interface AuditCurve {
  count: number; p50_ns: number; p90_ns: number; p99_ns: number; p999_ns: number; p9999_ns: number; max_ns: number;
  mean_ns: number; total_ns: number; points: [number, number][];
}

/// Of all calls, and of those in which no system call was told: telling one takes time, which is subtracted.
export interface AuditCurves { all: AuditCurve; undisturbed: AuditCurve }

export interface AuditThread {
  name: string; program: string; process: number; thread: number; calls: number; dropped: number;
  in_calls_ns: number; slow_ns: number;
}

/// Time by stack, the outermost function first: `value` is the time of all calls below, `worst` that of the longest.
export interface FlameFrame { name: string; value: number; worst: number; children: FlameFrame[] }

export interface MissingCause { cause: string; why: string }

/// `calls` counts those that were dropped too. `whole` is false if the recording ends before the program did. Without
/// `timed`, as of `--causes`, a time is that of the page faults, system calls and waits for locks in a call, and the
/// curves are empty but for the floor. Beside causes, `causes_available` may name first touches.
/// `stalls` are by their total time, the longest first, and `slow_calls` the longest ones of `slow_count`, by when they
/// began.
export interface Audit {
  schema: string; command: string; machine: string; under: string; over_ns: number; seconds: number; whole: boolean;
  timed: boolean; exit_status: number | null;
  calls: number; dropped: number; told_ns: number;
  causes_available: string[]; causes_missing: MissingCause[]; notes: string[];
  floor: AuditCurve; allocating: AuditCurves; freeing: AuditCurves;
  threads: AuditThread[]; stalls: Stall[]; slow_calls: SlowCall[]; slow_count: number; flame: FlameFrame;
}

/// In the document a slow call is four numbers. One of an earlier Flatline says neither whether calls were timed, as they
/// were, nor how the program ended.
type Written = Omit<Audit, "slow_calls" | "timed" | "exit_status"> & {
  slow_calls: [number, number, number, number][]; timed?: boolean; exit_status?: number | null;
};

export function isAudit(text: string): boolean {
  try {
    return String((JSON.parse(text) as { schema?: unknown }).schema).startsWith("flatline.audit/");
  } catch {
    return false;
  }
}

export function readAudit(text: string): Audit {
  const written = JSON.parse(text) as Written;
  if (written.schema !== "flatline.audit/1") {
    throw new Error(`this page reads flatline.audit/1, but its data is ${written.schema}: ` +
      "write both with the same Flatline");
  }
  return { ...written, timed: written.timed ?? true, exit_status: written.exit_status ?? null,
    slow_calls: written.slow_calls.map(([at_ns, duration_ns, thread, stall]) =>
    ({ at_ns, duration_ns, thread, stall })) };
}

/// What the times of calls are of, where the calls themselves were not timed.
export const toldParts = "page faults, system calls and waits for locks";

/// "render (4711)", as stalls name their thread.
export function threadName({ name, thread }: AuditThread): string {
  return `${name} (${thread})`;
}

/// "render.c:42" if the line is known; empty if not even the file is.
export function sourceOf({ file, line }: Place): string {
  const name = file.slice(file.lastIndexOf("/") + 1);
  return line > 0 && name !== "" ? `${name}:${line}` : name;
}

/// "mix at render.c:42".
export function placeInWords(place: Place | null): string {
  if (!place) return "an unknown place";
  const source = sourceOf(place);
  return source === "" ? place.function : `${place.function} at ${source}`;
}
