// What the page of a simulation must satisfy, beside its JSON. Every check returns a list of problems, empty iff all is
// well, so that the same functions can be shown pages with planted faults.

import { figure } from "./rows.mjs";

const space = "\u00a0";
const ours = "predictive";

/// The page's rules for shares, written a second time on purpose, as that for figures is.
const signed = (share) => {
  const text = `${figure(share * 100, 1)}${space}%`;
  return text.startsWith("\u2212") ? text : `+${text}`;
};
const refusal = (share) => (share > 0 && share < 0.00005 ? `<0.01${space}%` : `${figure(share * 100, 2)}${space}%`);
const more = (share) => (refusal(share).startsWith("<") ? refusal(share) : `+${refusal(share)}`);
const time = (value) => figure(value, 2);

export const cellId = ({ workload, held_out }) =>
  `${held_out ? "held-out" : "training"}-${workload.replace(/\W+/g, "-")}`;
const kindOf = (cell) => (cell.held_out ? "Held-out" : "Training");
const isAble = (cell) => cell.implementable && !cell.ablation;

/// Problems for each text of one side that is not on the other.
function differences(expected, written) {
  const problems = [];
  for (const [key, text] of Object.entries(expected)) {
    if (written[key] !== text) problems.push(`${key}: the page says ${written[key]}, the JSON ${text}`);
  }
  for (const key of Object.keys(written)) {
    if (!(key in expected)) problems.push(`${key}: on the page and not in the JSON`);
  }
  return problems;
}

/// The tables of the workloads: every figure, the order of the rows, the mark of the best.
export async function wrongCells(page, simulation) {
  const written = await page.evaluate(() => {
    const texts = {};
    for (const cell of document.querySelectorAll("[data-cell]")) {
      const { cell: id } = cell.dataset;
      const rows = [...cell.querySelectorAll("tr[data-backend]")];
      texts[`${id}/order`] = rows.map((row) => row.dataset.backend).join(", ");
      texts[`${id}/best`] = rows.filter((row) => row.querySelector(".mark")).map((row) => row.dataset.backend)
        .join(", ");
      for (const row of rows) for (const field of row.querySelectorAll("[data-field]")) {
        texts[`${id}/${row.dataset.backend}/${field.dataset.field}`] = field.textContent;
      }
    }
    return texts;
  });
  const expected = {};
  const cells = simulation.cells.filter((cell) => !cell.ablation);
  for (const id of new Set(cells.map(cellId))) {
    const here = cells.filter((cell) => cellId(cell) === id).sort((a, b) => a.p999 - b.p999);
    const order = [...here.filter(isAble), ...here.filter((cell) => !cell.implementable)];
    expected[`${id}/order`] = order.map((cell) => cell.policy).join(", ");
    expected[`${id}/best`] = here.filter((cell) => isAble(cell) && cell.regret === 0).map((cell) => cell.policy)
      .join(", ");
  }
  for (const cell of cells) {
    const [low, high] = cell.p999_interval;
    const texts = {
      p50: time(cell.p50), p99: time(cell.p99), p999: time(cell.p999),
      p999_interval: `${time(Math.max(0, low))}\u2013${time(high)}`, regret: signed(cell.regret), max: time(cell.max),
      refused: refusal(cell.refused), fairness: figure(cell.fairness, 3), reports_read: time(cell.reports_read),
    };
    for (const [field, text] of Object.entries(texts)) expected[`${cellId(cell)}/${cell.policy}/${field}`] = text;
  }
  return differences(expected, written);
}

/// Every chart of a workload holds the JSON's curve, a line for each policy.
export async function wrongCurves(page, simulation) {
  const written = await page.evaluate(() => {
    const plots = [...document.querySelectorAll("[data-cell] [data-plotted]")];
    return Object.fromEntries(plots.flatMap((plot) => {
      const { x, series } = JSON.parse(plot.dataset.plotted);
      return series.map(({ label, y }) => [`${plot.closest("[data-cell]").dataset.cell}/${label}`,
        JSON.stringify(y.map((value, i) => [Number((1 - 10 ** -x[i]).toFixed(8)), value]))]);
    }));
  });
  const expected = Object.fromEntries(simulation.cells.filter((cell) => !cell.ablation)
    .map((cell) => [`${cellId(cell)}/${cell.policy}`, JSON.stringify(cell.curve)]));
  return differences(expected, written);
}

