// Suite containers: rounds of the standard containers over several subjects, each compared with rivals of its own.

import type { Bench, Cell, Verdict } from "./data";
import { el, scrollBox, type Child } from "./dom";
import { figure, range } from "./format";

type Outcome = Verdict["outcome"];

const figures: [NonNullable<Verdict["figure"]>, string][] =
  [["p50", "P50"], ["p999", "P99.9"], ["jitter", "P99.9 \u2212 P50"]];
const words: Record<Outcome, string> = { faster: "less", slower: "more", "no difference": "even", void: "void" };
const classes: Record<Outcome, string> = { faster: "win", slower: "loss", "no difference": "even", void: "void" };
const bestMalloc = "best malloc";

/// A subject and its rival: the backend in its `beside`, or the malloc that is best in a figure.
interface Pair { subject: string; rival: string }

function titleOf(bench: Bench, name: string): string {
  return bench.backends.find((each) => each.name === name)?.title ?? name;
}

function pairOf(bench: Bench, verdict: Verdict): Pair {
  const rival = bench.backends.find((each) => each.name === verdict.rival);
  return { subject: verdict.subject ?? "", rival: rival?.kind === "general" ? bestMalloc : verdict.rival };
}

const isSame = (a: Pair, b: Pair) => a.subject === b.subject && a.rival === b.rival;

/// In the order of the verdicts.
function pairsOf(bench: Bench, verdicts: Verdict[]): Pair[] {
  const pairs: Pair[] = [];
  for (const verdict of verdicts) {
    const pair = pairOf(bench, verdict);
    if (!pairs.some((each) => isSame(each, pair))) pairs.push(pair);
  }
  return pairs;
}

function nameOf(bench: Bench, { subject, rival }: Pair): string {
  return `${titleOf(bench, subject)} \u00f7 ${rival === bestMalloc ? rival : titleOf(bench, rival)}`;
}

function ratioCell(bench: Bench, cell: Cell, pair: Pair, verdict: Verdict | undefined): HTMLElement {
  if (!verdict) return el("td", { class: "absent" }, "\u2014");
  const written = (value: number) => figure(value, 2);
  return el("td", { class: `ratio ${classes[verdict.outcome]}` },
    el("span", { "data-contest": cell.id, "data-subject": pair.subject, "data-against": pair.rival,
      "data-of": verdict.figure },
      `${written(verdict.ratio)} ${words[verdict.outcome]} ${range(verdict.low, verdict.high, written)}`),
    pair.rival === bestMalloc && el("small", {}, titleOf(bench, verdict.rival)));
}

/// Each subject of the cell with its rivals; nothing if the run judged none.
export function contestTable(bench: Bench, cell: Cell): HTMLElement | null {
  const pairs = pairsOf(bench, cell.verdicts);
  if (pairs.length === 0) return null;
  const told = figures.filter(([name]) => name === "p50" || cell.callsPerSample === 1);
  const row = (pair: Pair) => el("tr", { "data-backend": pair.subject },
    el("th", { scope: "row" }, nameOf(bench, pair)),
    ...told.map(([name]) => ratioCell(bench, cell, pair, cell.verdicts.find((verdict) =>
      verdict.figure === name && isSame(pairOf(bench, verdict), pair)))));
  return el("details", { class: "contests" },
    el("summary", {}, "Each resource compared with the one that it replaces and with the best malloc"),
    scrollBox(`Ratios of ${cell.id}`,
      el("table", { class: "plain" },
        el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Ratio"),
          ...told.map(([, head]) => el("th", { scope: "col" }, head)))),
        el("tbody", {}, ...pairs.map(row)))));
}

/// The number of cells of each outcome for a pair, in one figure.
function countText(bench: Bench, verdicts: Verdict[], pair: Pair, name: string): string {
  const its = verdicts.filter((each) => each.figure === name && isSame(pairOf(bench, each), pair));
  const count = (outcome: Outcome) => its.filter((each) => each.outcome === outcome).length;
  const noisy = count("void");
  return `${count("faster")} less, ${count("no difference")} even, ${count("slower")} more` +
    (noisy > 0 ? `, ${noisy} void` : "");
}

/// Over all cells of rounds: how often each resource took less time than its rivals.
export function roundsStanding(bench: Bench, cells: Cell[]): Child {
  const rounds = cells.filter(({ kind }) => kind === "round");
  const body = rounds.flatMap(({ verdicts }) => verdicts);
  const tails = rounds.filter(({ callsPerSample }) => callsPerSample === 1).flatMap(({ verdicts }) => verdicts);
  const pairs = pairsOf(bench, body);
  if (pairs.length === 0) return null;
  const line = (pair: Pair) => el("p", { "data-standing": `${pair.subject} ${pair.rival}` },
    el("b", {}, `${nameOf(bench, pair)}: `),
    figures.map(([name, head]) => `${head} ${countText(bench, name === "p50" ? body : tails, pair, name)}`).join("; "));
  return el("details", { class: "standing rounds", open: true },
    el("summary", {}, `Containers, in ${rounds.length} ${rounds.length === 1 ? "cell" : "cells"}: ` +
      "the first of each pair takes"),
    ...pairs.map(line));
}
