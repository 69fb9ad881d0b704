// Builds the page from the data inside it, whose schema says which page it is.

import "uplot/dist/uPlot.min.css";
import "./page.css";
import "./audit.css";
import { showAudit } from "./audit";
import { isAudit } from "./audited";
import { el } from "./dom";
import { showBench } from "./laboratory";
import { isSimulation } from "./simulated";
import { showSimulation } from "./simulation";

/// What shows the data, and the verb of the program that wrote them.
function pageOf(text: string): { show: (text: string, root: HTMLElement) => void; verb: string } {
  if (isAudit(text)) return { show: showAudit, verb: "audit" };
  if (isSimulation(text)) return { show: showSimulation, verb: "simulate" };
  return { show: showBench, verb: "bench" };
}

function start(): void {
  const root = document.getElementById("page");
  const data = document.getElementById("flatline-data");
  if (!root || !data) return;
  const text = data.textContent ?? "";
  const { show, verb } = pageOf(text);
  try {
    show(text, root);
  } catch (error) {
    root.replaceChildren(el("p", { class: "failure", role: "alert" },
      `The data in this page cannot be shown (${error instanceof Error ? error.message : error}); ` +
      `write the page again with \`flatline ${verb} --html\`.`));
    throw error;
  }
}

start();
