// What each part of the predictive policy is worth: its P99.9 without the part, beside that with all of them.

import { el, scrollBox } from "./dom";
import { percentMore, refusedShare } from "./format";
import { ours, type WorkloadCells } from "./simulated";

const separator = " - ";

/// What the policy no longer does without the part.
const meanings: Record<string, string> = {
  service: "estimates of service by type and worker", running: "the rest of the running task",
  sends: "own sends that no report contains yet", exhaustion: "workers whose blocks run out come last",
  occupancy: "types that hold blocks long are spread", age: "what others send while a report ages",
  idle: "workers that say that they are idle", others: "others send where this one does",
  drain: "a report is rolled forward as a queue", spread: "a tolerance by what others send unseen",
};

function signedShare(refused: number): string {
  return `${refused > 0 ? "+" : "\u2212"}${refusedShare(Math.abs(refused))}`;
}

function table(workloads: WorkloadCells[], kind: string): HTMLElement | null {
  const shown = workloads.filter(({ cells, ablations }) =>
    ablations.length > 0 && cells.some((cell) => cell.policy === ours));
  if (shown.length === 0) return null;
  const names = [...new Set(shown.flatMap(({ ablations }) => ablations.map((cell) => cell.policy)))];
  const partOf = (name: string) => name.split(separator)[1] ?? name;
  return el("section", { class: "matrix ablations", "data-ablations": kind },
    scrollBox(`Parts of the predictive policy in the ${kind} workloads`,
      el("table", {},
        el("caption", {}, el("span", {},
          el("b", {}, `${kind} workloads`), " P99.9 without the part, against that with all parts.")),
        el("thead", {}, el("tr", {},
          el("th", { scope: "col" }, "Workload"),
          ...names.map((name) => el("th", { scope: "col" }, `without ${partOf(name)}`,
            el("span", { class: "unit" }, meanings[partOf(name)] ?? ""))))),
        el("tbody", {}, ...shown.map(({ id, name, cells, ablations }) => {
          const whole = cells.find((cell) => cell.policy === ours);
          return el("tr", { "data-workload": name },
            el("th", { scope: "row" }, el("a", { href: `#${id}` }, name)),
            ...names.map((each) => {
              const without = ablations.find((cell) => cell.policy === each);
              if (!without || !whole) return el("td", { class: "absent" }, "\u2014");
              const more = without.p999 / whole.p999 - 1, refused = without.refused - whole.refused;
              return el("td", { "data-part": each, class: more > 0.05 ? "worth" : undefined },
                el("span", { "data-field": "more" }, percentMore(more)),
                refused !== 0 && el("small", { class: refused > 0 ? "refused" : undefined }, "refuses ",
                  el("span", { "data-field": "refused" }, signedShare(refused))));
            }));
        })))));
}

/// null iff no ablation was run.
export function ablationsSection(workloads: WorkloadCells[]): HTMLElement | null {
  if (!workloads.some(({ ablations }) => ablations.length > 0)) return null;
  return el("section", { id: "ablations", "aria-labelledby": "ablations-title" },
    el("h2", { id: "ablations-title" }, "Ablations",
      el("span", { class: "meaning" }, "the predictive policy without each of its parts in turn")),
    el("p", { class: "key" }, "Above 0 the part helps in that workload, below 0 it does harm; bold from 5 % on."),
    table(workloads.filter(({ heldOut }) => heldOut), "Held-out"),
    table(workloads.filter(({ heldOut }) => !heldOut), "Training"));
}
