// A made-up document of `flatline audit` with the shape of a real one; the same arguments give the same bytes.
// usage: node audit_fixture.mjs FILE

import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { generator, rounded } from "./fixture.mjs";

/// What a name in a binary may hold: if a page took it for HTML, it would load an image and run a script.
export const hostile = "<img src=x onerror=\"document.title='run'\">";

const frame = (name, file, line, more = {}) =>
  ({ function: name, file, line, inlined: false, module: "/opt/synth/bin/synth", ...more });
const below = [frame("audio::Engine::run(std::stop_token)", "/src/synth/engine.cpp", 118),
  frame("std::jthread::_S_create", "/usr/include/c++/12/thread", 0, { inlined: true }),
  frame("start_thread", "", 0, { module: "/usr/lib/x86_64-linux-gnu/libc.so.6" }),
  frame("clone3", "", 0, { module: "/usr/lib/x86_64-linux-gnu/libc.so.6" })];
const longName = "std::__detail::_Map_base<std::basic_string<char>, std::pair<std::basic_string<char> const, " +
  "audio::Voice>, std::allocator<std::pair<std::basic_string<char> const, audio::Voice>>>::operator[](key_type const&)";

const unloading = [frame("operator delete(void*)", "", 0, { module: "/lib/libc.so.6" }),
  frame("synth::Sample::~Sample()", "/src/synth/sample.cpp", 33, { inlined: true }),
  frame("synth::unload(synth::Bank&)", "/src/synth/bank.cpp", 204)];

// operation, kind and words of the cause, the frames above those of all threads, which of them is the site,
// slow calls, median in us, spread in decades, bytes, faults and system calls in all
const kinds = [
  ["first touch", "page fault", "page fault", [frame("audio::Delay::resize(std::size_t)", "/src/synth/delay.cpp", 61)],
    0, 220, 24, 0.5, 1 << 22, 2210, 0],
  ["free", "system call", "system call madvise", unloading, 1, 9, 2400, 0.4, 1 << 24, 0, 9],
  ["malloc", "lock", "lock", [frame("audio::Mixer::mix(Block&)", "/src/synth/mixer.cpp", 87)], 0,
    63, 31, 0.6, 512, 0, 71],
  ["operator new", "own work or the machine", "own work or the machine", [
    frame(longName, "/usr/include/c++/12/map", 501), frame("audio::Voices::start(Note)", "/src/synth/voices.cpp", 140)],
  1, 40, 14, 0.2, 96, 0, 0],
  ["realloc", "page fault", "page fault", [frame("record", "/src/synth/record.c", 58)], 0,
    34, 17, 0.3, 1 << 20, 130, 0],
  ["malloc", "preempted", "preempted", [frame("audio::Mixer::mix(Block&)", "/src/synth/mixer.cpp", 91)], 0,
    21, 950, 0.5, 512, 0, 0],
  ["free", "blocked", "blocked", [frame("log_line", "", 0, { module: "/opt/synth/lib/libplug in.so" }),
    frame("free", "", 0, { module: "/opt/synth/lib/libplug in.so" }), ...unloading], 0, 5, 2050, 0.05, 128, 0, 5],
];
const over = 10000; // ns
const names = ["render", "mixer", "loader", "ui", "synth-helper"];

/// Three decades of percentiles and the worst call, of a curve that grows with each further nine.
function curveOf(count, base, growth, worst) {
  const at = (percent) => rounded(Math.min(worst, base * growth ** -Math.log10(1 - percent / 100)));
  const nines = [0, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 99.95, 99.99, 99.995, 99.999]
    .filter((percent) => -Math.log10(1 - percent / 100) < Math.log10(count));
  const points = [...nines.map((percent) => [percent, at(percent)]), [100, worst]];
  return { count, p50_ns: at(50), p90_ns: at(90), p99_ns: at(99), p999_ns: at(99.9), p9999_ns: at(99.99), max_ns: worst,
    mean_ns: at(60), total_ns: at(60) * count, points };
}

