// The cells of a heatmap: requests by end time and latency. Each cell consists of whole buckets, so that its count is
// exact.

import { boundsOf, bucketOf, type Numbers } from './histogram';
import type { Span } from './run.svelte';

export interface Heat {
  /** Start of each column in seconds, and the end of the last one. */
  edges: number[];
  /** Start of each row in nanoseconds, and the end of the last one. */
  levels: number[];
  /** Counts by column and row. */
  counts: Float64Array[];
  /** Number of requests without a response, by column. */
  unanswered: number[];
  /** Maximum count of a cell per second of its column. */
  most: number;
}

const ROWS = 72;

/** Returns the cells of a span; seconds are merged if there are more than `columns`. */
export function heatOf(
  from: readonly number[],
  to: readonly number[],
  latency: readonly (Numbers | undefined)[],
  atLeast: readonly (Numbers | undefined)[],
  grouping: number,
  span: Span,
  columns: number,
): Heat {
  const inside: number[] = [];
  for (let i = 0; i < from.length; i++) if (to[i] > span.from + 1e-6 && from[i] < span.to - 1e-6) inside.push(i);
  let [low, high] = [Infinity, 0];
  for (const i of inside) {
    const h = latency[i];
    if (h?.length) [low, high] = [Math.min(low, h[0]), Math.max(high, h[1])];
  }
  const each = Math.max(1, Math.ceil(inside.length / Math.max(columns, 1)));
  const heat: Heat = { edges: [], levels: [], counts: [], unanswered: [], most: 0 };
  if (!inside.length) return heat;
  // As many rows per octave as fit, but never finer than the buckets.
  const octaves = Math.max(1, Math.log2(Math.max(high, 2) / Math.max(low, 1)));
  let per = 0;
  while (per < Math.min(grouping, 4) && octaves * 2 ** (per + 1) <= ROWS) per++;
  const rowOf = (value: number): number => bucketOf(value, per);
  const first = Number.isFinite(low) ? rowOf(low) : 0;
  const rows = Number.isFinite(low) ? rowOf(high) - first + 1 : 0;
  for (let r = 0; r <= rows; r++) heat.levels.push(boundsOf(first + r, per)[0]);
  for (let c = 0; c < inside.length; c += each) {
    const cells = new Float64Array(rows);
    let [unanswered, length] = [0, 0];
    for (const i of inside.slice(c, c + each)) {
      length += to[i] - from[i];
      spread(latency[i], (bucket, n) => {
        const row = rowOf(boundsOf(bucket, grouping)[0]) - first;
        cells[Math.min(Math.max(row, 0), rows - 1)] += n;
      });
      spread(atLeast[i], (_, n) => (unanswered += n));
    }
    heat.edges.push(from[inside[c]]);
    heat.counts.push(cells);
    heat.unanswered.push(unanswered);
    for (const n of cells) heat.most = Math.max(heat.most, n / Math.max(length, 1e-9));
  }
  heat.edges.push(to[inside[inside.length - 1]]);
  return heat;
}

function spread(numbers: Numbers | undefined, see: (bucket: number, n: number) => void): void {
  if (!numbers) return;
  let bucket = 0;
  for (let i = 3; i + 1 < numbers.length; i += 2) {
    bucket += numbers[i];
    see(bucket, numbers[i + 1]);
  }
}
