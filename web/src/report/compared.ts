// What runs are compared by.

import { batchMean, noneOf, type Estimate } from '../lib/compare';
import type { Unit } from '../lib/format';
import { headline, intervalOf, quantileOf, WINDOW, type Run } from '../lib/run.svelte';

export interface Compared {
  key: string;
  label: string;
  unit: Unit;
  moreIs: 'worse' | 'better';
  /** Of each run. */
  estimates: Estimate[];
  /** Of each run, whether it is only a lower bound. */
  bounds: boolean[];
}

const PERCENTILES: [string, string][] = [['p50', 'p50'], ['p90', 'p90'], ['p95', 'p95'], ['p99', 'p99'], ['p99_9', 'p99.9']];

/** Whether the figures of a run stand. */
export const isTrusted = (run: Run): boolean => run.head.report.trust.verdict !== 'not_trusted';

/** Throughput, percentiles and failures of runs laid beside each other. */
export function compared(runs: readonly Run[], labels: { throughput: string; failed: string }): Compared[] {
  const bySecond = (run: Run, of: (i: number) => number, weight: (i: number) => number): Estimate => {
    const { part } = run.columns;
    const inside = part.flatMap((p, i) => (p === WINDOW ? [i] : []));
    return batchMean(inside.map(of), inside.map(weight));
  };
  const throughput = runs.map((run): Estimate => {
    const { from, to, finished, finishedOfWarmup } = run.columns;
    const told = bySecond(run, (i) => finished[i] + finishedOfWarmup[i], (i) => to[i] - from[i]);
    // The figure is the report's own; the blocks say what it is worth.
    return { value: run.head.report.throughput_per_s, interval: told.interval };
  });
  const failed = runs.map((run): Estimate => {
    const { failed: lost, finished } = run.columns;
    const { requests } = run.head.report;
    const told = bySecond(run, (i) => lost[i] * 100, (i) => lost[i] + finished[i]);
    if (requests.failed === 0) return noneOf(requests.scheduled);
    return { value: (requests.failed / requests.scheduled) * 100, interval: told.interval };
  });
  return [
    { key: 'throughput', label: labels.throughput, unit: 'rate', moreIs: 'better', estimates: throughput, bounds: runs.map(() => false) },
    ...PERCENTILES.map(([key, label]): Compared => {
      const all = runs.map((run) => quantileOf(headline(run.head), key));
      const estimates = runs.map((run, i) => ({ value: all[i].ns, interval: all[i].atLeast ? null : intervalOf(headline(run.head), key) }));
      return { key, label, unit: 'ns', moreIs: 'worse', estimates, bounds: all.map(({ atLeast }) => atLeast) };
    }),
    { key: 'failed', label: labels.failed, unit: 'percent', moreIs: 'worse', estimates: failed, bounds: runs.map(() => false) },
  ];
}

/** Runs on one axis of whole seconds since each began: a value of each second, null where a run has none. */
export function laidOver(runs: readonly Run[], of: (run: Run, second: number) => number | null): { x: number[]; values: (number | null)[][] } {
  const from = Math.floor(Math.min(...runs.map((run) => run.extent.from)) + 1e-6);
  const to = Math.ceil(Math.max(...runs.map((run) => run.extent.to)) - 1e-6);
  const x = Array.from({ length: Math.max(to - from, 1) + 1 }, (_, i) => from + i);
  const values = runs.map((run) => {
    const line: (number | null)[] = new Array(x.length - 1).fill(null);
    const { from: begins, to: ends } = run.columns;
    begins.forEach((begin, i) => {
      // The rest of a second after the window has no column of its own.
      const at = Math.floor(begin + 1e-6) - from;
      if (at >= 0 && at < line.length && ends[i] - begin >= 0.5) line[at] = of(run, i);
    });
    return line;
  });
  return { x, values };
}
