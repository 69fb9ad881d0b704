// Headless Chromium and the pages that it opens, for the tests of all pages.
//
// FLATLINE_FILL (the program built from fill.cpp) fills FLATLINE_TEMPLATE with a document. FLATLINE_SHOTS is the folder
// that receives the pages and the screenshots; FLATLINE_CHROMIUM the browser, /usr/bin/chromium unless told.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const { FLATLINE_FILL, FLATLINE_TEMPLATE, FLATLINE_SHOTS, FLATLINE_CHROMIUM } = process.env;
export const folder = resolve(FLATLINE_SHOTS ?? mkdtempSync(join(tmpdir(), "flatline-report-")));
mkdirSync(folder, { recursive: true });
const profile = mkdtempSync(join(tmpdir(), "flatline-chromium-"));

const patience = 180_000; // ms; the tests share their processor with whatever else is being built
let context;

export async function startBrowser() {
  context = await chromium.launchPersistentContext(profile, {
    executablePath: FLATLINE_CHROMIUM ?? "/usr/bin/chromium",
    headless: true,
    timeout: patience,
    args: [
      "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync",
    ],
  });
  context.setDefaultTimeout(patience);
}

export async function stopBrowser() {
  await context?.close();
  rmSync(profile, { recursive: true, force: true });
}

/// Fills the template with `document` as the program does; returns the page's path.
export function fill(document, name) {
  assert.ok(FLATLINE_FILL && FLATLINE_TEMPLATE, "set FLATLINE_FILL and FLATLINE_TEMPLATE, or run this through ctest");
  const json = join(folder, `${name}.json`);
  const page = join(folder, `${name}.html`);
  writeFileSync(json, JSON.stringify(document, null, 1));
  execFileSync(FLATLINE_FILL, [FLATLINE_TEMPLATE, json, page], { stdio: "inherit" });
  return page;
}

/// Adds `html` to the end of a page.
export function append(path, html) {
  writeFileSync(path, readFileSync(path, "utf8").replace("</body>", () => `${html}</body>`));
  return path;
}

/// Opens a page that may fail.
export async function visit(path) {
  const page = await context.newPage();
  await page.goto(pathToFileURL(path).href);
  return page;
}

/// Opens a page and gathers everything it says or asks for besides itself.
export async function open(path, { width = 1280, scheme = "light" } = {}) {
  const page = await context.newPage();
  const noise = [];
  const address = pathToFileURL(path).href;
  page.on("console", (message) => noise.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => noise.push(`error: ${error.message}`));
  page.on("request", (request) => {
    const url = request.url();
    if (url !== address && !url.startsWith("data:")) noise.push(`request: ${url}`);
  });
  await page.emulateMedia({ colorScheme: scheme });
  await page.setViewportSize({ width, height: 900 });
  await page.goto(address);
  await page.waitForSelector("#page[data-drawn]");
  return { page, noise };
}

/// The file that the page saves when its button is pressed, read again.
export async function saved(page) {
  const [download] = await Promise.all([page.waitForEvent("download"), page.click(".save")]);
  return JSON.parse(readFileSync(await download.path(), "utf8"));
}

/// What each of the checks finds wrong on the page, beside the JSON.
export async function problemsFound(checks, page, json) {
  const problems = [];
  for (const check of checks) problems.push(...await check(page, json));
  return problems;
}

/// Requires that the page at `path` gives back `document`, and asks for nothing but what it saves.
export async function requireGivenBack(path, document) {
  const { page, noise } = await open(path);
  assert.deepEqual(await saved(page), JSON.parse(JSON.stringify(document)));
  assert.deepEqual(noise.filter((each) => !each.startsWith("request: blob:")), []);
  await page.close();
}
