// The page of a simulation, opened from disk in headless Chromium and compared with its JSON.
//
// FLATLINE_SIMULATION_PAGE and FLATLINE_SIMULATION_JSON name a page and the JSON it was filled with. Without them the
// page is filled with the made-up document of simulated_fixture.mjs: see browser.mjs.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import {
  append, fill, folder, open, problemsFound, requireGivenBack, startBrowser, stopBrowser, visit,
} from "./browser.mjs";
import { clippedElements, missingDrawings, oversize, poorContrast } from "./checks.mjs";
import {
  cellId, curvedRows, wrongAblations, wrongCells, wrongCurves, wrongLaws, wrongRegrets, wrongSummary, wrongSwitchback,
  wrongWhatIf,
} from "./simulated.mjs";
import { makeSimulation } from "./simulated_fixture.mjs";

const { FLATLINE_SIMULATION_PAGE, FLATLINE_SIMULATION_JSON, FLATLINE_FILL } = process.env;
assert.equal(Boolean(FLATLINE_SIMULATION_PAGE), Boolean(FLATLINE_SIMULATION_JSON),
  "set both FLATLINE_SIMULATION_PAGE and FLATLINE_SIMULATION_JSON, or neither");
const simulation = FLATLINE_SIMULATION_JSON
  ? JSON.parse(readFileSync(FLATLINE_SIMULATION_JSON, "utf8")) : makeSimulation();
const file = FLATLINE_SIMULATION_PAGE ? resolve(FLATLINE_SIMULATION_PAGE) : fill(simulation, "simulation");

before(startBrowser);
after(stopBrowser);

const checks = [
  wrongCells, wrongCurves, wrongRegrets, wrongSummary, wrongLaws, wrongAblations, wrongSwitchback, wrongWhatIf,
];

const everythingWrong = (page, json) => problemsFound(checks, page, json);

test("the page is one file under 2 MB", () => {
  assert.deepEqual(oversize(readFileSync(file, "utf8")), []);
});

test("every figure, curve, regret, law, ablation and place of the grid is the JSON's; nothing is fetched", async () => {
  const { page, noise } = await open(file);
  assert.deepEqual(await everythingWrong(page, simulation), []);
  assert.deepEqual(noise, []);
  await page.close();
});

test("the page gives back the JSON it was filled with", () => requireGivenBack(file, simulation));

for (const scheme of ["light", "dark"]) {
  for (const width of [1280, 400]) {
    test(`nothing is clipped, cut or pale at ${width} px, ${scheme}`, async () => {
      const { page, noise } = await open(file, { width, scheme });
      assert.deepEqual(await clippedElements(page), []);
      assert.deepEqual(await poorContrast(page), []);
      await page.screenshot({ path: join(folder, `simulation-${width}-${scheme}.png`), fullPage: true });
      assert.deepEqual(noise, []);
      await page.close();
    });
  }

  test(`the line of every policy is drawn, ${scheme}`, async () => {
    const { page } = await open(file, { scheme });
    assert.deepEqual(await missingDrawings(page, { cells: curvedRows(simulation) }), []);
    await page.close();
  });
}

test("the sliders move by keyboard, and a press on the map moves them", async () => {
  const { page, noise } = await open(file);
  const at = () => page.$$eval(".slider input", (all) => all.map((each) => each.value).join(" "));
  const [load, age] = (await at()).split(" ").map(Number);
  const before = await page.textContent(".answer");
  await page.focus("#what-if-load");
  await page.keyboard.press("ArrowRight");
  assert.equal(await at(), `${load + 1} ${age}`);
  assert.notEqual(await page.textContent(".answer"), before);
  await page.focus("#what-if-age");
  await page.keyboard.press("Home");
  assert.equal(await at(), `${load + 1} 0`);
  const { loads, staleness } = simulation.what_if;
  await page.click(`[data-place="${loads[0]} ${staleness[2]}"]`);
  assert.equal(await at(), "0 2");
  assert.match(await page.textContent(".answer"), new RegExp(`^At load ${loads[0]}, with reports ${staleness[2]} mean`));
  assert.deepEqual(noise, []);
  await page.close();
});

test("the legend hides a policy everywhere, also after the sliders moved, and shows it again", async () => {
  const { page } = await open(file);
  const visible = () => page.$$eval('[data-backend="C3"]', (all) =>
    all.filter((each) => each.checkVisibility()).length);
  const all = await visible();
  assert.ok(all > 0);
  await page.click('[data-toggle="C3"]');
  assert.equal(await visible(), 0);
  await page.focus("#what-if-age");
  await page.keyboard.press("End");
  assert.equal(await visible(), 0);
  await page.click(".legend .all");
  assert.equal(await visible(), all);
  await page.close();
});

