// The numbers that the page shows, as data, so that a test can compare them with the JSON report of the same record.

import type { Quantity } from '../lib/histogram';
import { DRAIN, headline, headlineRanked, quantileOf, WARMUP, type Head, type Run, type Span } from '../lib/run.svelte';
import { iterationRows, scenarioRows } from './flows';
import { isPart, rowOverTime } from './named';
import { partRows, partsOverTime } from './parts';
import { rangesOf } from './ranges';
import { moments } from './scatter';

/** A figure in the first row of the page. */
export interface Shown {
  key: string;
  ns?: number | null;
  atLeast?: boolean;
  value?: number;
}

/** Returns latency and throughput of a run or a span. */
export function summary(run: Run, span: Span | null): {
  throughput: number;
  scheduled: number;
  succeeded: number;
  failed: number;
  unfinished: number;
  quantile: (key: string) => Quantity;
} {
  const { report } = run.head;
  if (!isPart(run, span)) {
    const { scheduled, succeeded, failed, unfinished } = report.requests;
    const dist = headline(run.head);
    return { throughput: report.throughput_per_s, scheduled, succeeded, failed, unfinished, quantile: (key) => quantileOf(dist, key) };
  }
  const length = run.windowLength(span);
  const inWindow = run.sum('finished', span, 1) + run.sum('finishedOfWarmup', span, 1);
  const ranked = run.ranked(span);
  const share: Record<string, number> = { p50: 0.5, p90: 0.9, p95: 0.95, p99: 0.99, p99_9: 0.999 };
  return {
    throughput: length > 0 ? inWindow / length : 0,
    scheduled: run.sum('due', span),
    succeeded: run.sum('finished', span),
    failed: run.sum('failed', span),
    unfinished: run.sum('censored', span),
    quantile: (key) => (key === 'max' ? ranked.max() : key === 'mean' ? ranked.mean() : ranked.quantile(share[key])),
  };
}

/** Returns the rates and percentiles of each second, as drawn in the first chart. */
export function series(run: Run): Record<string, (number | null)[]> {
  const { from, to, part, due, sent, warmup, finished, finishedOfWarmup, failed } = run.columns;
  const per = (n: readonly number[]): (number | null)[] => n.map((count, i) => rated(count, to[i] - from[i]));
  const succeeded = finished.map((n, i) => n + finishedOfWarmup[i]);
  const quantile = (at: number): (number | null)[] => run.quantiles.map((q) => (q[at] === 0 ? null : Math.abs(q[at])));
  const scheduled = due.map((n, i) => (part[i] === WARMUP ? null : part[i] === DRAIN ? null : rated(n, to[i] - from[i])));
  return { scheduled, sent: per(sent.map((n, i) => n + warmup[i])), succeeded: per(succeeded), failed: per(failed).map((n, i) => (part[i] === WARMUP ? null : n)), p50: quantile(0), p95: quantile(1), p99: quantile(2) };
}

/** Numbers of seconds that may be merged if a single one has too few requests for a percentile. */
const TOGETHER = [1, 2, 5, 10, 15, 30, 60];

export interface Percentile {
  key: string;
  /** Number of seconds merged for each value. */
  over: number;
  values: (number | null)[];
  bounds: boolean[];
}

/**
 * Returns for each second the index of its block of `over` seconds. A remainder shorter than half a block is merged
 * into the block before it, since it would otherwise be drawn like a full one.
 */
export function blocksOf(run: Run, over: number): number[] {
  const { from, to } = run.columns;
  const blocks = from.map((at) => Math.floor((at + 1e-6) / over));
  const last = blocks[blocks.length - 1];
  const first = blocks.indexOf(last);
  if (over > 1 && first > 0 && to[to.length - 1] - from[first] < over / 2) blocks.fill(blocks[first - 1], first);
  return blocks;
}

