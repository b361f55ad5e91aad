// Figures by name: for a whole run, taken from the report; for a span, computed from the blocks in it.

import { Histogram, Ranked, type Quantity } from '../lib/histogram';
import { quantileOf, type Dist, type Run, type Span } from '../lib/run.svelte';

export interface NamedFigures {
  index: number;
  name: string;
  scheduled: number;
  succeeded: number;
  failed: number;
  unfinished: number;
  /** Responses served from the users' caches, which are not requests. */
  fromCache: number;
  perS: number | null;
  payload: number;
  status: Record<string, number>;
  /** False if only the figures of the whole run are known for this name: those of the span are unknown, not zero. */
  told: boolean;
  quantile: (key: string) => Quantity;
  /** Median latency of each block, in nanoseconds; null where there are too few requests. */
  curve: (number | null)[];
}

const SHARE: Record<string, number> = { p50: 0.5, p90: 0.9, p95: 0.95, p99: 0.99, p99_9: 0.999 };

/** The blocks of a span, by index, and the interval they cover. */
export interface Blocks {
  from: number;
  to: number;
  indices: number[];
}

/** Returns the blocks of a span, extended to whole blocks. */
export const blocksOf = (run: Run, span: Span | null): Blocks => blocksIn(run.blocks, run.head.grain.block_s, span);

/** Like `blocksOf`, for any blocks of `size` seconds. */
export function blocksIn(blocks: readonly { from: number; to: number }[], size: number, span: Span | null): Blocks {
  const low = span ? Math.floor(span.from / size) * size : -Infinity;
  const high = span ? Math.ceil(span.to / size) * size : Infinity;
  const indices = blocks.flatMap((block, i) => (block.from >= low && block.from < high ? [i] : []));
  const first = indices.length ? blocks[indices[0]].from : (span?.from ?? 0);
  const last = indices.length ? blocks[indices[indices.length - 1]].to : (span?.to ?? 0);
  return { from: first, to: last, indices };
}

/** Returns whether figures are computed from blocks: for a span, and for a run in progress. */
export const isPart = (run: Run, span: Span | null): boolean => !!span || run.head.live;

/**
 * Places blocks on a time axis. `at` holds the index of the block for each interval, or -1 where a block is missing.
 */
export function stretches(blocks: readonly { from: number; to: number }[], extent: Span): { x: number[]; at: number[] } {
  const [x, at]: [number[], number[]] = [[], []];
  let end: number | null = null;
  blocks.forEach((block, i) => {
    if (end !== null && block.from > end + 1e-6) {
      x.push(end);
      at.push(-1);
    }
    x.push(Math.max(block.from, extent.from));
    at.push(i);
    end = block.to;
  });
  x.push(Math.max(Math.min(end ?? extent.to, extent.to), x[x.length - 1] ?? extent.from));
  return { x, at };
}

/** One row of the blocks over time: rates per second, and percentiles where there are enough requests. */
export interface RowOverTime {
  x: number[];
  due: (number | null)[];
  succeeded: (number | null)[];
  failed: (number | null)[];
  dropped: (number | null)[];
  quantiles: { key: string; values: (number | null)[]; bounds: boolean[] }[];
}

export function rowOverTime(run: Run, index: number): RowOverTime {
  const grouping = run.head.grain.names;
  const { x, at } = stretches(run.blocks, run.extent);
  const rows = at.map((i) => (i < 0 ? undefined : run.blocks[i].rows.find((row) => row[0] === index)));
  // A block that is partly outside the run is divided by the time inside it.
  const per = (column: number): (number | null)[] =>
    rows.map((row, i) => (at[i] < 0 || x[i + 1] - x[i] < 0.2 ? null : ((row?.[column] as number | undefined) ?? 0) / (x[i + 1] - x[i])));
  const ranked = rows.map((row) => (row ? new Ranked(Histogram.of(row[7], grouping), Histogram.of(row[8], grouping)) : null));
  const quantiles = [0.5, 0.95, 0.99].map((q) => {
    const all = ranked.map((one) => one?.quantile(q) ?? { ns: null, atLeast: false });
    return { key: `p${q * 100}`, values: all.map(({ ns }) => ns), bounds: all.map(({ atLeast }) => atLeast) };
  });
  return { x, due: per(1), succeeded: per(2), failed: per(3), dropped: per(9), quantiles };
}