const empty = { count: 0, p50_ns: 0, p90_ns: 0, p99_ns: 0, p999_ns: 0, p9999_ns: 0, max_ns: 0, mean_ns: 0, total_ns: 0,
  points: [] };

function stallOf([operation, cause_kind, cause, own, site, , , , bytes, faults, calls], durations, thread, at_ns) {
  const rank = (percent) => durations[Math.ceil((percent / 100) * durations.length - 1e-9) - 1];
  const { function: name, file, line } = own[site];
  return { operation, count: durations.length, p50_ns: rank(50), p999_ns: rank(99.9),
    max_ns: durations[durations.length - 1], total_ns: durations.reduce((sum, each) => sum + each, 0),
    cause, cause_kind, thread, at_ns, largest_bytes: bytes, page_faults: faults, system_calls: calls,
    site: { function: name, file, line }, stack: [...own, ...below] };
}

/// All calls by stack: those of the stalls, and many quick ones.
function flameOf(stalls) {
  const root = { name: "all", value: 0, worst: 0, children: [] };
  const add = (path, value, worst) => {
    let node = root;
    for (const name of [null, ...path]) {
      if (name !== null) {
        const known = node.children.find((child) => child.name === name);
        if (!known) node.children.push({ name, value: 0, worst: 0, children: [] });
        node = known ?? node.children[node.children.length - 1];
      }
      node.value += value;
      node.worst = Math.max(node.worst, worst);
    }
  };
  for (const { stack, operation, total_ns, max_ns } of stalls) {
    add([...stack.map((each) => each.function).reverse(), operation], Math.round(total_ns), Math.round(max_ns));
  }
  add(["clone3", "start_thread", "ui::draw()", "ui::text(std::string)", "operator new"], 9_000_000, 4100);
  add(["_start", "main", "synth::load(Bank&)", "operator new"], 26_000_000, 9900);
  return root;
}

/// `times`: how many times as many slow calls as usual.
export function makeAudit(times = 1) {
  const random = generator(20261130), seconds = 12.5, slow = [], found = [];
  kinds.forEach((kind, k) => {
    const [, , , , , calls, median, spread] = kind;
    for (let i = 0; i < calls * times; i++) {
      const length = Math.max(over, Math.round(1000 * median * 10 ** (spread * (random() + random() - 1))));
      slow.push([Math.round(random() * seconds * 1e9 * 0.98), length, Math.floor(names.length * random() ** 2), k]);
    }
  });
  kinds.forEach((kind, k) => {
    const own = slow.filter((call) => call[3] === k).sort((a, b) => a[1] - b[1]), last = own[own.length - 1];
    found.push([stallOf(kind, own.map((call) => call[1]), `${names[last[2]]} (${4711 + last[2]})`, last[0]), k]);
  });
  found.sort(([a], [b]) => b.total_ns - a.total_ns);
  const place = new Map(found.map(([, k], i) => [k, i]));
  const slow_calls = slow.map(([at, length, thread, k]) => [at, length, thread, place.get(k)])
    .sort((a, b) => a[0] - b[0]);
  const stalls = found.map(([stall]) => stall);
  const worst = (frees) => Math.max(...stalls.filter(({ operation }) =>
    operation !== "first touch" && operation.startsWith("free") === frees).map(({ max_ns }) => max_ns));
  const taking = curveOf(1_204_551, 31, 3.1, worst(false)), giving = curveOf(1_198_020, 22, 2.6, worst(true));
  return {
    schema: "flatline.audit/1", command: "/opt/synth/bin/synth --bank \"grand piano.bank\" --seconds 12",
    machine: "Some processor, 2 logical; Linux 6.1", under: "/usr/lib/x86_64-linux-gnu/libc.so.6", over_ns: over,
    seconds, whole: true, exit_status: 0, timed: true, calls: 2_402_571, dropped: 12,
    causes_available: ["page fault", "system call", "lock", "blocked", "own work or the machine", "first touch"],
    causes_missing: [{ cause: "preempted", why: "perf_event_open is refused (perf_event_paranoid is 3)" }],
    notes: ["Page faults inside system calls are counted by getrusage, once in 8 calls."], told_ns: 812.5,
    floor: curveOf(100_000, 24, 1.3, 5210),
    allocating: { all: taking, undisturbed: curveOf(1_204_400, 31, 2.9, 61_000) },
    freeing: { all: giving, undisturbed: empty },
    threads: names.map((name, i) => ({ name, program: "/opt/synth/bin/synth", process: i === 4 ? 4800 : 4711,
      thread: 4711 + i, calls: 480_000 + i, dropped: i === 0 ? 12 : 0, in_calls_ns: 9e7,
      slow_ns: slow_calls.filter((call) => call[2] === i).reduce((sum, call) => sum + call[1], 0) })),
    slow_count: slow_calls.length, stalls, slow_calls, flame: flameOf(stalls),
  };
}

