// The filled page, opened from disk in headless Chromium and compared with its JSON.
//
// FLATLINE_PAGE and FLATLINE_JSON name a page and the JSON it was filled with. Without them the page is filled with the
// made-up run of fixture.mjs: see browser.mjs.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import {
  append, fill, folder, open, problemsFound, requireGivenBack, saved, startBrowser, stopBrowser, visit,
} from "./browser.mjs";
import { clippedElements, missingDrawings, oversize, poorContrast, wrongFigures, wrongLabels } from "./checks.mjs";
import { wrongDrift, wrongPrograms } from "./charts.mjs";
import { makeBench, makeOldBench } from "./fixture.mjs";
import { wrongVerdicts } from "./verdicts.mjs";

const { FLATLINE_PAGE, FLATLINE_JSON, FLATLINE_FILL } = process.env;

assert.equal(Boolean(FLATLINE_PAGE), Boolean(FLATLINE_JSON), "set both FLATLINE_PAGE and FLATLINE_JSON, or neither");
const bench = FLATLINE_JSON ? JSON.parse(readFileSync(FLATLINE_JSON, "utf8")) : makeBench();
const file = FLATLINE_PAGE ? resolve(FLATLINE_PAGE) : fill(bench, "page");

before(startBrowser);
after(stopBrowser);

test("the page is one file under 2 MB", () => {
  assert.deepEqual(oversize(readFileSync(file, "utf8")), []);
});

const checks = [wrongFigures, wrongLabels, wrongVerdicts, wrongPrograms, wrongDrift];
const everythingWrong = (page, json) => problemsFound(checks, page, json);

test("every figure, label, verdict, order, line of a long run and mark of a program is the JSON's", async (t) => {
  const { page, noise } = await open(file);
  t.diagnostic(`opened in ${await page.getAttribute("#page", "data-ready")} ms on this machine as loaded as it is`);
  assert.deepEqual(await everythingWrong(page, bench), []);
  assert.deepEqual(noise, []);
  await page.close();
});

test("the page gives back the JSON it was filled with", () => requireGivenBack(file, bench));

for (const scheme of ["light", "dark"]) {
  for (const width of [1280, 400]) {
    test(`nothing is clipped, cut or pale at ${width} px, ${scheme}`, async () => {
      const { page, noise } = await open(file, { width, scheme });
      assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), scheme);
      assert.deepEqual(await clippedElements(page), []);
      assert.deepEqual(await poorContrast(page), []);
      await page.screenshot({ path: join(folder, `top-${width}-${scheme}.png`) });
      await page.screenshot({ path: join(folder, `page-${width}-${scheme}.png`), fullPage: true });
      for (const [name, part] of [["drift", "#drift"], ["programs", "#programs"], ["rounds", "#containers"]]) {
        const element = await page.$(part);
        await element?.screenshot({ path: join(folder, `${name}-${width}-${scheme}.png`) });
      }
      assert.deepEqual(noise, []);
      await page.close();
    });
  }

  test(`every curve, course and mark is drawn, ${scheme}`, async () => {
    const { page, noise } = await open(file, { scheme });
    assert.deepEqual(await missingDrawings(page, bench), []);
    assert.deepEqual(noise, []);
    await page.close();
  });
}

test("the legend hides a backend's line, rows, bars and columns, and shows them again", async () => {
  const { page, noise } = await open(file);
  const { name } = bench.backends[0];
  const visible = () => page.evaluate((which) =>
    [...document.querySelectorAll("[data-backend]")].filter((each) =>
      each.dataset.backend === which && each.checkVisibility()).length, name);
  const all = await visible();
  assert.ok(all > 0);
  await page.click(`[data-toggle="${name}"]`);
  assert.equal(await visible(), 0);
  await page.click(".legend .all");
  assert.equal(await visible(), all);
  assert.deepEqual(noise, []);
  await page.close();
});

