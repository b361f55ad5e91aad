// The numbers that the page shows, as data, so that a test can compare them with the JSON report of the same record.

import { say } from '../lib/i18n';
import { minimumCount, type Numbers, type Quantity } from '../lib/histogram';
import { DRAIN, headline, headlineRanked, quantileOf, WARMUP, type Head, type Run, type Seconds, type Span } from '../lib/run.svelte';
import { W } from '../lib/words';
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
export function series(run: Seconds): Record<string, (number | null)[]> {
  const { from, to, part, due, sent, warmup, finished, finishedOfWarmup, failed } = run.columns;
  const per = (n: readonly number[]): (number | null)[] => n.map((count, i) => rated(count, to[i] - from[i]));
  const succeeded = finished.map((n, i) => n + finishedOfWarmup[i]);
  const quantile = (at: number): (number | null)[] => run.quantiles.map((q) => (q[at] === 0 ? null : Math.abs(q[at])));
  const scheduled = due.map((n, i) => (part[i] === WARMUP ? null : part[i] === DRAIN ? null : rated(n, to[i] - from[i])));
  return { scheduled, sent: per(sent.map((n, i) => n + warmup[i])), succeeded: per(succeeded), failed: per(failed).map((n, i) => (part[i] === WARMUP ? null : n)), p50: quantile(0), p95: quantile(1), p99: quantile(2) };
}

/** Lengths in seconds of the blocks that are merged if a single second has too few requests for a percentile. */
const TOGETHER = [1, 2, 5, 10, 15, 30, 60];
/** Share of the blocks that must have a percentile for their length to do. */
const MOST = 0.8;

export interface Percentile {
  key: string;
  values: (number | null)[];
  bounds: boolean[];
}

/** Percentiles over time: all of the same blocks, none of which mixes two loads or extends beyond the selected part. */
export interface Percentiles {
  /** Index of the block of each second. */
  blocks: number[];
  /** Lengths of the shortest and the longest blocks that were merged, in seconds. */
  over: [number, number];
  lines: Percentile[];
}

/** Says of which time each value of the percentiles is; nothing if it is a second. */
export function overNote([least, most]: readonly [number, number], lang: 'en' | 'zh'): string {
  return most > 1 ? say(W.over, lang, { n: least < most ? `${least} … ${most}` : most }) : '';
}

/** Returns the ranges of seconds within which the load did not change, as indices, each cut at the ends of a span. */
export function sections(run: Run, span: Span | null): [number, number][] {
  const { from, to, part } = run.columns;
  const ends = span ? [span.from, span.to] : [];
  const cuts = [...run.turns, ...ends].sort((a, b) => a - b);
  const all: [number, number][] = [];
  let [next, before] = [0, null as number | null];
  for (let i = 0; i < from.length; i++) {
    while (next < cuts.length && cuts[next] <= from[i] + 1e-6) next++;
    // A second in which the load changed stands alone.
    const isMixed = next < cuts.length && cuts[next] < to[i] - 1e-6;
    const key = isMixed ? null : next * 3 + part[i];
    const last = all[all.length - 1];
    if (last && key !== null && key === before) last[1] = i + 1;
    else all.push([i, i + 1]);
    before = key;
  }
  return all;
}

/** Returns the blocks of `over` seconds of a section, as ranges of indices; a rest shorter than half a block joins the last one. */
export function blocksOf(columns: { from: readonly number[]; to: readonly number[] }, [first, end]: readonly [number, number], over: number): [number, number][] {
  const { from, to } = columns;
  const all: [number, number][] = [];
  let at = -1;
  for (let i = first; i < end; i++) {
    const block = Math.floor((from[i] - from[first] + 1e-6) / over);
    if (block === at) all[all.length - 1][1] = i + 1;
    else all.push([i, i + 1]);
    at = block;
  }
  const last = all[all.length - 1];
  if (over > 1 && all.length > 1 && to[last[1] - 1] - from[last[0]] < over / 2) {
    all.pop();
    all[all.length - 1][1] = last[1];
  }
  return all;
}

