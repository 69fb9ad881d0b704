// Who won: what the page says of it, beside the verdicts of the JSON.

import { cellOf, cellsOf, figure, isRanked, kindOf } from "./rows.mjs";

const deciderOf = (row) => (kindOf(row) === "tail" ? "p999" : "p50");

/// The best of a cell's rows of these kinds.
function bestOf(bench, rows, kinds) {
  const names = bench.backends.filter(({ kind }) => kinds.includes(kind)).map(({ name }) => name);
  const direction = kindOf(rows[0]) === "rate" ? -1 : 1;
  const field = deciderOf(rows[0]);
  return rows.filter(({ backend }) => names.includes(backend))
    .sort((a, b) => direction * (a[field] - b[field]))[0]?.backend;
}

const words = { faster: "wins", slower: "loses", "no difference": "even", void: "void" };

/// "12–19 %": how far the interval of a ratio is from 1.
function percentText({ low, high }) {
  const away = [Math.abs(low - 1) * 100, Math.abs(high - 1) * 100].sort((a, b) => a - b);
  const texts = away.map((value) => figure(value, away[1] < 10 ? 1 : 0));
  return `${texts[0] === texts[1] ? texts[0] : texts.join("\u2013")}\u00a0%`;
}

function wordsOf(verdict, rows) {
  const [better, worse] = kindOf(rows[0]) === "bytes" ? ["less", "more"] : ["faster", "slower"];
  if (verdict.outcome === "faster") return `${better} by ${percentText(verdict)}`;
  if (verdict.outcome === "slower") return `${worse} by ${percentText(verdict)}`;
  const name = { tail: "P99.9", drift: "median window" }[kindOf(rows[0])] ?? "P50";
  return `no difference at this precision (${figure(verdict.low, 2)}\u2013${figure(verdict.high, 2)} of its ${name})`;
}

/// What the page says of who won: the winner of each table, the words on each cell, the ratios of the overview, the
/// summary in front.
function writtenVerdicts(page) {
  return page.evaluate(() => {
    const written = {};
    for (const cell of document.querySelectorAll("[data-cell]")) {
      const id = cell.dataset.cell;
      written[`${id}/winner`] = [...cell.querySelectorAll("tr.winner")].map((row) => row.dataset.backend).join(" ");
      const said = cell.querySelector("[data-verdict] .words");
      if (said) written[`${id}/words`] = said.textContent;
    }
    for (const each of document.querySelectorAll("[data-ratio]")) {
      const [ratio, word] = [...each.querySelectorAll("span")].map((span) => span.textContent);
      const interval = each.querySelector("small").textContent;
      written[`${each.dataset.ratio}/ratio ${each.dataset.against}`] = `${ratio} ${word} ${interval}`;
    }
    for (const each of document.querySelectorAll("[data-contest]")) {
      const { contest, subject, against, of } = each.dataset;
      written[`${contest}/contest ${subject} ${against} ${of}`] = each.textContent;
    }
    for (const each of document.querySelectorAll("[data-standing]")) {
      written[`standing/${each.dataset.standing}`] = each.textContent;
    }
    for (const each of document.querySelectorAll("[data-judged]")) {
      const by = each.querySelector(".by")?.textContent ?? "";
      written[`${each.dataset.judged}/summary ${each.dataset.subject}`] = `${each.dataset.outcome}${by}`;
    }
    return written;
  });
}

const rivalOf = (bench, { rival }) =>
  (bench.backends.find(({ name }) => name === rival)?.kind === "general" ? "best malloc" : rival);

/// Of rounds: the ratio of each subject to each rival, in each figure that the cell is timed for.
function expectedContests(bench, verdicts) {
  const outcomes = { faster: "less", slower: "more", "no difference": "even", void: "void" };
  return Object.fromEntries(verdicts.filter((each) => each.figure === "p50" || each.calls_per_sample === 1)
    .map((each) => [`contest ${each.subject} ${rivalOf(bench, each)} ${each.figure}`,
      `${figure(each.ratio, 2)} ${outcomes[each.outcome]} ${figure(each.low, 2)}\u2013${figure(each.high, 2)}`]));
}

