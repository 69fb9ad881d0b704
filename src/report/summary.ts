// The top of the page: one sentence, then every cell by name with its win or loss.

import type { Backend, Bench, Cell } from "./data";
import { el, type Child } from "./dom";
import { frontierText } from "./programs";
import { roundsStanding } from "./rounds";
import { isOurs, judgedCells, percentAway, rivalsOf, verdictOf, type Judged, type Outcome } from "./verdict";

/// The order in which a sceptic reads.
const outcomes: [Outcome, string, string][] = [
  ["loss", "loses", "to"], ["win", "wins", "over"], ["even", "has no difference at this precision", "from"],
  ["void", "is in void cells", "with"],
];

/// Cells grouped by rival: "to Boost.Pool: hot 16 B by 8–10 %, ...".
function byRival(judged: Judged[], subject: Backend, backends: Backend[], beside: string): HTMLElement[] {
  const rivals = [...new Set(judged.map(({ judgement }) => judgement.best.backend))];
  return rivals.map((rival) => {
    const title = backends.find((each) => each.name === rival)?.title ?? rival;
    const cells = judged.filter(({ judgement }) => judgement.best.backend === rival);
    const items = cells.flatMap(({ cell, judgement }, i): Child[] => {
      const { outcome } = judgement;
      const decides = outcome === "win" || outcome === "loss";
      return [i > 0 && ", ", el("span", { "data-judged": cell.id, "data-subject": subject.name, "data-outcome": outcome },
        el("a", { href: `#${cell.id}` }, cell.name),
        decides && el("span", { class: "by" }, ` by ${percentAway(judgement)}`))];
    });
    return el("p", {}, el("b", {}, `${beside} ${title}: `), ...items);
  });
}

/// One part for each of Flatline's allocators. Losses and wins are unfolded; cells that decide nothing are folded.
function standing(bench: Bench, cells: Cell[]): HTMLElement[] {
  const all = bench.backends.filter(isOurs).map((subject) =>
    ({ subject, judged: judgedCells(cells, bench.backends, rivalsOf(subject), subject) }));
  return outcomes.flatMap(([outcome, does, beside]) =>
    all.filter(({ judged }) => judged[outcome].length > 0).map(({ subject, judged }) => {
      const count = judged[outcome].length;
      return el("details", { class: `standing ${outcome}`, open: outcome === "loss" || outcome === "win" },
        el("summary", {}, `${subject.title} ${does}: ${count} ${count === 1 ? "cell" : "cells"}`),
        ...byRival(judged[outcome], subject, bench.backends, beside));
    }));
}

export function summary(bench: Bench, cells: Cell[]): Child[] {
  const { sentence, others } = verdictOf(bench, cells);
  const programs = frontierText(bench);
  return [
    sentence !== "" && el("p", { class: "verdict" }, sentence),
    others !== "" && el("p", { class: "others" }, others),
    programs !== "" && el("p", { class: sentence === "" ? "verdict" : "others" }, programs),
    ...standing(bench, cells),
    roundsStanding(bench, cells),
  ];
}