const QUANTILES = [0.5, 0.95, 0.99];
const made = new WeakMap<Run, { key: string; found: Percentiles }>();

/** Returns p50, p95 and p99 over time, each block as short as p99 permits, or else p95 or p50; without enough requests there is a gap. */
export function percentiles(run: Run, span: Span | null = null): Percentiles {
  const key = JSON.stringify([run.version, span]);
  const known = made.get(run);
  if (known?.key === key) return known.found;
  const found = percentilesOf(run, span);
  made.set(run, { key, found });
  return found;
}

function percentilesOf(run: Run, span: Span | null): Percentiles {
  const { columns, quantiles } = run;
  const { length } = quantiles;
  const blocks: number[] = new Array(length).fill(0);
  const lines = QUANTILES.map((q): Percentile => ({ key: `p${q * 100}`, values: new Array(length).fill(null), bounds: new Array(length).fill(false) }));
  // Requests that ended, of which a percentile needs enough.
  const counts = quantiles.map((_, i) => (columns.part[i] === WARMUP ? 0 : counted(run.latency[i]) + counted(run.atLeast[i])));
  let [block, over] = [0, [Infinity, 0] as [number, number]];
  for (const section of sections(run, span)) {
    for (const [first, end] of bestBlocks(columns, section, counts)) {
      const single = end - first === 1;
      const ranked = single ? null : run.rankedOf(first, end);
      const has = counts.slice(first, end).some((n) => n > 0);
      if (has) over = [Math.min(over[0], columns.to[end - 1] - columns.from[first]), Math.max(over[1], columns.to[end - 1] - columns.from[first])];
      QUANTILES.forEach((q, at) => {
        const told = ranked?.quantile(q) ?? { ns: quantiles[first][at] === 0 ? null : Math.abs(quantiles[first][at]), atLeast: quantiles[first][at] < 0 };
        for (let i = first; i < end; i++) if (has) [lines[at].values[i], lines[at].bounds[i]] = [told.ns, told.atLeast];
      });
      blocks.fill(block++, first, end);
    }
  }
  return { blocks, over: over[1] > 0 ? [Math.max(1, Math.round(over[0])), Math.max(1, Math.round(over[1]))] : [1, 1], lines };
}

/** Returns the shortest blocks of a section most of which have p99, or else p95 or p50. */
function bestBlocks(columns: { from: readonly number[]; to: readonly number[] }, section: [number, number], counts: readonly number[]): [number, number][] {
  const whole = columns.to[section[1] - 1] - columns.from[section[0]];
  const tried = [...TOGETHER.filter((over) => over < whole), ...(whole <= TOGETHER[TOGETHER.length - 1] ? [whole] : [])].map((over) => {
    const blocks = blocksOf(columns, section, over);
    const sizes = blocks.map(([first, end]) => counts.slice(first, end).reduce((sum, n) => sum + n, 0)).filter((n) => n > 0);
    return { blocks, sizes };
  });
  for (const q of [...QUANTILES].reverse()) {
    const enough = tried.find(({ sizes }) => sizes.filter((n) => n >= minimumCount(q)).length >= MOST * sizes.length);
    if (enough) return enough.blocks;
  }
  return tried[0]?.blocks ?? blocksOf(columns, section, 1);
}

/** Returns the number of values of a histogram. */
function counted(numbers: Numbers | undefined): number {
  let n = 0;
  for (let i = 4; i < (numbers?.length ?? 0); i += 2) n += numbers![i];
  return n;
}

/** Returns the percentiles of the seconds of a part of a run that comes in steps; null if too few of them have any. */
export function percentilesOfSeconds({ quantiles }: Seconds): Percentile[] | null {
  const ended = quantiles.filter(([p50]) => p50 !== 0).length;
  if (quantiles.filter((all) => all[2] !== 0).length < MOST * Math.max(ended, 1)) return null;
  return QUANTILES.map((q, at) => ({
    key: `p${q * 100}`, values: quantiles.map((all) => (all[at] === 0 ? null : Math.abs(all[at]))), bounds: quantiles.map((all) => all[at] < 0),
  }));
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
