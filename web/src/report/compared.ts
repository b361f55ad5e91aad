// Overlaid runs.

import type { Run } from '../lib/run.svelte';

/**
 * Puts runs on a common axis of whole seconds since the start of each: a value for each second, null where a run has
 * none.
 */
export function laidOver(runs: readonly Run[], of: (run: Run, second: number) => number | null): { x: number[]; values: (number | null)[][] } {
  const from = Math.floor(Math.min(...runs.map((run) => run.extent.from)) + 1e-6);
  const to = Math.ceil(Math.max(...runs.map((run) => run.extent.to)) - 1e-6);
  const x = Array.from({ length: Math.max(to - from, 1) + 1 }, (_, i) => from + i);
  const values = runs.map((run) => {
    const line: (number | null)[] = new Array(x.length - 1).fill(null);
    const { from: begins, to: ends } = run.columns;
    begins.forEach((begin, i) => {
      // The fraction of a second after the window has no column of its own.
      const at = Math.floor(begin + 1e-6) - from;
      if (at >= 0 && at < line.length && ends[i] - begin >= 0.5) line[at] = of(run, i);
    });
    return line;
  });
  return { x, values };
}