test("the theme and the scale can be changed, and the pointer reads curves, courses and marks", async () => {
  const { page, noise } = await open(file, { scheme: "dark" });
  await page.click(".theme");
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "light");
  for (const scale of ["linear", "log"]) {
    await page.selectOption(".scale-choice select", scale);
    const notes = await page.$$eval(".curve:not(.frontier) .scale", (all) => all.map((each) => each.textContent));
    assert.ok(notes.length > 0 && notes.every((note) => note.startsWith(`${scale} scale`)), notes.join(" | "));
  }
  const curve = ".curve:not(.drift, .frontier)";
  if (await page.$(curve)) {
    await page.locator(`${curve} .u-over`).first().hover();
    assert.match(await page.locator(`${curve} .readout`).first().textContent(), /^(P\d|maximum).*, ns: .*\d/);
  }
  if (await page.$(".drift")) {
    await page.locator(".drift .u-over").first().hover();
    const said = await page.locator(".drift .readout").first().textContent();
    assert.match(said, /^after [\d.]+ million operations, ns: .*\d/);
  }
  if (await page.$(".frontier")) {
    const chart = page.locator(".frontier .plot").first();
    const { at: [{ left, top }] } = JSON.parse(await chart.getAttribute("data-plotted"));
    await chart.locator(".u-over").hover({ position: { x: left, y: top } });
    assert.match(await page.locator(".frontier .readout").first().textContent(), /: [\d.]+ s \(.*\), [\d.]+ MiB \(/);
  }
  assert.deepEqual(noise, []);
  await page.close();
});

test("on paper the page is light, whole and unclipped, whatever the screen was", async () => {
  const { page, noise } = await open(file, { width: 1046, scheme: "dark" }); // A4 landscape less its margins
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "light");
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  assert.deepEqual(await clippedElements(page), []);
  await page.screenshot({ path: join(folder, "paper.png"), fullPage: true });
  await page.emulateMedia({ media: "screen", colorScheme: "dark" });
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
  assert.deepEqual(noise, []);
  await page.close();
});

// The checks themselves, shown pages with a fault planted in each.

const planted = FLATLINE_FILL && !FLATLINE_JSON ? test : test.skip;

planted("a run of a Flatline that knew no verdicts, ranks, windows or programs is shown", async () => {
  const old = makeOldBench();
  const { page, noise } = await open(fill(old, "old"));
  assert.deepEqual(await everythingWrong(page, old), []);
  assert.match(await page.textContent(".verdict"), /before runs had verdicts/);
  assert.deepEqual(noise, []);
  await page.close();
});

planted("a run of programs alone is shown", async () => {
  const alone = { ...structuredClone(bench), cells: [], verdicts: [], backends: [] };
  for (const width of [1280, 400]) {
    const { page, noise } = await open(fill(alone, "programs"), { width });
    assert.deepEqual(await everythingWrong(page, alone), []);
    assert.deepEqual(await missingDrawings(page, alone), []);
    assert.deepEqual(await clippedElements(page), []);
    assert.deepEqual(noise, []);
    await page.close();
  }
});

/// A page whose data was changed by `change` before it was filled.
function withFault(name, change) {
  const copy = structuredClone(bench);
  change(copy);
  return fill(copy, `fault-${name}`);
}

/// A page that was filled well and then got `html` at its end.
function withHtml(name, html) {
  return append(fill(bench, `fault-${name}`), html);
}

planted("a page with one wrong figure is caught", async () => {
  const { page } = await open(withFault("figure", (copy) => { copy.cells[40].p99 += 1; }));
  const problems = await wrongFigures(page, bench);
  assert.equal(problems.length, 1, problems.join("\n"));
  assert.match(problems[0], new RegExp(`/${bench.cells[40].backend}/p99:`));
  await page.close();
});

planted("a page without one row is caught", async () => {
  const { page } = await open(withFault("row", (copy) => { copy.cells.splice(17, 1); }));
  assert.ok((await wrongFigures(page, bench)).length > 0);
  await page.close();
});

planted("a page that hides a void cell is caught", async () => {
  const id = (row) => row.suite === "mixed" && row.calls_per_sample !== 1;
  const noisy = structuredClone(bench);
  for (const row of noisy.cells.filter(id)) row.void = true;
  const { page } = await open(withFault("void", (copy) => {
    for (const row of copy.cells) row.void = false;
  }));
  assert.ok((await wrongLabels(page, noisy)).some((problem) => problem.startsWith("mixed")));
  await page.close();
});

/// The problems that `check` finds in a page whose data was changed, and the page gone.
async function found(check, name, change) {
  const { page } = await open(withFault(name, change));
  const problems = await check(page, bench);
  await page.close();
  return problems;
}

planted("an allocator that shares its code in silence, or is said to, is caught", async () => {
  for (const own_code of [true, false]) {
    const problems = await found(wrongLabels, `code-${own_code}`, (copy) => {
      for (const each of copy.environment.allocators) each.own_code = own_code;
    });
    assert.deepEqual(problems, ["allocators: not 1 of them are said to share pages"]);
  }
});

