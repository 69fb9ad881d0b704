// The page of an audit, opened from disk in headless Chromium and compared with its JSON.
//
// FLATLINE_AUDIT_PAGE and FLATLINE_AUDIT_JSON name a page and the JSON it was filled with. Without them the page is
// filled with the made-up document of audit_fixture.mjs: see browser.mjs.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import {
  append, fill, folder, open, problemsFound, requireGivenBack, startBrowser, stopBrowser, visit,
} from "./browser.mjs";
import { hostile, makeAudit, makeCalm, makeCauses, makeCrowd, makeHostile } from "./audit_fixture.mjs";
import {
  markup, missingLicences, tooManyElements, wrongCauses, wrongCrowd, wrongHead, wrongStacks, wrongTable,
} from "./audited.mjs";
import {
  wrongFilteredFlame, wrongFlame, wrongKeys, wrongPercentiles, wrongPointer, wrongSearch, wrongTimeline,
} from "./audited_charts.mjs";
import { clippedElements, oversize, poorContrast } from "./checks.mjs";

const { FLATLINE_AUDIT_PAGE, FLATLINE_AUDIT_JSON, FLATLINE_FILL } = process.env;
assert.equal(Boolean(FLATLINE_AUDIT_PAGE), Boolean(FLATLINE_AUDIT_JSON),
  "set both FLATLINE_AUDIT_PAGE and FLATLINE_AUDIT_JSON, or neither");
const audit = FLATLINE_AUDIT_JSON ? JSON.parse(readFileSync(FLATLINE_AUDIT_JSON, "utf8")) : makeAudit();
const file = FLATLINE_AUDIT_PAGE ? resolve(FLATLINE_AUDIT_PAGE) : fill(audit, "audit");

before(startBrowser);
after(stopBrowser);

const checks = [wrongHead, wrongTable, wrongStacks, wrongTimeline, wrongPercentiles, wrongFlame];

test("every row, stack, mark, curve and flame is the JSON's, filters act on them, and nothing is fetched", async () => {
  const { page, noise } = await open(file);
  assert.deepEqual(await problemsFound(checks, page, audit), []);
  assert.deepEqual(noise, []);
  await page.close();
});

test("the page is one file under 2 MB with its licences, and gives back the JSON it was filled with", async () => {
  const html = readFileSync(file, "utf8");
  assert.deepEqual([...oversize(html), ...missingLicences(html)], []);
  assert.equal(missingLicences(html.replace(/<!--[^]*?-->/, "<!-- -->")).length, 3);
  await requireGivenBack(file, audit);
});

for (const scheme of ["light", "dark"]) {
  for (const width of [1280, 400]) {
    test(`nothing is clipped, cut or pale at ${width} px, ${scheme}`, async () => {
      const { page, noise } = await open(file, { width, scheme });
      if (audit.stalls.length > 1) await page.locator(".opener").nth(1).press("Enter");
      assert.deepEqual(await clippedElements(page), []);
      assert.deepEqual(await poorContrast(page), []);
      await page.screenshot({ path: join(folder, `audit-${width}-${scheme}.png`), fullPage: true });
      assert.deepEqual(noise, []);
      await page.close();
    });
  }
}

const planted = FLATLINE_FILL && !FLATLINE_AUDIT_JSON ? test : test.skip;

planted("keys and pointer read the page, the flame graph is filtered and searched, the theme changes", async () => {
  const { page, noise } = await open(file, { scheme: "dark" });
  assert.deepEqual(await problemsFound([wrongKeys, wrongPointer, wrongFilteredFlame, wrongSearch], page, audit), []);
  await page.click(".theme");
  assert.deepEqual(await wrongTimeline(page, audit), []);
  assert.deepEqual(noise, []);
  await page.close();
});

planted("on paper the page is light, whole and unclipped", async () => {
  const { page, noise } = await open(file, { width: 1046, scheme: "dark" }); // A4 landscape less its margins
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "light");
  assert.deepEqual(await clippedElements(page), []);
  assert.deepEqual(noise, []);
  await page.close();
});

