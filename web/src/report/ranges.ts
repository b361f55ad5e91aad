// Numbers of requests below, between and above two limits, from a histogram. The limits are moved to the edges of
// buckets, and shown there.

import { boundsOf, bucketOf, type Histogram } from '../lib/histogram';

export interface Ranges {
  /** The limits that the counts apply to, in nanoseconds: the bucket edges nearest to the requested limits. */
  edges: [number, number];
  below: number;
  between: number;
  above: number;
}

/** Returns the nearest edge of a bucket, in nanoseconds. */
export function edgeNear(ns: number, grouping: number): number {
  const [low, width] = boundsOf(bucketOf(ns, grouping), grouping);
  return ns - low <= low + width - ns ? low : low + width;
}

/** Counts the values below the first edge, between both, and at or above the second. */
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

/**
 * Returns the Apdex: requests below the first edge count fully, those below the second count half, and all others,
 * including failed and unfinished ones, count as zero; null without requests.
 */
export function apdex({ below, between }: Ranges, all: number): number | null {
  return all > 0 ? (below + between / 2) / all : null;
}
