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
  metafile: true,
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

/// The licences of the packages that are in the bundle, each text once: they require it in every copy.
async function licences() {
  const names = new Set(Object.keys(bundle.metafile.inputs)
    .map((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]).filter(Boolean));
  const named = new Map();
  for (const name of [...names].sort()) {
    const licence = (await readFile(join(here, "node_modules", name, "LICENSE"), "utf8")).trim();
    if (licence.includes("--")) throw new Error(`the licence of ${name} would end the comment that holds it`);
    named.set(licence, [...(named.get(licence) ?? []), name]);
  }
  return [...named].map(([licence, of]) => `${of.join(", ")}:\n\n${licence}`).join("\n\n\n");
}

// Nothing inside an inline script or style may look like its end tag.
const script = text(".js").replaceAll("</script", "<\\/script").trim();
const style = text(".css").replaceAll("</style", "<\\/style").trim();

let page = await readFile(join(here, "page.html"), "utf8");
page = put(page, "__LICENCES__", await licences());
page = put(page, "__FLATLINE_STYLE__", style);
page = put(page, "__FLATLINE_SCRIPT__", script);
if (page.split("__FLATLINE_DATA__").length !== 2) throw new Error("page.html must contain __FLATLINE_DATA__ once");
await writeFile(output, page);