/// Over all cells of rounds: in how many each subject took less than a rival, in each figure.
function expectedStandings(bench) {
  const told = (bench.verdicts ?? []).filter((each) => each.operation === "round" &&
    (each.figure === "p50" || each.calls_per_sample === 1));
  const title = (wanted) => bench.backends.find(({ name }) => name === wanted)?.title ?? wanted;
  const lines = {};
  for (const { subject, ...rest } of told) {
    const against = rivalOf(bench, rest);
    const texts = [["p50", "P50"], ["p999", "P99.9"], ["jitter", "P99.9 \u2212 P50"]].map(([name, head]) => {
      const its = told.filter((each) => each.figure === name && each.subject === subject &&
        rivalOf(bench, each) === against);
      const count = (outcome) => its.filter((each) => each.outcome === outcome).length;
      return `${head} ${count("faster")} less, ${count("no difference")} even, ${count("slower")} more` +
        (count("void") > 0 ? `, ${count("void")} void` : "");
    });
    lines[`standing/${subject} ${against}`] = `${title(subject)} \u00f7 ${title(against)}: ${texts.join("; ")}`;
  }
  return lines;
}

function expectedVerdicts(bench, id, rows) {
  if (!isRanked(rows[0])) return { winner: "" };
  const isVoid = rows.some((row) => row.void);
  const expected = { winner: isVoid ? "" : bestOf(bench, rows, ["subject", "general", "fixed-pool", "standard", "drop-in"]) ?? "" };
  const verdicts = (bench.verdicts ?? []).filter((each) => cellOf(each) === id);
  if (kindOf(rows[0]) === "round") return { ...expected, ...expectedContests(bench, verdicts) };
  const ours = bench.backends.filter(({ name, kind }) => (kind === "subject" || kind === "drop-in") &&
    rows.some(({ backend }) => backend === name));
  const first = ours.find(({ kind }) => kind === "subject");
  const against = { any: ["general", "fixed-pool"], general: ["general"] };
  const verdictOn = (subject, kinds) => verdicts.find((each) =>
    each.subject === subject?.name && each.rival === bestOf(bench, rows, kinds));
  for (const [name, kinds] of Object.entries(against)) {
    const verdict = verdictOn(first, kinds);
    if (!verdict) continue;
    const { ratio, low, high, outcome } = verdict;
    expected[`ratio ${name}`] =
      `${figure(ratio, 2)} ${words[outcome]} ${figure(low, 2)}\u2013${figure(high, 2)}`;
  }
  for (const subject of ours) {
    const verdict = verdictOn(subject, subject.kind === "drop-in" ? against.general : against.any);
    if (!verdict) continue;
    const { outcome } = verdict;
    const by = outcome === "faster" || outcome === "slower" ? ` by ${percentText(verdict)}` : "";
    expected[`summary ${subject.name}`] =
      { faster: "win", slower: "loss", "no difference": "even", void: "void" }[outcome] + by;
    if (!isVoid && subject === (first ?? ours[0])) expected.words = wordsOf(verdict, rows);
  }
  return expected;
}

/// Who won each cell and by how much is what the JSON's verdicts say, wherever the page says it; nobody wins a cell
/// that is void or not ranked.
export async function wrongVerdicts(page, bench) {
  const written = await writtenVerdicts(page);
  const problems = [];
  for (const [id, rows] of cellsOf(bench)) {
    for (const [field, text] of Object.entries(expectedVerdicts(bench, id, rows))) {
      const key = `${id}/${field}`;
      if (written[key] !== text) problems.push(`${key}: the page says ${written[key]}, the JSON ${text}`);
      delete written[key];
    }
  }
  for (const [key, text] of Object.entries(expectedStandings(bench))) {
    if (written[key] !== text) problems.push(`${key}: the page says ${written[key]}, the JSON ${text}`);
    delete written[key];
  }
  return [...problems, ...Object.keys(written).map((key) => `${key}: on the page and not in the JSON`)];
}
