// How many requests came within so long, told from a histogram: its edges lie where buckets end, and are named as they are.

import { boundsOf, bucketOf, type Histogram } from '../lib/histogram';

export interface Ranges {
  /** The edges that the counts are true of, in nanoseconds: those of buckets, the nearest to what was asked for. */
  edges: [number, number];
  below: number;
  between: number;
  above: number;
}

/** The edge of a bucket that is nearest. */
export function edgeNear(ns: number, grouping: number): number {
  const [low, width] = boundsOf(bucketOf(ns, grouping), grouping);
  return ns - low <= low + width - ns ? low : low + width;
}

/** Counts below the first edge, from it to the second, and from there on. */
export function rangesOf(histogram: Histogram, first: number, second: number): Ranges {
  const edges: [number, number] = [edgeNear(first, histogram.grouping), edgeNear(second, histogram.grouping)];
  const ranges: Ranges = { edges, below: 0, between: 0, above: 0 };
  for (const { low, count } of histogram.buckets()) {
    if (low < edges[0]) ranges.below += count;
    else if (low < edges[1]) ranges.between += count;
    else ranges.above += count;
  }
  return ranges;
}

/** Apdex: those below the first edge count whole, those up to the second half, all others (failures and those without an end among them) not at all. */
export function apdex({ below, between }: Ranges, all: number): number | null {
  return all > 0 ? (below + between / 2) / all : null;
}