test("the theme and the scale can be changed, and the pointer reads the curves", async () => {
  const { page, noise } = await open(file, { scheme: "dark" });
  await page.click(".theme");
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "light");
  assert.equal(await page.inputValue(".scale-choice select"), "log");
  for (const scale of ["linear", "log"]) {
    await page.selectOption(".scale-choice select", scale);
    const notes = await page.$$eval(".curve .scale", (all) => all.map((each) => each.textContent));
    assert.ok(notes.length > 0 && notes.every((note) => note.startsWith(`${scale} scale`)), notes.join(" | "));
  }
  await page.locator(".curve .u-over").first().hover();
  const said = await page.locator(".curve .readout").first().textContent();
  assert.match(said, /^P[\d.]+, mean service times: .*predictive [\d.]+/);
  assert.deepEqual(noise, []);
  await page.close();
});

test("on paper the page is light, whole and unclipped", async () => {
  const { page, noise } = await open(file, { width: 1046, scheme: "dark" }); // A4 landscape less its margins
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "light");
  assert.deepEqual(await clippedElements(page), []);
  assert.deepEqual(noise, []);
  await page.close();
});

// The checks themselves, shown pages with a fault planted in each.

const planted = FLATLINE_FILL && !FLATLINE_SIMULATION_JSON ? test : test.skip;

planted("a part of a simulation alone is shown", async () => {
  const { cells, gates, what_if, switchback, ...rest } = simulation;
  const alone = {
    gates: { schema: rest.schema, seed: rest.seed, gates, cells: [] },
    grid: { schema: rest.schema, seed: rest.seed, gates: [], cells: [], what_if },
    training: { ...rest, gates: [], cells: cells.filter((cell) => !cell.held_out && !cell.ablation) },
    held: { ...rest, gates: gates.filter((gate) => gate.holds), cells: cells.filter((cell) => cell.held_out) },
    few: { ...rest, gates: [], switchback,
      cells: cells.filter((cell) => cell.workload === "exponential" && cell.policy === "C3") },
  };
  for (const [name, part] of Object.entries(alone)) {
    const { page, noise } = await open(fill(part, `part-${name}`), { width: 400 });
    assert.deepEqual(await everythingWrong(page, part), [], name);
    assert.deepEqual(await clippedElements(page), [], name);
    assert.deepEqual(noise, [], name);
    await page.close();
  }
});

/// The problems that `check` finds in a page whose data was changed before it was filled.
async function found(check, name, change) {
  const copy = structuredClone(simulation);
  change(copy);
  const { page } = await open(fill(copy, `simulation-fault-${name}`));
  const problems = await check(page, simulation);
  await page.close();
  return problems;
}

const one = (copy, policy, workload = "exponential") =>
  copy.cells.find((cell) => cell.held_out && cell.policy === policy && cell.workload === workload);

planted("a wrong figure, row or order of a workload is caught", async () => {
  const figure = await found(wrongCells, "figure", (copy) => { one(copy, "C3").p99 += 0.01; });
  assert.equal(figure.length, 1, figure.join("\n"));
  assert.match(figure[0], /^held-out-exponential\/C3\/p99: /);
  const row = await found(wrongCells, "row", (copy) => {
    copy.cells.splice(copy.cells.indexOf(one(copy, "Prequal")), 1);
  });
  const gone = "held-out-exponential/Prequal/p50: the page says undefined";
  assert.ok(row.some((each) => each.startsWith(gone)), row.join("\n"));
  const order = await found(wrongCells, "order", (copy) => { one(copy, "predictive").p999 = 99; });
  assert.ok(order.some((each) => each.startsWith("held-out-exponential/order: ")), order.join("\n"));
});

planted("a wrong curve, or none, is caught", async () => {
  const wrong = await found(wrongCurves, "curve", (copy) => { one(copy, "random").curve[7][1] *= 1.01; });
  assert.deepEqual(wrong.map((each) => each.split(":")[0]), ["held-out-exponential/random"]);
  const without = (copy) => { one(copy, "random").curve = []; };
  const drawn = await found((page, json) => missingDrawings(page, { cells: curvedRows(json) }), "no-curve", without);
  assert.deepEqual(drawn, [`${cellId(one(simulation, "random"))}/random: no line`]);
});

planted("a regret matrix with a wrong regret, refusal or kind of workload is caught", async () => {
  const regret = await found(wrongRegrets, "regret", (copy) => { one(copy, "stale load").regret += 0.001; });
  assert.ok(regret.some((each) => each.startsWith("Held-out/exponential/stale load/regret: ")), regret.join("\n"));
  const refused = await found(wrongRegrets, "refused", (copy) => { one(copy, "stale load").refused_more = 0.5; });
  const worst = "Held-out/worst refusals/stale load/refused_more: the page says +50.00\u00a0%";
  assert.ok(refused.some((each) => each.startsWith(worst)), refused.join("\n"));
  const leak = await found(wrongRegrets, "leak", (copy) => {
    for (const cell of copy.cells) cell.held_out = !cell.held_out;
  });
  assert.ok(leak.length > 0);
  const mark = await found(wrongRegrets, "mark", (copy) => {
    const best = copy.cells.find((cell) => cell.held_out && cell.regret === 0);
    best.regret = 1e-6;
  });
  assert.ok(mark.some((each) => /\/mark: the page says \u25cb, the JSON \u25cf$/.test(each)), mark.join("\n"));
});