const worst = (cells, field) => cells.reduce((one, other) => (other[field] > one[field] ? other : one));

/// The regret matrices: every cell and mark, the order of the policies, and the worst of each.
export async function wrongRegrets(page, simulation) {
  const written = await page.evaluate(() => {
    const texts = {};
    for (const matrix of document.querySelectorAll("[data-matrix]")) {
      const { matrix: kind } = matrix.dataset;
      texts[`${kind}/order`] = [...matrix.querySelectorAll("thead [data-backend]")]
        .map((each) => each.dataset.backend).join(", ");
      for (const cell of matrix.querySelectorAll("td[data-backend]")) {
        const { workload, worst: which } = cell.closest("tr").dataset;
        const key = `${kind}/${workload ?? `worst ${which}`}/${cell.dataset.backend}`;
        const mark = cell.querySelector(".mark");
        if (mark) texts[`${key}/mark`] = mark.textContent;
        for (const field of cell.querySelectorAll("[data-field]")) {
          texts[`${key}/${field.dataset.field}`] = field.textContent;
        }
      }
    }
    return texts;
  });
  const expected = {};
  const say = (key, regret) => {
    expected[`${key}/regret`] = signed(regret);
    if (regret <= 0.05) expected[`${key}/mark`] = regret === 0 ? "\u25cf" : "\u25cb";
  };
  for (const kind of ["Held-out", "Training"]) {
    const cells = simulation.cells.filter((cell) => isAble(cell) && kindOf(cell) === kind);
    if (cells.length === 0) continue;
    const names = [...new Set(cells.map((cell) => cell.policy))];
    const of = new Map(names.map((name) => [name, cells.filter((cell) => cell.policy === name)]));
    const worstOf = (name) => worst(of.get(name), "regret").regret;
    expected[`${kind}/order`] = names.sort((a, b) => worstOf(a) - worstOf(b)).join(", ");
    for (const cell of cells) {
      const key = `${kind}/${cell.workload}/${cell.policy}`;
      say(key, cell.regret);
      if (cell.refused_more > 0) expected[`${key}/refused_more`] = more(cell.refused_more);
    }
    for (const [name, all] of of) {
      const slow = worst(all, "regret"), refusing = worst(all, "refused_more");
      const [regret, refused] = [`${kind}/worst regret/${name}`, `${kind}/worst refusals/${name}`];
      say(regret, slow.regret);
      if (slow.regret > 0) expected[`${regret}/where`] = slow.workload;
      expected[`${refused}/refused_more`] = refusing.refused_more > 0 ? more(refusing.refused_more) : "none";
      if (refusing.refused_more > 0) expected[`${refused}/where`] = refusing.workload;
    }
  }
  return differences(expected, written);
}

/// The summary names who has the lowest worst case, and where; whether the laws hold; what was run.
export async function wrongSummary(page, simulation) {
  const text = await page.textContent(".mast");
  const said = [];
  for (const kind of ["Held-out", "Training"]) {
    const cells = simulation.cells.filter((cell) => isAble(cell) && kindOf(cell) === kind);
    if (cells.length === 0) continue;
    const [best, next] = [...new Set(cells.map((cell) => cell.policy))]
      .map((name) => worst(cells.filter((cell) => cell.policy === name), "regret")).sort((a, b) => a.regret - b.regret);
    const from = (cell) => (cell.regret === 0 ? "it has the least P99.9 in each"
      : `at most ${figure(cell.regret * 100, 1)}${space}% above the least P99.9 (${cell.workload})`);
    said.push(`${kind.toLowerCase()} workload`, `${best.policy} has the lowest worst-case regret: ${from(best)}`);
    if (next) said.push(`Next is ${next.policy}, ${from(next)}`);
  }
  if (simulation.cells.length > 0) {
    const { tasks, seed, seeds } = simulation;
    said.push(`${figure(tasks, 0)} tasks in each run`, `seeds ${seed} to ${seed + seeds - 1}`);
  }
  const { gates } = simulation, broken = gates.filter((gate) => !gate.holds).length;
  said.push(gates.length === 0 ? "was not checked against queueing theory" : broken === 0 ? `All ${gates.length} laws`
    : `${broken} of ${gates.length} laws of queueing theory are not shown to hold`, "What this page cannot tell");
  return said.filter((each) => !text.includes(each)).map((each) => `not said: ${each}`);
}

