// Figures by name: of the whole run as the report has them, of a span from the blocks that lie in it.

import { Histogram, Ranked, type Quantity } from '../lib/histogram';
import { quantileOf, type Dist, type Run, type Span } from '../lib/run.svelte';

export interface NamedFigures {
  index: number;
  name: string;
  scheduled: number;
  succeeded: number;
  failed: number;
  unfinished: number;
  perS: number | null;
  payload: number;
  status: Record<string, number>;
  /** False in a span of a name that only the whole run is told of: its figures there are unknown, not zero. */
  told: boolean;
  quantile: (key: string) => Quantity;
  /** p99 of each block, and where blocks are short requests a second. */
  curve: (number | null)[];
}

const SHARE: Record<string, number> = { p50: 0.5, p90: 0.9, p95: 0.95, p99: 0.99, p99_9: 0.999 };

/** The blocks of a span: those that begin in it. A span shorter than a block has the one it lies in. */
export function blocksOf(run: Run, span: Span | null): { from: number; to: number; indices: number[] } {
  const size = run.head.grain.block_s;
  const low = span ? Math.floor(span.from / size) * size : -Infinity;
  const high = span ? Math.ceil(span.to / size) * size : Infinity;
  const indices = run.blocks.flatMap((block, i) => (block.from >= low && block.from < high ? [i] : []));
  const first = indices.length ? run.blocks[indices[0]].from : (span?.from ?? 0);
  const last = indices.length ? run.blocks[indices[indices.length - 1]].to : (span?.to ?? 0);
  return { from: first, to: last, indices };
}

/** What a row of the blocks comes to. */
export function merged(run: Run, index: number, indices: readonly number[]): { counts: number[]; ranked: Ranked } {
  const grouping = run.head.grain.names;
  const ranked = new Ranked(new Histogram(grouping), new Histogram(grouping));
  const counts = [0, 0, 0, 0, 0, 0];
  for (const i of indices) {
    const row = run.blocks[i].rows.find((one) => one[0] === index);
    if (!row) continue;
    for (let c = 0; c < 6; c++) counts[c] += row[c + 1] as number;
    ranked.finished.add(row[7]);
    ranked.atLeast.add(row[8]);
  }
  return { counts, ranked };
}

/** Curves that were made, as long as their run has not grown: a span does not change them. */
const made = new WeakMap<Run, { version: number; curves: Map<number, (number | null)[]> }>();

/** The median of each block where there are enough requests of it. */
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
  status: Record<string, number>;
  latency: Dist;
}

/** The rows of a table by name. */
export function namedFigures(run: Run, span: Span | null): NamedFigures[] {
  const reported: Reported[] = run.head.report.by_name;
  const blocks = blocksOf(run, span);
  const known = new Set(run.blocks.flatMap((block) => block.rows.map((row) => row[0])));
  const length = run.windowLength({ from: blocks.from, to: blocks.to });
  return reported.map((of, index) => {
    const curve = known.has(index) ? curveOf(run, index) : [];
    const told = !span || known.has(index) || of.scheduled === 0;
    const whole = { index, name: of.name, curve, status: of.status, told };
    if (!span) {
      const { scheduled, succeeded, failed, unfinished, payload } = of;
      return { ...whole, scheduled, succeeded, failed, unfinished, payload, perS: of.throughput_per_s, quantile: (key) => quantileOf(of.latency, key) };
    }
    const { counts, ranked } = merged(run, index, blocks.indices);
    const [scheduled, succeeded, failed, unfinished, inWindow, payload] = counts;
    const quantile = (key: string): Quantity => (key === 'max' ? ranked.max() : key === 'mean' ? ranked.mean() : ranked.quantile(SHARE[key]));
    return { ...whole, scheduled, succeeded, failed, unfinished, payload, perS: length > 0 ? inWindow / length : null, quantile };
  });
}
