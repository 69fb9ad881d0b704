// Saves the run from the page, without network. The file is one that `flatline compare` or `flatline report` reads.

import { el } from "./dom";

const patience = 60_000; // ms that a browser may take to ask where to save

/// "flatline-2026-11-21T20-00-00Z.json": a name that every file system accepts.
function fileName(started: string): string {
  return `flatline-${started.replace(/[^\w-]+/g, "-")}.json`;
}

function save(text: string, started: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  el("a", { href: address, download: fileName(started) }).click();
  setTimeout(() => URL.revokeObjectURL(address), patience);
}

/// `text` is the data as stored in the page, which `verb` wrote; `started` names the run.
export function saveButton(text: string, started: string, verb = "bench"): HTMLElement {
  return el("button", { type: "button", class: "save",
    title: `Save the run's JSON, as flatline ${verb} --json writes it`,
    click: () => save(text, started) }, "Save JSON");
}
