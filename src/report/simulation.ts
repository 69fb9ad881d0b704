// The page of `flatline simulate`.

import { followTheme, toolbar } from "./controls";
import { ablationsSection } from "./ablations";
import type { Lines } from "./data";
import { el, type Child } from "./dom";
import { count, percent, refusedShare } from "./format";
import { fillRoot } from "./frame";
import { glossarySection, type Term } from "./glossary";
import { lawsSection, lawsText } from "./laws";
import { near, regretSection } from "./regret";
import { saveButton } from "./save";
import { linesOf, readSimulation, workloadsOf, worstOf, type Simulation, type WorkloadCells } from "./simulated";
import { switchbackSection } from "./switchback";
import { View } from "./view";
import { whatIfSection } from "./whatif";
import { workloadsSection } from "./workloads";

const terms: Term[] = [
  ["sojourn", "from when a task comes to when it ends: waiting and service."],
  ["mean service time", "how long a task takes on average at a worker of full speed; all times are multiples of it."],
  ["P50, P99, P99.9", "half, 99 %, 99.9 % of the tasks that were not refused had this sojourn or a shorter one."],
  ["regret", "P99.9 of a policy over the least of all implementable policies in the same workload, less 1."],
  ["refused", "tasks for which the submitter had no grant at any worker, or which found too few blocks and gave up."],
  ["worst case", "the highest regret of a policy over all workloads: what a default is chosen by."],
  ["interval", "the small figures: where the mean over the seeds is with 95 % confidence, by Student's distribution."],
  ["fairness", "Jain's index of the dispatchers' mean sojourns: 1 if all are equal."],
  ["reports", "what workers publish of themselves, a cache line each; a policy reads a few of them to pick."],
  ["dispatcher", "belongs to one submitter. It knows its grants, a few reports, and what it sent and got back itself."],
  ["random", "any worker for which there is a grant. So it is for all policies: no other worker is ever chosen."],
  ["round robin", "the next worker."],
  ["shortest queue", "the fewest tasks, by what is known of all workers."],
  ["two choices", "the fewer tasks of two workers at random; with memory: and of the best that was seen last."],
  ["idle queue", "a worker that said that it is idle, else any."],
  ["bounded queue", "the shortest queue of those to which this dispatcher has sent few tasks."],
  ["least occupied", "the fewest grants in flight."],
  ["shortest delay", "the least product of tasks there and the time that each takes there."],
  ["peak EWMA", "of two at random, the less product of own tasks there and how long they took."],
  ["C3", "the least own response time, with the cube of the queue."],
  ["Prequal", "from a pool of probes: those with few tasks by latency, else the one with the fewest tasks."],
  ["stale load", "at random, so that what comes while a report is old fills up the queues evenly."],
  ["predictive", "the least predicted sojourn; tasks that hold blocks long go where the fewest grants are in flight."],
  ["central queue", "reference: tasks wait in one queue for any worker that is free. No dispatcher can do that."],
  ["least work, known", "reference: the worker with the least work, with every service time known beforehand, but not " +
    "what slows a worker, nor which blocks are held."],
];

const limits = [
  "It is a simulation of the dispatcher's own code in made-up workloads, and no measurement of an engine: a real one " +
    "is measured by flatline bench engine.",
  "Workers run one task after another, in the order in which they came. A pick takes no time, and neither do a report " +
    "nor the way of a task to its worker: what a policy costs is the number of reports that it reads.",
  "Times are multiples of the mean service time. Caches, memory and the operating system are not simulated, save for " +
    "workers that are slowed.",
  "Intervals are over the seeds of one policy. All policies meet the same tasks, so two of them can differ for " +
    "certain although their intervals overlap.",
];

const leastTold = 0.00005; // of all tasks; shares below are in the tables