/// An audit that found nothing.
export function makeCalm() {
  const audit = makeAudit();
  return { ...audit, dropped: 0, stalls: [], slow_calls: [], slow_count: 0, causes_missing: [], notes: [],
    threads: audit.threads.map((thread) => ({ ...thread, dropped: 0, slow_ns: 0 })),
    flame: { name: "all", value: 35_000_000, worst: 9900, children: [{ name: "main", value: 35_000_000, worst: 9900,
      children: [] }] } };
}

/// An audit by --causes, which times no call: what the kernel told of the calls is all that is known.
export function makeCauses() {
  const audit = makeAudit(), told = ["page fault", "system call", "lock"], none = { all: empty, undisturbed: empty };
  const place = new Map(), kept = audit.stalls.filter(({ cause_kind: kind, operation }, i) => {
    const stays = told.includes(kind) && operation !== "first touch";
    if (stays) place.set(i, place.size);
    return stays;
  });
  const slow_calls = audit.slow_calls.filter((call) => place.has(call[3]))
    .map(([at, length, thread, stall]) => [at, length, thread, place.get(stall)]);
  return { ...audit, timed: false, exit_status: 139, causes_available: told, stalls: kept, slow_calls,
    slow_count: slow_calls.length, flame: flameOf(kept), allocating: none, freeing: none,
    causes_missing: ["preempted", "blocked", "own work or the machine"].map((cause) =>
      ({ cause, why: "no call was timed (--causes)" })),
    notes: ["A time is that of the page faults, system calls and waits for locks within a call."] };
}

/// An audit of more stalls and threads than a page shows at once: 150 and 40.
export function makeCrowd() {
  const audit = makeAudit(), count = audit.slow_calls.length;
  const threads = Array.from({ length: 40 }, (_, i) =>
    ({ ...audit.threads[0], name: `worker ${i}`, thread: 9000 + i }));
  const stalls = Array.from({ length: 150 }, (_, i) => {
    const stall = audit.stalls[i % audit.stalls.length], site = { ...stall.site, line: 1000 + i };
    return { ...stall, site, stack: [{ ...stall.stack[0], ...site }, ...stall.stack], total_ns: 1e9 - i };
  });
  const slow_calls = audit.slow_calls.map(([at, length], i) => [at, length, i % 40, (count - 1 - i) % 150]);
  return { ...audit, threads, stalls, slow_calls };
}

/// An audit of a program whose every name is hostile.
export function makeHostile() {
  const audit = makeAudit();
  const spoil = (node) => ({ ...node, name: `${hostile}${node.name}`, children: node.children.map(spoil) });
  const place = (each) => ({ ...each, function: hostile + each.function, file: `/src/${hostile}/a.c` });
  return {
    ...audit, command: hostile, machine: hostile, under: hostile, notes: [hostile],
    causes_missing: [{ cause: hostile, why: hostile }], causes_available: [...audit.causes_available, hostile],
    threads: audit.threads.map((thread) => ({ ...thread, name: hostile, program: hostile })),
    stalls: audit.stalls.map((stall) => ({ ...stall, operation: hostile, cause: hostile, cause_kind: hostile,
      thread: hostile, site: place(stall.site), stack: stall.stack.map(place) })),
    flame: spoil(audit.flame),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(process.argv[2] ?? "audit.json", JSON.stringify(makeAudit(), null, 1));
}
