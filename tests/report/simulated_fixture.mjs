// A made-up document of `flatline simulate` with the shape of a real one; the same seed gives the same bytes.
// usage: node simulated_fixture.mjs FILE

import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { generator, rounded } from "./fixture.mjs";

const policies = ["random", "round robin", "shortest queue", "two choices", "two choices, memory", "idle queue",
  "bounded queue", "least occupied", "shortest delay", "peak EWMA", "C3", "Prequal", "stale load", "predictive"];
const references = ["central queue", "least work, known"];
const parts = ["service", "running", "sends", "exhaustion", "occupancy", "age", "idle", "others"];
const workloads = ["deterministic", "exponential", "memory hogs, refused", "stale reports"];
const shares = [0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.975, 0.99, 0.995, 0.9975, 0.999, 0.9995, 0.9999];

/// A sojourn that grows with every further nine.
function sojourn(median, slope, share) {
  return rounded(median + slope * (-Math.log10(1 - share) - Math.log10(2)));
}

function cellOf(random, workload, held_out, policy, base) {
  const slope = base * (1.5 + 3 * random()), at = (share) => sojourn(base, slope, share);
  const refused = workload.endsWith("refused") && random() < 0.7 ? rounded(0.006 * random() ** 4) : 0;
  return {
    workload, held_out, policy, implementable: !references.includes(policy), ablation: policy.includes(" - "),
    p50: at(0.5), p99: at(0.99), p999: at(0.999), p999_interval: [at(0.999) * 0.97, at(0.999) * 1.03],
    max: at(0.999999), refused, regret: 0, refused_more: 0, fairness: 1 - 0.01 * random(),
    reports_read: 3 * random(), curve: shares.map((share) => [share, at(share)]),
  };
}

/// Sets what the cells of one workload are compared with.
function compare(cells) {
  const able = cells.filter((cell) => cell.implementable && !cell.ablation);
  const least = Math.min(...able.map((cell) => cell.p999)), fewest = Math.min(...able.map((cell) => cell.refused));
  for (const cell of cells) {
    cell.regret = cell.p999 / least - 1;
    cell.refused_more = cell.refused - fewest;
  }
}

function whatIf(random) {
  const loads = [0.5, 0.6, 0.7, 0.8, 0.9, 0.95], staleness = [0, 1, 2, 4, 8, 16, 32];
  const cells = loads.flatMap((load) => staleness.flatMap((age) => policies.map((policy, i) => {
    const p50 = (0.7 + 0.3 * random()) / (1 - load) ** 0.4 * (1 + age * ((i * 7) % 5) / 20);
    return { load, staleness: age, policy, p50: rounded(p50), p99: rounded(p50 * 4.5),
      p999: rounded(p50 * (6 + 2 * random())), refused: load > 0.9 && i < 2 ? rounded(0.002 * random()) : 0 };
  })));
  return { workload: { service: "exponential", shards: 16, dispatchers: 4, grants: 64 }, seed: 3, tasks: 500000, loads,
    staleness, cells };
}

function gatesOf(random) {
  return Array.from({ length: 16 }, (_, i) => {
    const expected = 10 ** (4 * random() - 2), error = 0.004 * (random() - 0.5) + (i === 4 ? 0.02 : 0);
    const width = i === 9 ? 0.008 : 0.003, measured = expected * (1 + error);
    return { law: `Law ${i + 1} (M/M/${i + 1}), load 0.${i + 10}: mean sojourn`, measured, expected,
      interval: [measured * (1 - width / 2), measured * (1 + width / 2)],
      holds: Math.abs(error) <= 0.01 && width < 0.005 };
  });
}

export function makeSimulation() {
  const random = generator(20261129);
  const cells = [true, false].flatMap((held_out) => workloads.flatMap((workload) => {
    const base = 1 + 2 * random();
    const named = [...policies, ...references, ...parts.map((part) => `predictive - ${part}`)];
    const here = named.map((policy) => cellOf(random, workload, held_out, policy,
      base * (policy.startsWith("predictive") ? 1 : 1 + 0.6 * random())));
    compare(here);
    return here;
  }));
  return {
    schema: "flatline.simulate/1", seed: 3, gates: gatesOf(random), seeds: 4, tasks: 1000000, cells,
    what_if: whatIf(random),
    switchback: {
      cases: 1000, known: 998, covered: 953, median_half_width: 0.0412,
      pairs: [
        { workload: "exponential", policy: "predictive", fallback: "two choices", slice: 256, tasks: 350000,
          truth: 0.2387, truth_interval: [0.231, 0.2464], measured: 0.2401, cases: 500, known: 500, covered: 476,
          median_half_width: 0.0381 },
        { workload: "bursts", policy: "predictive", fallback: "two choices", slice: 16, tasks: 800000,
          truth: -0.0151, truth_interval: [-0.0303, 0.0001], measured: -0.012, cases: 500, known: 498, covered: 477,
          median_half_width: null },
      ],
    },
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(process.argv[2] ?? "simulation.json", JSON.stringify(makeSimulation(), null, 1));
}
