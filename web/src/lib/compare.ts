// Differences between runs, with what they are worth: «worse», «same», «better», or that it cannot be told.

/** A figure with its 95 % interval: ends that are not known are null. */
export interface Estimate {
  value: number | null;
  /** Null: nothing tells how sure it is. */
  interval: readonly [number | null, number | null] | null;
}

export type Judgement = 'worse' | 'same' | 'better' | 'cannotTell';

/** A difference to another figure, as a share of it: 0.1 is 10 % more. */
export interface Difference {
  share: number | null;
  interval: readonly [number, number] | null;
  judgement: Judgement;
}

/** Differences smaller than this, in either direction, are none to anybody. */
export const MARGIN = 0.05;

/**
 * The difference of two figures that were measured apart. Their intervals are put together as those of a difference of logarithms
 * (the square-and-add rule of Zou and Donner, *Statistics in Medicine* 2008): narrower than comparing ends, wider than either.
 */
export function difference(before: Estimate, after: Estimate, moreIs: 'worse' | 'better', trusted: boolean): Difference {
  const [a, b] = [before.value, after.value];
  if (a === null || b === null || a <= 0 || b <= 0) return { share: null, interval: null, judgement: 'cannotTell' };
  const share = b / a - 1;
  if (!before.interval || !after.interval) return { share, interval: null, judgement: 'cannotTell' };
  const d = Math.log(b / a);
  const below = (low: number | null, value: number): number => (low === null || low <= 0 ? Infinity : Math.log(value / low));
  const above = (high: number | null, value: number): number => (high === null ? Infinity : Math.log(high / value));
  const low = Math.exp(d - Math.hypot(below(after.interval[0], b), above(before.interval[1], a))) - 1;
  const high = Math.exp(d + Math.hypot(above(after.interval[1], b), below(before.interval[0], a))) - 1;
  const interval = [low, high] as const;
  return { share, interval, judgement: trusted ? judged(interval, moreIs) : 'cannotTell' };
}

/** Shares of failures differ by points: nothing can be so many per cent more than none. */
export const POINTS = 0.1;

/** The difference of two shares in percentage points, put together in the same way. */
export function pointsBetween(before: Estimate, after: Estimate, trusted: boolean): Difference {
  const [a, b] = [before.value, after.value];
  if (a === null || b === null) return { share: null, interval: null, judgement: 'cannotTell' };
  const share = b - a;
  if (!before.interval || !after.interval) return { share, interval: null, judgement: 'cannotTell' };
  const end = (of: number | null): number => of ?? Infinity;
  const low = share - Math.hypot(b - (after.interval[0] ?? 0), end(before.interval[1]) - a);
  const high = share + Math.hypot(end(after.interval[1]) - b, a - (before.interval[0] ?? 0));
  const interval = [low, high] as const;
  return { share, interval, judgement: trusted ? judged(interval, 'worse', POINTS) : 'cannotTell' };
}

/** Of none in so many: with three in that many, none would be seen in one run of twenty. */
export function noneOf(n: number): Estimate {
  return { value: n > 0 ? 0 : null, interval: n > 0 ? [0, Math.min(100, 300 / n)] : null };
}

function judged([low, high]: readonly [number, number], moreIs: 'worse' | 'better', margin = MARGIN): Judgement {
  if (low >= -margin && high <= margin) return 'same';
  if (low > 0) return moreIs;
  if (high < 0) return moreIs === 'worse' ? 'better' : 'worse';
  return 'cannotTell';
}

const BLOCKS = 10;
/** Of Student's distribution with nine degrees of freedom, the quantile of 97.5 %. */
const STUDENT = 2.262;

/** The mean of a run of values with its interval, told by how much ten blocks of them differ; none of fewer values. */
export function batchMean(values: readonly number[], weights: readonly number[]): Estimate {
  const total = weights.reduce((sum, w) => sum + w, 0);
  if (total <= 0) return { value: null, interval: null };
  const value = values.reduce((sum, v) => sum + v, 0) / total;
  if (values.length < BLOCKS) return { value, interval: null };
  const sums = Array.from({ length: BLOCKS }, () => [0, 0]);
  values.forEach((v, i) => {
    const block = sums[Math.floor((i * BLOCKS) / values.length)];
    block[0] += v;
    block[1] += weights[i];
  });
  const means = sums.map(([v, w]) => (w > 0 ? v / w : value));
  const spread = Math.sqrt(means.reduce((sum, m) => sum + (m - value) ** 2, 0) / (BLOCKS - 1));
  const half = (STUDENT * spread) / Math.sqrt(BLOCKS);
  return { value, interval: [Math.max(0, value - half), value + half] };
}