function precise(value) {
  const digits = 4 - Math.floor(Math.log10(Math.abs(value)));
  return figure(value, Math.min(6, Math.max(0, digits)));
}

/// The laws: every figure, and whether each holds.
export async function wrongLaws(page, { gates }) {
  const written = await page.evaluate(() => Object.fromEntries([...document.querySelectorAll("[data-law] [data-field]")]
    .map((field) => [`${field.closest("[data-law]").dataset.law}/${field.dataset.field}`, field.textContent])));
  const expected = {};
  for (const { law, expected: wanted, measured, interval: [low, high], holds } of gates) {
    const error = measured / wanted - 1;
    const failure = Math.abs(error) <= 0.01 ? "\u2717 interval too wide" : "\u2717 does not hold";
    const texts = {
      expected: precise(wanted), measured: precise(measured),
      error: `${error >= 0 ? "+" : ""}${figure(error * 100, 2)}${space}%`,
      interval: `${precise(low)}\u2013${precise(high)}`,
      width: `${figure(((high - low) / measured) * 100, 2)}${space}%`, holds: holds ? "\u2713 holds" : failure,
    };
    for (const [field, text] of Object.entries(texts)) expected[`${law}/${field}`] = text;
  }
  return differences(expected, written);
}

/// The ablations: how far P99.9 and refusals are from the policy with all parts.
export async function wrongAblations(page, { cells }) {
  const written = await page.evaluate(() => {
    const fields = [...document.querySelectorAll("[data-ablations] [data-part] [data-field]")];
    return Object.fromEntries(fields.map((field) => {
      const { ablations } = field.closest("[data-ablations]").dataset, { workload } = field.closest("tr").dataset;
      const { part } = field.closest("[data-part]").dataset;
      return [[ablations, workload, part, field.dataset.field].join("/"), field.textContent];
    }));
  });
  const expected = {};
  for (const cell of cells.filter((each) => each.ablation)) {
    const whole = cells.find((each) => each.policy === ours && cellId(each) === cellId(cell));
    if (!whole) continue;
    const key = `${kindOf(cell)}/${cell.workload}/${cell.policy}`, refused = cell.refused - whole.refused;
    expected[`${key}/more`] = signed(cell.p999 / whole.p999 - 1);
    if (refused !== 0) expected[`${key}/refused`] = `${refused > 0 ? "+" : "\u2212"}${refusal(Math.abs(refused))}`;
  }
  return differences(expected, written);
}

/// The pairs of the switchback estimate, and what it says of all.
export async function wrongSwitchback(page, { switchback }) {
  const written = await page.evaluate(() => {
    const fields = [...document.querySelectorAll("[data-pair] [data-field]")];
    return Object.fromEntries(fields.map((field) =>
      [`${field.closest("[data-pair]").dataset.pair}/${field.dataset.field}`, field.textContent]));
  });
  const percent = (share) => (share === null ? "\u2014" : `${figure(share * 100, 1)}${space}%`);
  const expected = {};
  for (const pair of switchback?.pairs ?? []) {
    const texts = {
      truth: percent(pair.truth), truth_interval: pair.truth_interval.map(percent).join("\u2013"),
      measured: percent(pair.measured), covered: `${pair.covered} of ${pair.cases}`,
      half_width: percent(pair.median_half_width),
    };
    const { workload, policy, fallback } = pair;
    for (const [field, text] of Object.entries(texts)) expected[`${workload}, ${policy}, ${fallback}/${field}`] = text;
  }
  const problems = differences(expected, written);
  if (!switchback) return problems;
  const text = await page.textContent("#switchback .key");
  const { covered, cases, median_half_width: half } = switchback;
  for (const said of [`${covered} of ${figure(cases, 0)} cases`, percent(half)]) {
    if (!text.includes(said)) problems.push(`switchback: not said: ${said}`);
  }
  return problems;
}