planted("an audit without stalls says so", async () => {
  const calm = makeCalm();
  for (const width of [1280, 400]) {
    const { page, noise } = await open(fill(calm, "audit-calm"), { width });
    const all = [wrongHead, wrongTable, wrongPercentiles, wrongFlame, clippedElements];
    assert.deepEqual(await problemsFound(all, page, calm), []);
    assert.match(await page.textContent("#stalls"), /There is no stall to show/);
    assert.match(await page.textContent("#timeline"), /No slow call is shown/);
    assert.deepEqual(noise, []);
    await page.close();
  }
  const stalled = await open(file);
  assert.ok((await wrongHead(stalled.page, calm)).some((each) => each.startsWith("not said: No stall was found")));
  await stalled.page.close();
});

planted("an audit that timed no call says so, and shows what it knows", async () => {
  const causes = makeCauses();
  for (const width of [1280, 400]) {
    const { page, noise } = await open(fill(causes, "audit-causes"), { width });
    const all = [wrongHead, wrongTable, wrongStacks, wrongTimeline, wrongFlame, wrongCauses, clippedElements];
    assert.deepEqual(await problemsFound(all, page, causes), []);
    await page.screenshot({ path: join(folder, `audit-causes-${width}.png`), fullPage: true });
    assert.deepEqual(noise, []);
    await page.close();
  }
  const timed = await open(file);
  const problems = await wrongCauses(timed.page, causes);
  for (const text of ["there are percentiles", ".mast: ", "#stalls: ", "#timeline: ", "#flame: ", "#glossary: ",
    "the causes are ", "a term is "]) {
    assert.ok(problems.some((each) => each.startsWith(text)), `${text}: ${problems.join("\n")}`);
  }
  await timed.page.close();
});

planted("an audit that does not say whether it timed calls did", async () => {
  const { timed, exit_status: status, ...earlier } = audit;
  assert.ok(timed !== undefined && status !== undefined);
  const { page, noise } = await open(fill(earlier, "audit-earlier"));
  assert.deepEqual(await problemsFound([wrongHead, wrongPercentiles], page, audit), []);
  assert.deepEqual(noise, []);
  await page.close();
});

planted("names that look like HTML stay text", async () => {
  const path = fill(makeHostile(), "audit-hostile");
  for (const width of [1280, 400]) {
    const { page, noise } = await open(path, { width });
    assert.deepEqual(await problemsFound([markup, clippedElements], page), []);
    assert.deepEqual(noise, []);
    await page.close();
  }
  const believing = append(path, "<script>const told = document.querySelector('.told'); " +
    "told.innerHTML = told.textContent;</script>");
  const { page } = await open(believing);
  assert.ok((await markup(page)).includes("a name has become an element"));
  await page.close();
});

planted("20,000 slow calls are shown without an element for each", async () => {
  const large = makeAudit(52);
  large.slow_calls = large.slow_calls.slice(0, 20_000);
  const path = fill(large, "audit-large");
  assert.deepEqual(oversize(readFileSync(path, "utf8")), []);
  const { page, noise } = await open(path);
  assert.deepEqual(await tooManyElements(page), []);
  const { lanes } = JSON.parse(await page.getAttribute(".lanes", "data-plotted"));
  assert.equal(lanes.reduce((sum, each) => sum + each.calls, 0), large.slow_calls.length);
  assert.match(await page.textContent("#timeline"), /The .* longest of .* slow calls\./);
  await page.evaluate(() => {
    for (let i = 0; i < 20_000; i++) document.querySelector(".lanes").append(document.createElement("i"));
  });
  assert.equal((await tooManyElements(page)).length, 1);
  assert.deepEqual(noise, []);
  await page.close();
});

planted("many rows and lanes are shown on demand", async () => {
  const crowd = makeCrowd();
  const { page, noise } = await open(fill(crowd, "audit-crowd"), { width: 400 });
  assert.deepEqual(await problemsFound([clippedElements, wrongCrowd], page, crowd), []);
  assert.deepEqual(noise, []);
  await page.close();
  const few = await open(file);
  assert.deepEqual((await wrongCrowd(few.page, { ...crowd, slow_calls: audit.slow_calls })).slice(0, 2),
    ["7 rows at first", "5 lanes"]);
  await few.page.close();
});

