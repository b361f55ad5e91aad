import { describe, expect, it } from 'vitest';
import { bucketOf, boundsOf, decoded, Histogram, middleOf, minimumCount, Ranked, rankOf } from '../../src/lib/histogram';

describe('buckets', () => {
  it('are those of the record', () => {
    // As `crates/report/src/formats/html/histogram.rs` has them.
    expect(bucketOf(5, 8)).toBe(5);
    expect(bucketOf(511, 8)).toBe(511);
    expect(bucketOf(512, 8)).toBe(512);
    expect(bucketOf(513, 8)).toBe(512);
    expect(bucketOf(700, 8)).toBe(606);
    expect(bucketOf(1_000_000, 8)).toBe(606 + 2698);
    expect(bucketOf(2 ** 20, 4)).toBe((16 << 4) + 16);
  });

  it('hold each value between their bounds, at every power of two', () => {
    for (const grouping of [4, 5, 8]) {
      for (let power = 0; power < 42; power++) {
        for (const value of [2 ** power - 1, 2 ** power, 2 ** power + 1]) {
          const [low, width] = boundsOf(bucketOf(value, grouping), grouping);
          expect(low <= value && value < low + width, `${value} at ${grouping}`).toBe(true);
          expect(width / Math.max(low, 1) <= 2 ** -grouping || width === 1).toBe(true);
        }
      }
    }
  });

  it('stand for their middle', () => {
    expect(middleOf(bucketOf(5, 8), 8)).toBe(5);
    expect(middleOf(512, 8)).toBe(513);
  });
});

const of = (...values: [number, number][]): Histogram => {
  const made = new Histogram(8);
  for (const [value, n] of values) made.add([value, value, (value * n) / 1000, bucketOf(value, 8), n]);
  return made;
};

describe('ranks', () => {
  it('are not misled by binary fractions', () => {
    expect(rankOf(100, 0.07)).toBe(7);
    expect(rankOf(1, 0.99)).toBe(1);
    expect([minimumCount(0.5), minimumCount(0.99), minimumCount(0.999)]).toEqual([5, 299, 2995]);
  });

  it('find the value, clamped to the ends', () => {
    const made = of([1_000_003, 99], [5_000_000, 1]);
    expect(made.atRank(1)).toBe(1_000_003 > middleOf(bucketOf(1_000_003, 8), 8) ? 1_000_003 : middleOf(bucketOf(1_000_003, 8), 8));
    expect(made.atRank(100)).toBe(5_000_000);
    expect(made.atRank(101)).toBeUndefined();
  });

  it('are withheld where too few requests support them', () => {
    expect(new Ranked(of([10, 298]), new Histogram(8)).quantile(0.99)).toEqual({ ns: null, atLeast: false });
    expect(new Ranked(of([10, 299]), new Histogram(8)).quantile(0.99)).toEqual({ ns: 10, atLeast: false });
  });

  it('place requests without a response behind all others, as lower bounds', () => {
    const ranked = new Ranked(of([10, 900]), of([400, 100]));
    expect(ranked.quantile(0.5)).toEqual({ ns: 10, atLeast: false });
    expect(ranked.quantile(0.95)).toEqual({ ns: 400, atLeast: true });
    expect(ranked.max()).toEqual({ ns: 400, atLeast: true });
    expect(ranked.mean().atLeast).toBe(true);
  });

  it('have a band where brunt may have delayed requests, and a grade by its width', () => {
    const delayed = (n: number, from: number, to: number): Ranked =>
      Ranked.empty(8).add([2000, to, 0, bucketOf(2000, 8), 1000 - n, bucketOf(to, 8) - bucketOf(2000, 8), n], [], [to, to, 0, bucketOf(to, 8), n], [from, from, 0, bucketOf(from, 8), n]);
    const wide = delayed(100, 2000, 9000);
    expect(wide.quantile(0.5)).toEqual({ ns: middleOf(bucketOf(2000, 8), 8), atLeast: false });
    const p99 = wide.quantile(0.99);
    expect(p99.grade).toBe('fail');
    expect(p99.band![0] / 2000).toBeCloseTo(1, 2);
    expect(p99.band![1]).toBe(p99.ns);
    expect(delayed(100, 7200, 9000).quantile(0.99).grade).toBe('warn');
    expect(delayed(100, 8500, 9000).quantile(0.99).grade).toBeUndefined();
    // Of the seconds of a run, those that brunt did not delay have none.
    expect(Ranked.empty(8).add([2000, 2000, 0, bucketOf(2000, 8), 1000]).quantile(0.99).band).toBeUndefined();
  });

  it('lie around their mean by their standard deviation, where all of them ended', () => {
    const two = new Histogram(8);
    for (const [at, n] of [[100, 3], [200, 1]]) two.add([at, at, 0, at, n]);
    // The mean is 125: 3 × 25² + 75² = 7,500 ÷ 4.
    expect(new Ranked(two, new Histogram(8)).deviation().ns).toBeCloseTo(Math.sqrt(1875), 6);
    expect(new Ranked(of([10, 900]), new Histogram(8)).deviation().ns).toBe(0);
    expect(new Ranked(of([10, 900]), of([400, 1])).deviation().ns).toBeNull();
    expect(new Ranked(new Histogram(8), new Histogram(8)).deviation().ns).toBeNull();
  });
});

it('merging is adding: no percentile is averaged', () => {
  const whole = new Histogram(8);
  for (const numbers of [[10, 10, 0, 10, 999], [1000, 1000, 0, bucketOf(1000, 8), 1]]) whole.add(numbers);
  expect(whole.total).toBe(1000);
  expect(new Ranked(whole, new Histogram(8)).quantile(0.99).ns).toBe(10);
});

it('reads the compact form of the report', () => {
  // min 5, max 700, sum 710, two pairs: (5, 2), (601, 1).
  const bytes = [5, 0xbc, 0x05, 0xc6, 0x05, 2, 5, 2, 0xd9, 0x04, 1];
  expect(decoded(btoa(String.fromCharCode(...bytes)))).toEqual([5, 700, 1, 5, 2, 601, 1]);
  expect(decoded(null)).toEqual([]);
  expect(decoded(btoa('\0\0\0\0'))).toEqual([]);
});
