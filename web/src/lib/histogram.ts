// Histograms in the encoding of a run's lines, and the figures derived from them. Buckets, ranks and clamping are those
// of `crates/measure`, so that a figure of a span equals the one that the program would compute for these seconds
// alone.

/** `[min, max, sum µs, first bucket, count, then gap and count of each further one]`; empty if nothing was counted. */
export type Numbers = readonly number[];

/** Counts of times in nanoseconds. Each power of two is divided into 2^`grouping` buckets. */
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

  /** Adds the counts of a line. */
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

  /** Returns the value at a rank in nanoseconds, where rank 1 is the smallest; undefined if there is no such rank. */
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

  /** Returns a copy in which the counts of `old`, a subset, are replaced by those of `by`. */
  replaced(old: Histogram, by: Histogram): Histogram {
    const copy = new Histogram(this.grouping);
    let owed = 0;
    const take = (i: number): void => {
      const taken = Math.min(copy.counts[i], owed);
      copy.counts[i] -= taken;
      owed -= taken;
    };
    for (let i = 0; i < this.counts.length; i++) {
      copy.counts[i] = this.counts[i];
      owed += old.counts[i];
      take(i);
    }
    // A subset that was packed may have values one bucket above those it was taken from.
    for (let i = this.counts.length - 1; i >= 0 && owed > 0; i--) take(i);
    for (let i = 0; i < by.counts.length; i++) copy.counts[i] += by.counts[i];
    copy.total = this.total - old.total + by.total;
    copy.sumUs = this.sumUs - old.sumUs + by.sumUs;
    [copy.min, copy.max] = [Math.min(this.min, by.min), this.max];
    return copy;
  }

  /** Yields the non-empty buckets in ascending order. */
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

/** Returns the index of a value's bucket. */
export function bucketOf(value: number, grouping: number): number {
  const v = Math.min(Math.max(value, 0), TOP);
  const bits = v < 1 ? 0 : Math.floor(Math.log2(v) + 1e-15);
  // `log2` of a value just below a power of two rounds up to it.
  const top = v >= 1 && 2 ** bits > v ? bits - 1 : 2 ** (bits + 1) <= v ? bits + 1 : bits;
  const shift = Math.max(0, top - grouping);
  return shift * 2 ** grouping + Math.floor(v / 2 ** shift);
}

/** Returns the lowest value of a bucket and its width. */
export function boundsOf(bucket: number, grouping: number): [number, number] {
  const shift = Math.max(0, Math.floor(bucket / 2 ** grouping) - 1);
  return [(bucket - shift * 2 ** grouping) * 2 ** shift, 2 ** shift];
}

/** Returns the value that represents a bucket. */
export function middleOf(bucket: number, grouping: number): number {
  const [low, width] = boundsOf(bucket, grouping);
  return low + Math.floor(width / 2);
}

/** A latency as far as it is known: a value, a lower bound (`atLeast`), or withheld (null). */
export interface Quantity {
  ns: number | null;
  atLeast: boolean;
  /** The time without the delays that may be brunt's own, and as measured; absent if they are equal. */
  band?: [number, number];
  /** How far the time can be trusted; absent if without reserve. */
  grade?: 'warn' | 'fail';
}

const WITHHELD: Quantity = { ns: null, atLeast: false };

/** The requests that brunt itself may have delayed: their latency, and the same without the delays. */
export interface OwnPart {
  delayed: Histogram;
  undelayed: Histogram;
}

/** Widths of a band, as a share of its figure, from which the figure needs caution, and is not trusted. */
const CAUTION = 0.1;
const UNTRUSTED = 0.3;

/** Requests ranked by latency; unfinished ones rank above all others. */
export class Ranked {
  constructor(
    readonly finished: Histogram,
    readonly atLeast: Histogram,
    readonly own: OwnPart | null = null,
  ) {}

  /** Returns an empty latency, to which those of seconds and blocks are added. */
  static empty(grouping: number): Ranked {
    const none = (): Histogram => new Histogram(grouping);
    return new Ranked(none(), none(), { delayed: none(), undelayed: none() });
  }

  /** Adds the latency, lower bounds, and the own part of a second or a block. */
  add(finished?: Numbers, atLeast?: Numbers, delayed?: Numbers, undelayed?: Numbers): this {
    if (finished) this.finished.add(finished);
    if (atLeast) this.atLeast.add(atLeast);
    if (delayed) this.own?.delayed.add(delayed);
    if (undelayed) this.own?.undelayed.add(undelayed);
    return this;
  }

  /** Adds the band and the grade to a quantile of which a part is brunt's own, without an interval of confidence. */
  private banded(quantity: Quantity, q: number): Quantity {
    if (quantity.ns === null || quantity.atLeast || !this.own?.delayed.total) return quantity;
    const least = new Ranked(this.finished.replaced(this.own.delayed, this.own.undelayed), this.atLeast).quantile(q).ns ?? 0;
    const width = (quantity.ns - least) / Math.max(quantity.ns, 1);
    return width < CAUTION ? quantity : { ...quantity, band: [least, quantity.ns], grade: width < UNTRUSTED ? 'warn' : 'fail' };
  }

  get count(): number {
    return this.finished.total + this.atLeast.total;
  }

  /** Returns a quantile; withheld if there are too few requests. */
  quantile(q: number): Quantity {
    const total = this.count;
    if (total < minimumCount(q)) return WITHHELD;
    const rank = rankOf(total, q);
    if (this.atLeast.total === 0 || this.finished.total > snapped(total * q)) {
      return this.banded({ ns: this.finished.atRank(rank) ?? 0, atLeast: false }, q);
    }
    return { ns: this.finished.atRank(rank, this.atLeast) ?? 0, atLeast: true };
  }

  mean(): Quantity {
    if (this.count === 0) return WITHHELD;
    const ns = ((this.finished.sumUs + this.atLeast.sumUs) * 1000) / this.count;
    return { ns, atLeast: this.atLeast.total > 0 };
  }

  /**
   * Returns the standard deviation, with the middle of its bucket for each latency; withheld if some requests are
   * unfinished, because it then has no lower bound.
   */
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

/** Returns the rank of a quantile among `n` values. */
export function rankOf(n: number, q: number): number {
  return Math.min(Math.max(Math.ceil(snapped(n * q)), 1), Math.max(n, 1));
}

/**
 * Returns the minimum number of values for which a quantile is shown. With fewer, the probability that all of them lie
 * below it exceeds 5 %.
 */
export function minimumCount(q: number): number {
  return q <= 0 ? 1 : Math.ceil(Math.abs(Math.log(0.05) / Math.log(q)));
}

function snapped(x: number): number {
  const whole = Math.round(x);
  return Math.abs(x - whole) <= x * 1e-12 ? whole : x;
}

/**
 * Decodes the compact form of the JSON report (base64 of LEB128: min, max, sum, number of pairs, then gap and count of
 * each).
 */
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