// The checks themselves, shown pages with faults planted in them.

/// A page that hears nothing of one kind of event.
const deaf = ([event, selector]) => `<script>addEventListener(${JSON.stringify(event)}, (event) => { ` +
  `if (event.target.closest(${JSON.stringify(selector)})) event.stopImmediatePropagation(); }, true);</script>`;

/// Requires that `check` finds a problem that begins with each of the texts.
async function requireCaught(check, page, ...texts) {
  const problems = await check(page, audit);
  for (const text of texts) {
    assert.ok(problems.some((each) => each.startsWith(text)), `${check.name}, ${text}: ${problems.join("\n")}`);
  }
}

planted("what the page shows otherwise than the JSON is caught, wherever it is", async () => {
  const wrong = structuredClone(audit);
  const callOf = (cause) => wrong.slow_calls.find((call) => audit.stalls[call[3]].cause_kind === cause);
  callOf("lock")[0] += 3e8;
  callOf("system call")[1] /= 100;
  const moved = callOf("blocked");
  moved[3] = (moved[3] + 1) % wrong.stalls.length;
  wrong.stalls[2].p999_ns *= 1.5;
  wrong.stalls[1].stack.splice(3, 1);
  wrong.stalls[3].operation = "first touch again";
  wrong.stalls[4].operation = "free";
  wrong.stalls[5].max_ns += 1;
  wrong.freeing.all.points[4][1] *= 1.01;
  wrong.floor.p99_ns += 1;
  wrong.flame.children[0].name = "another";
  wrong.flame.children[1].worst *= 2;
  wrong.causes_missing = [];
  wrong.stalls[0].site.line += 1;
  const { page } = await open(fill(wrong, "audit-fault-data"));
  await requireCaught(wrongTable, page, "thread null, null: 2/p999_ns: ", "thread null, null: 0/source: ");
  await requireCaught(wrongStacks, page, "1: the page has ");
  await requireCaught(wrongTimeline, page, "lock: 1 of ", "system call: ", "blocked: the lanes are ");
  await requireCaught(wrongPercentiles, page, "freeing: the line is not ", "floor/p99_ns: ", "the marks are ",
    "the mark of stall 4 is not on ");
  await requireCaught(wrongFlame, page, "total: another (1) is not in the JSON", "worst: ");
  await requireCaught(wrongHead, page, "not said: Not told: ", "not said: at ");
  await page.close();
});

planted("filters, switches, searches, keys and drags that do nothing are caught", async () => {
  const events = [["click", "[data-cause]"], ["change", "[data-thread-choice], [name=flame-measure]"],
    ["input", "[data-flame-search]"], ["keydown", ".lanes, .flame"], ["pointerdown", ".lanes"]];
  const { page } = await open(append(fill(audit, "audit-fault-deaf"), events.map(deaf).join("")));
  await requireCaught(wrongTable, page, `thread null, ${audit.stalls[0].cause_kind}: `, "thread 1, null: ");
  await requireCaught(wrongFilteredFlame, page, "0 stacks, and not ");
  await requireCaught(wrongFlame, page, "worst: ");
  await requireCaught(wrongSearch, page, "found , and not ");
  await requireCaught(wrongKeys, page, "the first call is told as ", "plus does not zoom", "Enter opens ",
    "the flame graph is at ");
  await requireCaught(wrongPointer, page, "a drag shows ");
  await page.close();
});

planted("a page that fetches or complains is caught, and one that cannot read its data says so", async () => {
  const { page, noise } = await open(append(fill(audit, "audit-fault-noise"),
    "<script>new Image().src = 'missing.png'; console.error('complaint')</script>"));
  await page.waitForTimeout(200);
  for (const text of ["missing.png", "console: complaint"]) {
    assert.ok(noise.some((each) => each.includes(text)), noise.join("\n"));
  }
  await page.close();
  const old = await visit(fill({ ...audit, schema: "flatline.audit/0", command: hostile }, "audit-fault-schema"));
  const wanted = /flatline\.audit\/0.*write the page again with `flatline audit --html`/;
  assert.match(await old.textContent("[role=alert]"), wanted);
  await old.close();
});
