// Builds the page from the data inside it, whose schema says which page it is.

import "uplot/dist/uPlot.min.css";
import "./page.css";
import { el } from "./dom";
import { showBench } from "./laboratory";
import { isSimulation } from "./simulated";
import { showSimulation } from "./simulation";

function start(): void {
  const root = document.getElementById("page");
  const data = document.getElementById("flatline-data");
  if (!root || !data) return;
  const text = data.textContent ?? "";
  const simulated = isSimulation(text);
  try {
    (simulated ? showSimulation : showBench)(text, root);
  } catch (error) {
    root.replaceChildren(el("p", { class: "failure", role: "alert" },
      `The data in this page cannot be shown (${error instanceof Error ? error.message : error}); ` +
      `write the page again with \`flatline ${simulated ? "simulate" : "bench"} --html\`.`));
    throw error;
  }
}

start();