/// Who has the lowest worst case in these workloads, in how many it is near the best, and who is next.
function worstText(workloads: WorkloadCells[], kind: string): string {
  const [best, next] = worstOf(workloads);
  if (!best) return "";
  const close = workloads.filter(({ cells }) =>
    cells.some((cell) => cell.policy === best.policy && cell.regret <= near)).length;
  const over = `${workloads.length} ${kind} ${workloads.length === 1 ? "workload" : "workloads"}`;
  const refuses = best.refusals.refused_more >= leastTold
    ? ` It refuses up to ${refusedShare(best.refusals.refused_more)} more of the tasks than the policy that refuses ` +
      `fewest (${best.refusals.workload}).` : "";
  const from = (worst: typeof best) => worst.regret.regret === 0 ? "it has the least P99.9 in each"
    : `at most ${percent(worst.regret.regret)} above the least P99.9 (${worst.regret.workload})`;
  const last = next ? ` Next is ${next.policy}, ${from(next)}.` : "";
  return `Over the ${over}, ${best.policy} has the lowest worst-case regret: ${from(best)}, and within ` +
    `${count(near * 100)} % of it in ${close} of ${workloads.length}.${refuses}${last}`;
}

function runText(simulation: Simulation, workloads: WorkloadCells[], lines: Lines): string {
  const { seed, seeds, tasks } = simulation;
  const policies = lines.backends.filter(({ kind }) => kind !== "control").length;
  if (workloads.length === 0) return `seed ${seed}`;
  const which = seeds > 1 ? `seeds ${seed} to ${seed + seeds - 1}` : `seed ${seed}`;
  return `${policies} policies in ${workloads.length} workloads · ${count(tasks)} tasks in each run, the same for each ` +
    `policy · ${which}`;
}

function mastHead(simulation: Simulation, workloads: WorkloadCells[], lines: Lines): HTMLElement {
  const heldOut = workloads.filter((each) => each.heldOut), training = workloads.filter((each) => !each.heldOut);
  const [first, kind] = heldOut.length > 0 ? [heldOut, "held-out"] as const : [training, "training"] as const;
  const others = heldOut.length > 0 ? worstText(training, "training") : "";
  const paragraph = (name: string, text: string): Child => text !== "" && el("p", { class: name }, text);
  const broken = simulation.gates.some((gate) => !gate.holds), laws = lawsText(simulation.gates);
  return el("header", { class: "mast" },
    el("h1", {}, "flatline simulate"),
    el("p", { class: "run" }, runText(simulation, workloads, lines)),
    paragraph("verdict", worstText(first, kind)),
    paragraph("others", others),
    el("p", { class: broken ? "standing loss" : "others" }, broken ? el("b", {}, laws) : laws),
    el("details", { class: "standing", open: true },
      el("summary", {}, "What this page cannot tell"),
      ...limits.map((text) => el("p", {}, text))));
}

/// Throws iff `text` is not the document of a simulation.
export function showSimulation(text: string, root: HTMLElement): void {
  const simulation = readSimulation(text);
  const view = new View();
  view.scale = "log";
  followTheme(view);
  const lines = linesOf(simulation);
  const workloads = workloadsOf(simulation);
  const heldOut = workloads.filter((each) => each.heldOut), training = workloads.filter((each) => !each.heldOut);
  const parts = [
    ...(heldOut.length > 0 ? [workloadsSection(lines, heldOut, view, "held-out", "Held-out")] : []),
    ...(training.length > 0 ? [workloadsSection(lines, training, view, "training", "Training")] : []),
  ];
  const whatIf = whatIfSection(lines, simulation.what_if);
  const ablations = ablationsSection(workloads), switchback = switchbackSection(simulation.switchback);
  const places = ([
    workloads.length > 0 && ["regret", "Regret"], whatIf && ["what-if", "What if"],
    ...parts.map(({ element, name }) => [element.id, name]), ablations && ["ablations", "Ablations"],
    switchback && ["switchback", "Switchback"], ["laws", "Laws"], ["glossary", "Terms"],
  ] as ([string, string] | false | null)[]).filter((place): place is [string, string] => Boolean(place));
  fillRoot(root, {
    title: "flatline simulate",
    head: mastHead(simulation, workloads, lines),
    bar: toolbar(lines, view, places, saveButton(text, `simulate-${simulation.seed}`, "simulate"),
      { lines: "Policies", axis: "sojourn" }),
    sections: [
      workloads.length > 0 && regretSection(lines, workloads), whatIf, ...parts.map(({ element }) => element),
      ablations, switchback, lawsSection(simulation.gates), glossarySection(terms),
    ],
    footer: simulation.schema,
    places,
    charts: parts.flatMap(({ charts }) => charts),
  });
}
