// Makes the page template: page.html with the styles and the program written into it.
// usage: node bundle.mjs [OUTPUT]     (default: report.html in the folder of this file)
import { build } from "esbuild";
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const output = process.argv[2] ?? join(here, "report.html");

const bundle = await build({
  entryPoints: [join(here, "main.ts")],
  outdir: here,
  bundle: true,
  minify: true,
  write: false,
  format: "iife",
  target: "es2020",
  charset: "utf8",
  legalComments: "none",
  logLevel: "warning",
});

function text(suffix) {
  const file = bundle.outputFiles.find((each) => each.path.endsWith(suffix));
  if (!file) throw new Error(`esbuild produced no ${suffix} file: main.ts must import page.css`);
  return file.text;
}

/// Replaces the only occurrence of `token`. The replacement is a function, so that "$&" in the text stays as it is.
function put(page, token, content) {
  if (page.split(token).length !== 2) throw new Error(`page.html must contain ${token} exactly once`);
  return page.replace(token, () => content);
}

// uPlot's licence requires its notice in every copy.
const licence = await readFile(join(here, "node_modules/uplot/LICENSE"), "utf8");
if (licence.includes("--")) throw new Error("uPlot's licence text would end the comment that holds it");

// Nothing inside an inline script or style may look like its end tag.
const script = text(".js").replaceAll("</script", "<\\/script").trim();
const style = text(".css").replaceAll("</style", "<\\/style").trim();

let page = await readFile(join(here, "page.html"), "utf8");
page = put(page, "__UPLOT_LICENCE__", licence.trim());
page = put(page, "__FLATLINE_STYLE__", style);
page = put(page, "__FLATLINE_SCRIPT__", script);
if (page.split("__FLATLINE_DATA__").length !== 2) throw new Error("page.html must contain __FLATLINE_DATA__ once");
await writeFile(output, page);