planted("a summary that praises another policy, or keeps a broken law to itself, is caught", async () => {
  const praise = await found(wrongSummary, "praise", (copy) => {
    for (const cell of copy.cells.filter(({ policy }) => policy === "Prequal")) cell.regret = 0;
  });
  assert.ok(praise.some((each) => /^not said: \S.* has the lowest worst-case regret/.test(each)), praise.join("\n"));
  const silence = await found(wrongSummary, "silence", (copy) => { for (const gate of copy.gates) gate.holds = true; });
  assert.deepEqual(silence, ["not said: 2 of 16 laws of queueing theory are not shown to hold"]);
});

planted("a wrong law, ablation or pair of the switchback is caught", async () => {
  const law = await found(wrongLaws, "law", (copy) => { copy.gates[4].holds = true; });
  const praised = `${simulation.gates[4].law}/holds: the page says \u2713 holds, the JSON \u2717 does not hold`;
  assert.deepEqual(law, [praised]);
  const part = await found(wrongAblations, "part", (copy) => { one(copy, "predictive - sends").p999 *= 1.02; });
  assert.deepEqual(part.map((each) => each.split(":")[0]), ["Held-out/exponential/predictive - sends/more"]);
  const pair = await found(wrongSwitchback, "pair", (copy) => { copy.switchback.pairs[1].covered = 90; });
  assert.deepEqual(pair, ["bursts, predictive, two choices/covered: the page says 90 of 500, the JSON 477 of 500"]);
});

planted("a grid with a wrong figure, without a policy, or with its axes exchanged is caught", async () => {
  const at = (copy, load, age) => copy.what_if.cells.find((cell) => cell.load === load && cell.staleness === age);
  const wrong = await found(wrongWhatIf, "grid", (copy) => { at(copy, 0.7, 8).p50 *= 1.1; });
  const isThere = (each) => /^load 0.7, age 8: row|^a sojourn of/.test(each);
  assert.ok(wrong.length > 0 && wrong.every(isThere), wrong.join("\n"));
  const gone = await found(wrongWhatIf, "grid-row", (copy) => {
    copy.what_if.cells.splice(copy.what_if.cells.indexOf(at(copy, 0.9, 0)), 1);
  });
  assert.ok(gone.includes("load 0.9, age 0: 13 rows for 14 policies"), gone.join("\n"));
  const exchanged = await found(wrongWhatIf, "grid-axes", (copy) => { copy.what_if.staleness.reverse(); });
  const elsewhere = "load 0.5, age 0: the map marks 0.5 32";
  assert.ok(exchanged.some((each) => each.startsWith(elsewhere)), exchanged.slice(0, 3).join("\n"));
});

planted("sliders that change nothing, and a bar of a wrong length, are caught", async () => {
  const deaf = append(fill(simulation, "simulation-fault-deaf"),
    '<script>addEventListener("input", (event) => event.stopImmediatePropagation(), true);</script>');
  const long = append(fill(simulation, "simulation-fault-long"),
    "<script>new MutationObserver(() => { const end = document.querySelector('.what-if .end'); " +
    "if (end && !end.dataset.moved) { end.dataset.moved = 1; end.style.left = '99%'; } })" +
    ".observe(document.getElementById('page'), { childList: true, subtree: true });</script>");
  const faults = [[deaf, /^load 0.5, age 0: the map marks 0.8 4/], [long, /^a sojourn of .* is at 99 %/]];
  for (const [path, wanted] of faults) {
    const { page } = await open(path);
    const problems = await wrongWhatIf(page, simulation);
    assert.ok(problems.some((each) => wanted.test(each)), problems.slice(0, 5).join("\n"));
    await page.close();
  }
});

planted("a page that fetches is caught", async () => {
  const { page, noise } = await open(append(fill(simulation, "simulation-fault-noise"),
    "<script>new Image().src = 'missing.png'</script>"));
  await page.waitForTimeout(200);
  assert.ok(noise.some((each) => each.includes("missing.png")), noise.join("\n"));
  await page.close();
});

planted("a page with data it cannot read says so", async () => {
  const page = await visit(fill({ ...simulation, schema: "flatline.simulate/0" }, "simulation-fault-schema"));
  const wanted = /flatline\.simulate\/0.*write the page again with `flatline simulate --html`/;
  assert.match(await page.textContent("[role=alert]"), wanted);
  await page.close();
});