const pick = (copy, suite) => copy.cells.filter((row) => row.suite === suite);

planted("a page with a wrong interval, outcome or rank of a cell is caught", async () => {
  const interval = await found(wrongVerdicts, "interval", (copy) => {
    for (const each of copy.verdicts.filter(({ suite }) => suite === "startup")) each.low -= 0.2;
  });
  for (const part of ["ratio any", "words", "summary flatline-pool", "summary flatline-malloc"]) {
    const wanted = `startup-64-1000000-fill-cold/${part}:`;
    assert.ok(interval.some((problem) => problem.startsWith(wanted)), interval.join("\n"));
  }
  const outcome = await found(wrongVerdicts, "outcome", (copy) => {
    for (const each of copy.verdicts.filter(({ suite, size }) => suite === "hot" && size === 64)) {
      each.outcome = "no difference";
    }
  });
  assert.ok(outcome.length > 0 && outcome.every((problem) => problem.startsWith("hot-64-")), outcome.join("\n"));
  const rank = await found(wrongVerdicts, "rank", (copy) => { for (const row of copy.cells) delete row.ranked; });
  const crowned = /^startup-.*-create-.*winner: the page says \S+, the JSON $/;
  assert.ok(rank.some((problem) => crowned.test(problem)), rank.join("\n"));
});

planted("a page of rounds with a wrong ratio, outcome or count of the heap's calls is caught", async () => {
  const of = (copy) => copy.verdicts.filter(({ order, subject }) => order === "list" && subject === "pool-resource");
  const ratio = await found(wrongVerdicts, "ratio", (copy) => { of(copy)[0].ratio *= 1.1; });
  assert.equal(ratio.length, 1, ratio.join("\n"));
  assert.match(ratio[0], /^containers-0-1-round-list\/contest pool-resource std-pool p50: /);
  const outcome = await found(wrongVerdicts, "contest", (copy) => { of(copy)[0].outcome = "slower"; });
  assert.ok(outcome.some((problem) => problem.startsWith("standing/pool-resource std-pool: ")), outcome.join("\n"));
  const calls = await found(wrongFigures, "calls", (copy) => { pick(copy, "containers")[2].heap_calls = 1; });
  assert.deepEqual(calls, ["containers-0-1-round-list/pool-resource/heap_calls: the page says 1, the JSON 0"]);
});

planted("a chart of a long run with a wrong window, or without a line, is caught", async () => {
  const window = await found(wrongDrift, "window", (copy) => { pick(copy, "drift")[3].windows.values[57] += 1; });
  assert.deepEqual(window, [`drift-64-1-P50/${bench.backends[3].name}: the line is not the JSON's windows`]);
  const wrongLine = (copy) => { pick(copy, "drift")[4].windows.values = []; };
  const line = `drift-64-1-P50/${bench.backends[4].name}: `;
  assert.deepEqual(await found(wrongDrift, "line", wrongLine), [`${line}the line is not the JSON's windows`]);
  assert.deepEqual(await found(missingDrawings, "line", wrongLine), [`${line}no line`]);
});

planted("a table of a long run with a wrong slope is caught", async () => {
  const problems = await found(wrongFigures, "slope", (copy) => {
    pick(copy, "drift")[2].windows.slope_ns_per_million += 0.01;
  });
  assert.equal(problems.length, 1, problems.join("\n"));
  assert.match(problems[0], /\/slope_ns_per_million: /);
});

planted("a program with a wrong mark, or without one, is caught", async () => {
  const [first] = bench.programs[0].rows;
  const mark = await found(wrongPrograms, "mark", (copy) => { copy.programs[0].rows[0].wall_s.median *= 1.001; });
  assert.ok(mark.some((problem) => problem.startsWith(`redis: ${first.backend}: the chart has`)), mark.join("\n"));
  const without = (copy) => { copy.programs[0].rows.shift(); };
  const gone = await found(wrongPrograms, "no-mark", without);
  assert.ok(gone.includes(`redis: ${first.backend}: the chart has [], the JSON ` +
    JSON.stringify([[first.wall_s.median, first.peak_rss_kib.median / 1024]])), gone.join("\n"));
  assert.deepEqual(await found(missingDrawings, "no-mark", without), [`redis/${first.backend}: no mark`]);
});

