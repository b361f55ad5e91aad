// Histograms as a run's lines carry them, and what is read from them: the same buckets, ranks and clamps as in `crates/measure`, so that a figure
// of a span is what the program would say of these seconds alone.

/** `[min, max, sum µs, first bucket, count, then gap and count of each further one]`; empty: nothing was counted. */
export type Numbers = readonly number[];

/** Counts of times in nanoseconds; `grouping` is the buckets of a power of two, as a power of two. */
export class Histogram {
  readonly counts: Float64Array;
  total = 0;
  sumUs = 0;
  min = Infinity;
  max = 0;

  constructor(readonly grouping = 8) {
    this.counts = new Float64Array(((41 - grouping) << grouping) + (2 << grouping));
  }

  static of(numbers: Numbers | undefined, grouping: number): Histogram {
    const made = new Histogram(grouping);
    if (numbers) made.add(numbers);
    return made;
  }

  /** Adds what a line says. */
  add(numbers: Numbers): void {
    if (numbers.length === 0) return;
    this.min = Math.min(this.min, numbers[0]);
    this.max = Math.max(this.max, numbers[1]);
    this.sumUs += numbers[2];
    let bucket = 0;
    for (let i = 3; i + 1 < numbers.length; i += 2) {
      bucket += numbers[i];
      if (bucket < this.counts.length) this.counts[bucket] += numbers[i + 1];
      this.total += numbers[i + 1];
    }
  }

  /** The value at a rank, 1 being the smallest; undefined where there is none. */
  atRank(rank: number, other?: Histogram): number | undefined {
    const total = this.total + (other?.total ?? 0);
    if (rank < 1 || rank > total) return undefined;
    const min = Math.min(this.min, other?.min ?? Infinity);
    const max = Math.max(this.max, other?.max ?? 0);
    let seen = 0;
    for (let i = bucketOf(min, this.grouping); i < this.counts.length; i++) {
      seen += this.counts[i] + (other ? other.counts[i] : 0);
      if (seen >= rank) return Math.min(Math.max(middleOf(i, this.grouping), min), max);
    }
    return max;
  }

  /** Filled buckets in ascending order. */
  *buckets(): Generator<Bucket> {
    if (this.total === 0) return;
    const last = Math.min(bucketOf(this.max, this.grouping), this.counts.length - 1);
    for (let i = bucketOf(this.min, this.grouping); i <= last; i++) {
      if (this.counts[i] > 0) {
        const [low, width] = boundsOf(i, this.grouping);
        yield { low, high: low + width, count: this.counts[i] };
      }
    }
  }
}

export interface Bucket {
  low: number;
  high: number;
  count: number;
}

const TOP = 2 ** 42 - 1;

/** The bucket of a value. */
export function bucketOf(value: number, grouping: number): number {
  const v = Math.min(Math.max(value, 0), TOP);
  const bits = v < 1 ? 0 : Math.floor(Math.log2(v) + 1e-15);
  // `log2` of a value just below a power of two rounds up to it.
  const top = v >= 1 && 2 ** bits > v ? bits - 1 : 2 ** (bits + 1) <= v ? bits + 1 : bits;
  const shift = Math.max(0, top - grouping);
  return shift * 2 ** grouping + Math.floor(v / 2 ** shift);
}

/** Lowest value of a bucket and its width. */
export function boundsOf(bucket: number, grouping: number): [number, number] {
  const shift = Math.max(0, Math.floor(bucket / 2 ** grouping) - 1);
  return [(bucket - shift * 2 ** grouping) * 2 ** shift, 2 ** shift];
}

/** The value that stands for a bucket. */
export function middleOf(bucket: number, grouping: number): number {
  const [low, width] = boundsOf(bucket, grouping);
  return low + Math.floor(width / 2);
}

/** A latency as far as it is known: a number, at least a number, or withheld. */
export interface Quantity {
  ns: number | null;
  atLeast: boolean;
}

const WITHHELD: Quantity = { ns: null, atLeast: false };

/** Requests ranked by latency, those that did not finish behind all others. */
export class Ranked {
  constructor(
    readonly finished: Histogram,
    readonly atLeast: Histogram,
  ) {}

  get count(): number {
    return this.finished.total + this.atLeast.total;
  }

  /** The quantile with what supports it: withheld where so few requests say nothing of it. */
  quantile(q: number): Quantity {
    const total = this.count;
    if (total < minimumCount(q)) return WITHHELD;
    const rank = rankOf(total, q);
    if (this.atLeast.total === 0 || this.finished.total > snapped(total * q)) {
      return { ns: this.finished.atRank(rank) ?? 0, atLeast: false };
    }
    return { ns: this.finished.atRank(rank, this.atLeast) ?? 0, atLeast: true };
  }

  mean(): Quantity {
    if (this.count === 0) return WITHHELD;
    const ns = ((this.finished.sumUs + this.atLeast.sumUs) * 1000) / this.count;
    return { ns, atLeast: this.atLeast.total > 0 };
  }

  /** How far latencies lie from their mean, each taken as the middle of its bucket; nothing where some did not end: it has no lower bound. */
  deviation(): Quantity {
    const n = this.finished.total;
    if (n === 0 || this.atLeast.total > 0) return WITHHELD;
    const all = [...this.finished.buckets()].map(({ low, high, count }): [number, number] => [(low + high) / 2, count]);
    const mean = all.reduce((sum, [at, count]) => sum + at * count, 0) / n;
    const squares = all.reduce((sum, [at, count]) => sum + count * (at - mean) ** 2, 0);
    return { ns: Math.sqrt(squares / n), atLeast: false };
  }

  max(): Quantity {
    if (this.count === 0) return WITHHELD;
    return { ns: Math.max(this.finished.max, this.atLeast.max), atLeast: this.atLeast.total > 0 };
  }
}

/** The rank of a quantile among so many values. */
export function rankOf(n: number, q: number): number {
  return Math.min(Math.max(Math.ceil(snapped(n * q)), 1), Math.max(n, 1));
}

/** The fewest values with which a quantile is shown at all: with fewer, all of them may well lie below it. */
export function minimumCount(q: number): number {
  return q <= 0 ? 1 : Math.ceil(Math.abs(Math.log(0.05) / Math.log(q)));
}

function snapped(x: number): number {
  const whole = Math.round(x);
  return Math.abs(x - whole) <= x * 1e-12 ? whole : x;
}

/** Reads the compact form of the JSON report (base64 of LEB128: min, max, sum, pairs, then gap and count of each). */
export function decoded(text: string | null | undefined): Numbers {
  if (!text) return [];
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  let at = 0;
  const next = (): number => {
    let value = 0;
    for (let scale = 1; at < bytes.length; scale *= 128) {
      const byte = bytes[at++];
      value += (byte & 127) * scale;
      if (byte < 128) break;
    }
    return value;
  };
  const [min, max, sum, pairs] = [next(), next(), next(), next()];
  if (pairs === 0) return [];
  const all = [min, max, Math.round(sum / 1000)];
  for (let i = 0; i < pairs; i++) all.push(next(), next());
  return all;
}