/** Returns the totals of a row over the blocks with these indices. */
export function merged(run: Run, index: number, indices: readonly number[]): { counts: number[]; ranked: Ranked } {
  const grouping = run.head.grain.names;
  const ranked = Ranked.empty(grouping);
  const counts = [0, 0, 0, 0, 0, 0, 0, 0];
  for (const i of indices) {
    const row = run.blocks[i].rows.find((one) => one[0] === index);
    if (!row) continue;
    for (let c = 0; c < 6; c++) counts[c] += row[c + 1] as number;
    counts[6] += row[9] ?? 0;
    counts[7] += row[10] ?? 0;
    ranked.add(row[7], row[8], row[11], row[12]);
  }
  return { counts, ranked };
}

/** Cached curves, valid until their run grows; they do not depend on the span. */
const made = new WeakMap<Run, { version: number; curves: Map<number, (number | null)[]> }>();

/** Returns the median of each block, in nanoseconds; null where there are too few requests. */
export function curveOf(run: Run, index: number): (number | null)[] {
  let known = made.get(run);
  if (known?.version !== run.version) made.set(run, (known = { version: run.version, curves: new Map() }));
  let curve = known.curves.get(index);
  if (!curve) known.curves.set(index, (curve = medians(run, index)));
  return curve;
}

function medians(run: Run, index: number): (number | null)[] {
  const grouping = run.head.grain.names;
  return run.blocks.map((block) => {
    const row = block.rows.find((one) => one[0] === index);
    if (!row) return null;
    return new Ranked(Histogram.of(row[7], grouping), Histogram.of(row[8], grouping)).quantile(0.5).ns;
  });
}

interface Reported {
  name: string;
  scheduled: number;
  succeeded: number;
  failed: number;
  unfinished: number;
  throughput_per_s: number;
  payload: number;
  from_cache?: number;
  status: Record<string, number>;
  latency: Dist;
}

/** Returns the empty figures of a name in a run in progress, whose report has no figures yet. */
const begun = (name: string): Reported => ({ name, scheduled: 0, succeeded: 0, failed: 0, unfinished: 0, throughput_per_s: 0, payload: 0, status: {}, latency: { count: 0, unanswered: 0, min_us: null, mean_us: null, max_us: null } });

/**
 * Returns a function from a row of the report to its index in the blocks. The two differ, because the report omits
 * names that no user sends.
 */
export function indexOfName(run: Run): (name: string, position: number) => number {
  const known = new Map(run.head.names.map((name, index) => [name, index]));
  return (name, position) => known.get(name) ?? position;
}

/** Returns the rows of the table by name. */
export function namedFigures(run: Run, span: Span | null): NamedFigures[] {
  const reported = run.head.live ? run.head.names.map(begun) : (run.head.report.by_name as Reported[]);
  const blocks = blocksOf(run, span);
  const known = new Set(run.blocks.flatMap((block) => block.rows.map((row) => row[0])));
  const length = run.windowLength({ from: blocks.from, to: blocks.to });
  const indexOf = indexOfName(run);
  return reported.map((of, position) => {
    const index = indexOf(of.name, position);
    const curve = known.has(index) ? curveOf(run, index) : [];
    const told = !isPart(run, span) || known.has(index) || run.head.live || of.scheduled === 0;
    const whole = { index, name: of.name, curve, status: of.status, told };
    if (!isPart(run, span)) {
      const { scheduled, succeeded, failed, unfinished, payload, from_cache: fromCache = 0 } = of;
      return { ...whole, scheduled, succeeded, failed, unfinished, payload, fromCache, perS: of.throughput_per_s, quantile: (key) => quantileOf(of.latency, key) };
    }
    const { counts, ranked } = merged(run, index, blocks.indices);
    const [scheduled, succeeded, failed, unfinished, inWindow, payload, , fromCache] = counts;
    const quantile = (key: string): Quantity => (key === 'max' ? ranked.max() : key === 'mean' ? ranked.mean() : ranked.quantile(SHARE[key]));
    return { ...whole, scheduled, succeeded, failed, unfinished, payload, fromCache, perS: length > 0 ? inWindow / length : null, quantile };
  });
}