/** Returns p50, p95 and p99 over time, each over the fewest seconds that contain enough requests. */
export function percentiles(run: Run): Percentile[] {
  const { part } = run.columns;
  return [0.5, 0.95, 0.99].map((q, at) => {
    const key = `p${q * 100}`;
    const each = run.quantiles.map((all) => all[at]);
    // Seconds in which any request ended.
    const asked = each.map((_, i) => part[i] !== WARMUP && ((run.latency[i]?.length ?? 0) > 0 || (run.atLeast[i]?.length ?? 0) > 0));
    const all = asked.filter(Boolean).length;
    const enough = (values: readonly (number | null)[]): boolean => values.filter((v, i) => asked[i] && v !== null && v !== 0).length >= 0.8 * all;
    const plain = { key, over: 1, values: each.map((v) => (v === 0 ? null : Math.abs(v))), bounds: each.map((v) => v < 0) };
    if (all === 0 || enough(each)) return plain;
    for (const over of TOGETHER.slice(1)) {
      const values: (number | null)[] = new Array(each.length).fill(null);
      const bounds: boolean[] = new Array(each.length).fill(false);
      const blocks = blocksOf(run, over);
      for (let i = 0; i < each.length; ) {
        let end = i;
        while (end < each.length && blocks[end] === blocks[i]) end++;
        const figure = run.rankedOf(i, end).quantile(q);
        for (; i < end; i++) if (asked[i]) [values[i], bounds[i]] = [figure.ns, figure.atLeast];
      }
      if (enough(values)) return { key, over, values, bounds };
    }
    return plain;
  });
}

const SHORTEST = 0.2;

/** Returns a rate per second; null for a fraction of a second too short for one. */
function rated(count: number, length: number): number | null {
  return length >= SHORTEST ? count / length : null;
}

/** Returns all figures, for `window.brunt.figures()`. */
export function figures(runs: readonly Run[], span: Span | null): unknown {
  return runs.map((run) => {
    const head: Head = run.head;
    const all = summary(run, span);
    const quantiles = Object.fromEntries(['p50', 'p90', 'p95', 'p99', 'p99_9', 'max', 'mean'].map((key) => [key, all.quantile(key)]));
    return {
      name: head.name,
      span,
      throughput: all.throughput,
      requests: { scheduled: all.scheduled, succeeded: all.succeeded, failed: all.failed, unfinished: all.unfinished },
      quantiles,
      seconds: { counts: run.columns, drawn: series(run) },
      merged: Object.fromEntries([0.5, 0.9, 0.95, 0.99, 0.999].map((q) => [q, run.ranked(span).quantile(q)])),
      count: run.ranked(span).count,
      began: run.began,
      codes: added(run.codes.slice(...run.within(span))),
      kinds: added(run.failures.slice(...run.within(span))),
      flows: run.flows,
      scenarios: scenarioRows(run, span).map((row) => ({ ...row, iterations: told(row.iterations), ...told(row) })),
      iterations: iterationRows(run, span).map(told),
      iterationsOverTime: iterationRows(run, span).map(({ row }) => rowOverTime(run, row)),
      parts: partRows(run, span).map(({ key, count, quantile }) => ({ key, count, mean: quantile('mean'), p50: quantile('p50'), p99: quantile('p99') })),
      partsOverTime: partsOverTime(run, 'mean'),
      ranges: rangesOf(headlineRanked(run.head).finished, 500e6, 1500e6),
      moments: moments(run, 'p95', span),
    };
  });
}

/** Returns a row with its percentiles as plain values. */
const told = <Row extends { quantile: (key: string) => Quantity }>(row: Row): object => ({ ...row, ...Object.fromEntries(['p50', 'p95', 'p99'].map((key) => [key, row.quantile(key)])) });

function added(all: readonly Record<string, number>[]): Record<string, number> {
  const sum: Record<string, number> = {};
  for (const one of all) for (const [key, n] of Object.entries(one)) sum[key] = (sum[key] ?? 0) + n;
  return sum;
}