planted("a mark that is not where its figures put it is caught", async () => {
  const path = withHtml("moved", `<script>(() => {
    const plot = document.querySelector("[data-program] .plot");
    new MutationObserver((_, observer) => {
      if (!plot.dataset.plotted || !document.querySelector("[data-drawn]")) return;
      observer.disconnect();
      const plotted = JSON.parse(plot.dataset.plotted);
      plotted.at[2].left += 9;
      plot.dataset.plotted = JSON.stringify(plotted);
    }).observe(document.getElementById("page"), { attributes: true, subtree: true });
  })();</script>`);
  const { page } = await open(path);
  const problems = await wrongPrograms(page, bench);
  assert.ok(problems.some((problem) => /px off in x/.test(problem)), problems.join("\n"));
  await page.close();
});

planted("a program with a wrong figure, frontier or note is caught", async () => {
  const figures = await found(wrongPrograms, "program", (copy) => { copy.programs[3].rows[1].user_s.high += 0.5; });
  assert.equal(figures.length, 1, figures.join("\n"));
  assert.match(figures[0], /^lua: .*\/user_s_range: /);
  const frontier = await found(wrongPrograms, "frontier", (copy) => {
    const row = copy.programs[1].rows.find((each) => each.frontier);
    row.frontier = false;
  });
  assert.equal(frontier.length, 2, frontier.join("\n"));
  assert.ok(frontier.some((problem) => problem.startsWith("sqlite: frontier: the chart has")), frontier.join("\n"));
  const notes = await found(wrongPrograms, "notes", (copy) => {
    for (const program of copy.programs) Object.assign(program, { shortfalls: [], errors: [] });
    copy.programs.find(({ missing }) => missing !== null).missing = null;
  });
  assert.equal(notes.filter((problem) => /: not said: /.test(problem)).length, 3, notes.join("\n"));
});

planted("a page that gives back other data is caught", async () => {
  const { page } = await open(withFault("saved", (copy) => { copy.cells[5].max += 1; }));
  assert.notDeepEqual(await saved(page), JSON.parse(JSON.stringify(bench)));
  await page.close();
});

planted("a page with one missing curve is caught", async () => {
  const { page } = await open(withFault("curve", (copy) => { delete copy.cells[26].curve; }));
  const problems = await missingDrawings(page, bench);
  assert.equal(problems.length, 1, problems.join("\n"));
  assert.match(problems[0], new RegExp(`/${bench.cells[26].backend}: no line`));
  await page.close();
});

planted("a page with an over-wide element is caught at both widths", async () => {
  const path = withHtml("wide", '<div style="width: 1400px">wide</div>');
  for (const width of [1280, 400]) {
    const { page } = await open(path, { width });
    const problems = await clippedElements(page);
    assert.ok(problems.some((problem) => problem.startsWith("the page is 1400 px wide")), problems.join("\n"));
    await page.close();
  }
});

planted("a page with cut text is caught", async () => {
  const path = withHtml("cut", '<p style="width: 60px; overflow: hidden; white-space: nowrap">text that is cut</p>');
  const { page } = await open(path);
  assert.ok((await clippedElements(page)).some((problem) => problem.startsWith("cut at its side")));
  await page.close();
});

planted("a page with pale text is caught", async () => {
  const { page } = await open(withHtml("pale", '<p style="color: #bbb; background: #fff">pale</p>'));
  assert.equal((await poorContrast(page)).length, 1);
  await page.close();
});

planted("a page that talks, fails or fetches is caught", async () => {
  const html = "<script>console.log('hello'); new Image().src = 'missing.png'; throw new Error('broken')</script>";
  const { page, noise } = await open(withHtml("noise", html));
  await page.waitForTimeout(200);
  for (const kind of ["console: hello", "error: broken"]) assert.ok(noise.includes(kind), noise.join("\n"));
  assert.ok(noise.some((each) => each.includes("missing.png")), noise.join("\n"));
  await page.close();
});

test("an oversize page is caught", () => {
  assert.equal(oversize("x".repeat(2_000_000)).length, 1);
});

planted("a page with data it cannot read says so", async () => {
  const path = withFault("schema", (copy) => { copy.schema = "flatline.bench/0"; });
  const page = await visit(path);
  assert.match(await page.textContent("[role=alert]"), /flatline\.bench\/0.*write the page again/);
  await page.close();
});