/// What the page shows at the place where the sliders are: rows with their texts, and where each line begins and ends.
function shownPlace(page) {
  return page.evaluate(() => ({
    answer: document.querySelector(".answer").textContent,
    at: [...document.querySelectorAll("[data-place]")].filter((each) => each.getAttribute("aria-pressed") === "true")
      .map((each) => each.dataset.place).join(", "),
    says: [...document.querySelectorAll(".slider input")].map((each) => each.getAttribute("aria-valuetext")),
    rows: [...document.querySelectorAll(".what-if tr[data-backend]")].map((row) => ({
      policy: row.dataset.backend,
      fields: Object.fromEntries([...row.querySelectorAll("[data-field]")]
        .map((each) => [each.dataset.field, each.textContent])),
      left: parseFloat(row.querySelector(".middle").style.left),
      right: parseFloat(row.querySelector(".end").style.left),
    })),
  }));
}

async function moveSliders(page, load, age) {
  await page.evaluate(([toLoad, toAge]) => {
    for (const [id, value] of [["what-if-load", toLoad], ["what-if-age", toAge]]) {
      const input = document.getElementById(id);
      input.value = value;
      input.dispatchEvent(new Event("input", { bubbles: true }));
    }
  }, [load, age]);
}

/// What is wrong at one place. `points` gets the sojourns and where they are on the axis.
function wrongPlace(cells, shown, points) {
  const [best] = cells, [{ load, staleness }] = cells;
  const problems = [];
  if (shown.at !== `${load} ${staleness}`) problems.push(`the map marks ${shown.at}`);
  if (shown.says[0] !== `load ${figure(load, 2)}` || shown.says[1] !== `${staleness} mean service times`) {
    problems.push(`the sliders say ${shown.says}`);
  }
  const sentence = `${best.policy} has the least P99.9: ${time(best.p999)} mean service times.`;
  if (!shown.answer.includes(sentence)) problems.push(`not said: ${sentence}`);
  if (shown.rows.length !== cells.length) problems.push(`${shown.rows.length} rows for ${cells.length} policies`);
  shown.rows.forEach(({ policy, fields, left, right }, i) => {
    const cell = cells[i];
    if (!cell) return;
    const wanted = { p50: time(cell.p50), p999: time(cell.p999), above: signed(cell.p999 / best.p999 - 1),
      refused: refusal(cell.refused) };
    if (policy !== cell.policy || JSON.stringify(fields) !== JSON.stringify(wanted)) {
      problems.push(`row ${i} is ${policy} ${JSON.stringify(fields)}, ` +
        `the JSON has ${cell.policy} ${JSON.stringify(wanted)}`);
    }
    points.push([cell.p50, left], [cell.p999, right]);
  });
  return problems;
}

/// Every place of the grid, by the sliders: the rows, the sentence, and where the lines end; and the map of the best.
export async function wrongWhatIf(page, { what_if: grid }) {
  if (!grid) return (await page.$("#what-if")) ? ["a grid that the JSON has not"] : [];
  const problems = [], points = [];
  for (const [i, load] of grid.loads.entries()) for (const [j, age] of grid.staleness.entries()) {
    const here = `load ${load}, age ${age}`;
    const cells = grid.cells.filter((cell) => cell.load === load && cell.staleness === age)
      .sort((a, b) => a.p999 - b.p999);
    await moveSliders(page, i, j);
    problems.push(...wrongPlace(cells, await shownPlace(page), points).map((each) => `${here}: ${each}`));
    const text = await page.textContent(`[data-place="${load} ${age}"]`);
    if (text !== `${cells[0].policy}${time(cells[0].p999)}`) problems.push(`${here}: the map says ${text}`);
  }
  // One logarithmic axis for all places: equal ratios are equally far apart.
  points.sort((a, b) => a[0] - b[0]);
  const [[low, left], [high, right]] = [points[0], points[points.length - 1]];
  for (const [value, at] of points) {
    const wanted = left + ((right - left) * Math.log(value / low)) / Math.log(high / low);
    if (Math.abs(at - wanted) > 0.2) {
      problems.push(`a sojourn of ${value} is at ${at} %, and not at ${wanted.toFixed(2)} %`);
    }
  }
  if (!(right > left)) problems.push("the axis runs the wrong way");
  return problems;
}

/// The rows as checks.mjs draws them from a run, so that it can look for the line of each.
export function curvedRows({ cells }) {
  return cells.filter((cell) => !cell.ablation).map((cell) => ({
    suite: cellId(cell), size: "", calls_per_sample: "", operation: "", order: "", unit: "ns", curve: cell.curve,
    backend: cell.policy,
  }));
}
