import { describe, expect, it } from 'vitest';
import { levelOf, plannedLevel } from '../../src/console/level';
import { pausedWithin } from '../../src/lib/paused';
import { againstOf, calledOf, changeOf, figureOf, intervalOf, type Contrast } from '../../src/lib/contrast';
import { csv, markdown } from '../../src/lib/copy';
import { carried, grown, isCounted } from '../../src/lib/counters';
import { heatOf } from '../../src/lib/heat';
import { bucketOf, Histogram } from '../../src/lib/histogram';
import { say, t } from '../../src/lib/i18n';
import { Run, runsOf, SECOND, type Head } from '../../src/lib/run.svelte';
import { linearTicks, logTicks, niceMax, timeLabels, timeTicks } from '../../src/lib/scale';
import { checkRows } from '../../src/report/checks';
import { blocksOf, percentiles, percentilesOfSeconds, sections } from '../../src/report/figures';
import { burstsOf } from '../../src/report/marks';
import { failuresOf, sortKey } from '../../src/report/failing';
import { flowOverTime, iterationRows, scenarioRows } from '../../src/report/flows';
import { namedFigures, rowOverTime } from '../../src/report/named';
import { partRows, partsOverTime } from '../../src/report/parts';
import { apdex, edgeNear, rangesOf } from '../../src/report/ranges';
import { moments } from '../../src/report/scatter';
import { escaped, stepped, timeSeries } from '../../src/lib/svg';

describe('copies', () => {
  it('of tables hold what was said and nothing else', () => {
    expect(csv([['name', 'n'], ['=1+1', 5], ['a,"b"', null]])).toBe('name,n\n\'=1+1,5\n"a,""b""",\n');
    expect(markdown([['a', 'b'], ['x|y', '<b>']], [false, true])).toBe('| a | b |\n|---|---:|\n| x\\|y | \\<b> |\n');
  });
  it('of charts have texts of others as text', () => {
    expect(escaped('<script>"&\'')).toBe('&lt;script&gt;&quot;&amp;&#39;');
    const { svg } = timeSeries({
      title: '<b>', unit: 'ns', x: [0, 1, 2], lines: [{ key: 'a', label: '</svg>', color: 'p99', values: [1, 2] }], span: { from: 0, to: 2 }, log: false, marks: [],
      color: () => '#000', lang: 'en',
    });
    expect(svg).toContain('&lt;/svg&gt;');
    expect(svg.match(/<\/svg>/g)).toHaveLength(1);
  });
  it('draw each value as a level that holds to the next moment', () => {
    expect(stepped([0, 1, 2, 3], [5, null, 7], (x) => x * 10, (y) => y)).toBe('M0.0 5.0H10.0M20.0 7.0H30.0');
  });
});

describe('axes', () => {
  it('have ticks that people would have chosen', () => {
    expect(linearTicks(0, 10, 5)).toEqual([0, 2, 4, 6, 8, 10]);
    expect(logTicks(1, 1000, 4)).toEqual([1, 10, 100, 1000]);
    expect(timeTicks(0, 120, 6)).toEqual([0, 20, 40, 60, 80, 100, 120]);
    expect(timeLabels(timeTicks(0, 6, 16)).slice(0, 4)).toEqual(['0:00.0', '0:00.5', '0:01.0', '0:01.5']);
    expect(timeLabels([0, 20])).toEqual(['0:00', '0:20']);
    expect(niceMax(97)).toBe(100);
    expect(niceMax(0)).toBe(1);
  });
});

describe('sentences', () => {
  it('are filled in, and go with their counts', () => {
    const text = t('{n} {n|request|requests} of {what}', '{what} 的 {n} 个请求');
    expect(say(text, 'en', { n: 1, what: '{n}' })).toBe('1 request of {n}');
    expect(say(text, 'en', { n: '1,000', what: 'x' })).toBe('1,000 requests of x');
    expect(say(text, 'zh', { n: 2, what: 'x' })).toBe('x 的 2 个请求');
  });
});

describe('counters', () => {
  const host = (at: number[], value: (number | null)[], every = 1) => ({
    at: [0, 1, 2, 3, 4], coarse: every, counters: new Map([['Tcp.OutSegs', { name: 'Tcp.OutSegs', at, value, coarse: every > 1 }]]),
  });
  it('that count up are told by how much they grew', () => {
    expect(isCounted('Tcp.OutSegs', [])).toBe(true);
    expect(isCounted('Tcp.CurrEstab', [])).toBe(false);
    expect(grown(host([0, 1, 3], [5, 15, 20]), 'Tcp.OutSegs').slice(0, 4)).toEqual([10, 0, 5, 0]);
  });
  it('that began anew have grown by nobody knows what', () => {
    expect(grown(host([0, 1, 2], [5, 15, 3]), 'Tcp.OutSegs').slice(0, 2)).toEqual([10, null]);
  });
  it('that are told less often grow evenly in between', () => {
    expect(grown(host([0, 2, 4], [0, 10, 30], 2), 'Tcp.OutSegs').slice(0, 4)).toEqual([5, 5, 10, 10]);
  });
  it('are carried forward over readings that left them out', () => {
    expect(carried(host([0, 1, 2], [5, null, 7]), 'Tcp.OutSegs')).toEqual([5, 5, 7, 7, 7]);
  });
});

describe('a heatmap', () => {
  it('counts every request once, in whole buckets', () => {
    const one = (ns: number, n: number): number[] => [ns, ns, (ns * n) / 1000, bucketOf(ns, 8), n];
    const heat = heatOf([0, 1, 2], [1, 2, 3], [one(1e6, 10), one(8e6, 5), undefined], [undefined, one(1e9, 2), undefined], 8, { from: 0, to: 3 }, 100);
    expect(heat.counts.map((rows) => rows.reduce((sum, n) => sum + n, 0))).toEqual([10, 5, 0]);
    expect(heat.unanswered).toEqual([0, 2, 0]);
    const row = heat.counts[1].findIndex((n) => n > 0);
    expect(heat.levels[row] <= 8e6 && 8e6 < heat.levels[row + 1]).toBe(true);
  });
  it('puts seconds together where there are more than columns', () => {
    const from = Array.from({ length: 100 }, (_, i) => i);
    const heat = heatOf(from, from.map((f) => f + 1), from.map(() => [5, 5, 0, 5, 3]), [], 8, { from: 0, to: 100 }, 10);
    expect(heat.counts).toHaveLength(10);
    expect(heat.counts.reduce((sum, rows) => sum + rows.reduce((a, b) => a + b, 0), 0)).toBe(300);
  });
});

describe('differences', () => {
  const one: Contrast = { name: 'p50_us', more_is_better: false, matters: 0.05, is_share: false, latency: 'service', values: [1000, 1200], change: 1.2, interval: [1.1, 1.3], verdict: 'worse' };
  const share: Contrast = { ...one, name: 'failed_share', is_share: true, latency: null, values: [0, 0.005], change: 0.005, interval: [-0.00001, 0.01] };
  it('are drawn as they were worked out', () => {
    expect([figureOf(one, 0), figureOf(one, 1), changeOf(one, one.change, 'en'), intervalOf(one, 'en')]).toEqual(['1.00 ms', '1.20 ms', '+20.0 %', '+10.0 % … +30.0 %']);
    expect([figureOf(share, 1), changeOf(share, share.change, 'en'), intervalOf(share, 'zh')]).toEqual(['0.50 %', '+0.50 points', '0.00 个百分点 … +1.00 个百分点']);
    expect([figureOf({ ...one, values: [null, 5] }, 0), changeOf(one, null, 'en'), intervalOf({ ...one, interval: null }, 'en')]).toEqual(['–', '–', '–']);
    expect(changeOf({ ...one, name: 'throughput_per_s' }, 0.9, 'en')).toBe('−10.0 %');
    expect(intervalOf({ ...one, interval: [1.1, null] }, 'en')).toBe('+10.0 % … ∞');
    expect([calledOf(one, 'en'), calledOf({ ...one, latency: 'response' }, 'zh'), calledOf(share, 'en')]).toEqual(['p50 (service time)', 'p50（响应时间）', 'Failed']);
  });
  it('stand before the runs of a page', () => {
    const against = [{ trusted: true, differs: ['load'], figures: [one] }];
    const text = `${JSON.stringify({ compared: against })}\n{"run":1,"hosts":{}}\n`;
    expect(againstOf(text)).toEqual(against);
    expect(againstOf('{"run":1}\n')).toEqual([]);
    expect(runsOf(text)).toHaveLength(1);
  });
});

describe('lines', () => {
  const head = { run: 1, name: '', report: { mode: 'open' }, percentiles: [], only_holds: false, names: [], groups: [], flows: [null], live: false, grain: { buckets: 8, names: 5, block_s: 2, phases: 4, phases_s: 2, coarse: 5 }, hosts: {}, words: {} } as unknown as Head;
  const second = (from: number, part: number, due: number): object => ({
    s: SECOND.map((name) => (name === 'from' ? from * 1000 : name === 'to' ? from * 1000 + 1000 : name === 'part' ? part : name === 'due' || name === 'finished' ? due : 0)),
    q: [5, -7, 0], h: [5, 5, 0, 5, due],
  });
  it('make runs, each with its own', () => {
    const text = [head, second(0, 1, 3), { n: 0, r: [] }, { c: 'h', t: 0, v: { a: 1 }, o: { b: 2 } }, { later: 'kind' }, head, second(0, 1, 4)].map((line) => JSON.stringify(line)).join('\n');
    const runs = runsOf(text);
    expect(runs.map((run) => run.length)).toEqual([1, 1]);
    expect([...runs[0].hosts.get('h')!.values()].map(({ coarse }) => coarse)).toEqual([false, true]);
    expect(runs[0].blocks).toEqual([{ from: 0, to: 2, rows: [] }]);
  });
  it('of a span tell names that only the whole run is told of as unknown, not as zero', () => {
    const row = (name: string, scheduled: number): object => ({ name, scheduled, succeeded: scheduled, failed: 0, unfinished: 0, throughput_per_s: 1, payload: 0, status: {}, latency: {} });
    const run = new Run({ ...head, report: { ...head.report, by_name: [row('told', 3), row('untold', 2), row('never', 0)] } });
    run.add([second(0, 1, 5), second(1, 1, 0), { n: 0, r: [[0, 3, 3, 0, 0, 3, 0, [5, 5, 0, 5, 3], []]] }]);
    const told = (span: { from: number; to: number } | null): boolean[] => namedFigures(run, span).map((one) => one.told);
    expect(told(null)).toEqual([true, true, true]);
    expect(told({ from: 0, to: 1 })).toEqual([true, false, true]);
    expect(namedFigures(run, { from: 0, to: 1 })[0].scheduled).toBe(3);
    run.head = { ...run.head, names: ['of setup', 'told', 'untold', 'never'] };
    expect(namedFigures(run, null).map(({ name, index }) => [name, index])).toEqual([['told', 1], ['untold', 2], ['never', 3]]);
  });
  it('have what checks came to, of the whole run and of a part', () => {
    const run = new Run({ ...head, report: { ...head.report, checks: [{ name: 'has a token', passed: 7, failed: 2 }, { name: 'never', passed: 0, failed: 0 }] } });
    run.add([{ ...second(0, 1, 5), e: [[0, 4, 1]] }, { ...second(1, 1, 4), e: [[0, 3, 1], [9, 1, 1]] }]);
    expect(checkRows(run, null)[0]).toEqual({ name: 'has a token', passed: 7, failed: 2 });
    expect(checkRows(run, { from: 1, to: 2 })).toEqual([{ name: 'has a token', passed: 3, failed: 1 }, { name: 'never', passed: 0, failed: 0 }]);
    run.head = { ...run.head, live: true };
    expect(checkRows(run, null)[0]).toEqual({ name: 'has a token', passed: 7, failed: 2 });
  });
  it('are put together in blocks, and a rest at the end is none of its own', () => {
    const of = (lasts: number[], over: number): number[] => {
      // Index of the block of each second.
      const run = new Run(head);
      let at = 0;
      run.add(lasts.map((length) => ({ s: SECOND.map((name) => (name === 'from' ? at * 1000 : name === 'to' ? (at += length) * 1000 : name === 'part' ? 1 : 0)), q: [0, 0, 0], h: [] })));
      return blocksOf(run.columns, [0, lasts.length], over).flatMap(([first, end], block) => new Array(end - first).fill(block));
    };
    expect(of([1, 1, 1, 1, 0.3], 2)).toEqual([0, 0, 1, 1, 1]);
    expect(of([1, 1, 1, 1, 1, 0.3], 2)).toEqual([0, 0, 1, 1, 2, 2]);
    expect(of([1, 1, 1, 1, 1], 2)).toEqual([0, 0, 1, 1, 2]);
    expect(of([0.3], 5)).toEqual([0]);
    expect(of([1, 0.3], 1)).toEqual([0, 1]);
  });
  it('have failures by kind, phase and errno, codes, and when the window began', () => {
    const run = new Run(head);
    run.add([{ w: 7000 }, { ...second(0, 1, 3), f: [['reset', 'transfer', 'ECONNRESET', 2], ['reset', 'connect', null, 1], ['timeout', 'wait', null, 4]], k: { 200: 3 } }]);
    expect(run.began).toBe(7000);
    expect(run.failures).toEqual([{ reset: 3, timeout: 4 }]);
    expect(run.codes).toEqual([{ 200: 3 }]);
  });
  it('say of each sort of failure how often it came, when first and when last, and nothing of the warm-up', () => {
    const run = new Run(head);
    const failing = (from: number, part: number, n: number): object => ({ ...second(from, part, 1), f: [['reset', 'transfer', null, n]] });
    run.add([failing(-1, 0, 100), second(0, 1, 1), failing(1, 1, 2), second(2, 1, 1), failing(3, 1, 4), failing(4, 1, 8)]);
    const key = sortKey({ kind: 'reset', phase: 'transfer', errno: null });
    expect(failuresOf(run, null).get(key)).toEqual({ count: 14, first: 1, last: 4 });
    expect(failuresOf(run, { from: 2, to: 4 }).get(key)).toEqual({ count: 4, first: 3, last: 3 });
    expect(failuresOf(run, { from: 2, to: 3 }).size).toBe(0);
  });
  it('tell the parts of a span from blocks, and stretches without any as unknown', () => {
    const one = (ns: number, n: number): number[] => [ns, ns, (ns * n) / 1000, bucketOf(ns, 4), n];
    const run = new Run({ ...head, report: { mode: 'closed', latency: { service: null }, phases: { connect: null, first_byte: null } } });
    run.add([0, 1, 2, 3, 4, 5].map((at) => second(at, 1, 1)));
    run.add([{ p: 0, r: { first_byte: one(1e6, 10), connect: one(5e5, 2) } }, { p: 4, r: { first_byte: one(3e6, 10) } }]);
    const rows = partRows(run, { from: 0, to: 2 });
    expect(rows.map(({ key, count }) => [key, count])).toEqual([['first_byte', 10], ['connect', 2]]);
    expect(rows[0].quantile('mean').ns).toBe(1e6);
    const { x, lines } = partsOverTime(run, 'mean');
    expect(x).toEqual([0, 2, 4, 6]);
    expect(lines.find(({ key }) => key === 'first_byte')?.values).toEqual([1e6, null, 3e6]);
  });
  it('of a run that goes on are put together from what was told so far', () => {
    const none = { name: 'iteration', started: 0, dropped: 0, succeeded: 0, failed: 0, cut: 0, throughput_per_s: 0, duration: {}, active: {} };
    const report = { mode: 'open', by_name: [], iterations: [{ ...none, scenario: 'shop' }, { ...none, scenario: 'shop', name: 'basket' }, { ...none, scenario: 'staff' }], scenarios: [{ name: 'shop' }, { name: 'staff' }] };
    const run = new Run({ ...head, live: true, names: ['page'], flows: ['shop', 'staff'], report });
    run.add([{ ...second(0, 1, 5), x: [[4, 5, 5, 0, 3, 2, 0, 7, 4000], [2, 0, 0, 0, 0, 0, 0, 0, 1000]] }, second(1, 1, 0)]);
    run.add([{ n: 0, r: [[0, 5, 5, 0, 0, 5, 0, [5, 5, 0, 5, 5], [], 0, 6], [1, 10, 2, 0, 1, 2, 0, [9, 9, 0, 9, 2], [], 7], [7, 5, 5, 0, 0, 4, 0, [5, 5, 0, 5, 5], [], 0]] }]);
    expect(namedFigures(run, null)[0]).toMatchObject({ scheduled: 5, fromCache: 6, told: true });
    const [shop, staff] = scenarioRows(run, null);
    expect(shop).toMatchObject({ name: 'shop', scheduled: 5, users: 2, perS: 2, iterations: { started: 3, dropped: 7, succeeded: 2, cut: 1 } });
    expect(staff).toMatchObject({ name: 'staff', scheduled: 0, iterations: { scenario: 'staff', group: null, started: 0 } });
    expect(iterationRows(run, null).map(({ scenario, group }) => [scenario, group])).toEqual([['shop', null], ['shop', 'basket'], ['staff', null]]);
    expect(flowOverTime(run, 0, 'dropped', true)).toEqual([7, null]);
    expect(rowOverTime(run, 1).dropped).toEqual([3.5]);
  });
  it('turns where the load of any scenario does', () => {
    const s = 1e9;
    const plan = {
      load: { stages: [{ lasts: 20 * s }] },
      scenarios: [{ load: { stages: [{ lasts: 5 * s }, { lasts: 5 * s }] }, start: 3 * s, duration: null }, { load: { stages: [] }, start: 0, duration: 12 * s }],
    };
    const run = new Run({ ...head, report: { ...head.report, plan } });
    expect(run.turns).toEqual([3, 8, 12, 13, 20]);
  });
  it('of a span count the seconds that lie in it, and no warm-up', () => {
    const run = new Run(head);
    run.add([second(-1, 0, 100), second(0, 1, 3), second(1, 1, 4), second(2, 2, 5)]);
    expect(run.sum('due', null)).toBe(12);
    expect(run.sum('due', { from: 0, to: 2 })).toBe(7);
    expect(run.windowLength(null)).toBe(2);
    expect(run.ranked({ from: 1, to: 3 }).count).toBe(9);
    expect(run.extent).toEqual({ from: -1, to: 3 });
  });
});

describe('percentiles over time', () => {
  const head = { report: { mode: 'open' }, hosts: {}, grain: { buckets: 8 } } as unknown as Head;
  /** Seconds in which so many requests took so long. */
  const run = (report: object, of: [n: number, ns: number][]): Run => {
    const made = new Run({ ...head, report: { mode: 'open', ...report } } as unknown as Head);
    made.add(of.map(([n, ns], i) => ({
      s: SECOND.map((name) => (name === 'from' ? i * 1000 : name === 'to' ? i * 1000 + 1000 : name === 'part' ? 1 : name === 'finished' ? n : 0)),
      q: [5, 59, 299].map((least) => (n >= least ? ns : 0)), h: n ? [ns, ns, 0, bucketOf(ns, 8), n] : [],
    })));
    return made;
  };
  const stage = (lasts: number): object => ({ lasts: lasts * 1e9, from: 1, to: 1 });
  it('end where the load changes, have the same blocks, and leave a gap where there is too little', () => {
    const slow: [number, number][] = Array.from({ length: 15 }, () => [10, 5e6]);
    const fast: [number, number][] = Array.from({ length: 15 }, () => [400, 5e7]);
    const { blocks, lines, over } = percentiles(run({ plan: { load: { stages: [stage(15), stage(15)] } } }, [...slow, ...fast]));
    expect(new Set(blocks.slice(0, 15)).size).toBe(1);
    expect(blocks[14]).not.toBe(blocks[15]);
    expect(new Set(blocks.slice(15)).size).toBe(15);
    expect(over).toEqual([1, 15]);
    const near = (value: number | null, ns: number): void => expect(Math.abs((value ?? 0) - ns) / ns).toBeLessThan(0.004);
    for (const { key, values } of lines) {
      if (key === 'p99') expect(values[3]).toBeNull();
      else near(values[3], 5e6);
      near(values[20], 5e7);
    }
  });
  it('do not reach beyond the part that is looked at', () => {
    const made = run({}, Array.from({ length: 20 }, (_, i) => [100, i < 7 ? 1e6 : 9e6]));
    const { blocks, lines } = percentiles(made, { from: 0, to: 7 });
    expect(blocks[6]).not.toBe(blocks[7]);
    expect(Math.max(...lines[2].values.slice(0, 7).map((ns) => ns ?? 0))).toBeLessThan(1.1e6);
    expect(sections(made, { from: 3, to: 7 })).toEqual([[0, 3], [3, 7], [7, 20]]);
  });
  it('leave a second in which the load changed alone', () => {
    const changes = [{ at_ns: 2.4e9, change: 'pause' }, { at_ns: 5e9, change: 'resume' }];
    expect(sections(run({ changes }, Array.from({ length: 8 }, () => [1, 1e6])), null)).toEqual([[0, 2], [2, 3], [3, 5], [5, 8]]);
  });
  it('of a part of a run that comes in steps are those of its seconds', () => {
    const made = new Run({ ...head, grain: { buckets: 8, second_s: 5 } } as unknown as Head);
    const detail = (i: number): number[] => [i * 1000, i * 1000 + 1000, 400, 400, 399, 1, 0, 0, 10, 20, i === 2 ? -50 : 30];
    const step = (at: number): object => ({ s: SECOND.map((name) => (name === 'from' ? at * 1000 : name === 'to' ? at * 1000 + 5000 : name === 'part' ? 1 : 0)), q: [1, 1, 1], h: [] });
    made.add([0, 5].flatMap((at) => [step(at), { z: [0, 1, 2, 3, 4].map((i) => detail(at + i)) }]));
    expect(made.detailOf(null)).toBeNull();
    const close = made.detailOf({ from: 0, to: 5 })!;
    expect(close.columns.from).toEqual([0, 1, 2, 3, 4]);
    expect(percentilesOfSeconds(close)![2]).toEqual({ key: 'p99', values: [3e4, 3e4, 5e4, 3e4, 3e4], bounds: [false, false, true, false, false] });
    expect(percentilesOfSeconds({ ...close, quantiles: close.quantiles.map(([p50]) => [p50, 0, 0]) })).toBeNull();
  });
});

describe('a burst of failures', () => {
  const run = (failed: number[]): Run => {
    const made = new Run({ report: { mode: 'open' }, hosts: {}, grain: { buckets: 8 } } as unknown as Head);
    made.add(failed.map((n, i) => ({ s: SECOND.map((name) => (name === 'from' ? i * 1000 : name === 'to' ? i * 1000 + 1000 : name === 'part' ? 1 : name === 'finished' ? 100 - n : name === 'failed' ? n : 0)), q: [0, 0, 0], h: [] })));
    return made;
  };
  it('is marked from its first second to its last, and usual failures are not', () => {
    const found = burstsOf(run([0, 3, 50, 30, 0, 0, 0, 0, 20, 0]));
    expect(found.map(({ at, to, label }) => [at, to, label?.en])).toEqual([[2, 4, '80 failed'], [8, 9, '20 failed']]);
    expect(burstsOf(run([50, 50, 50, 0]))).toEqual([]);
  });
});

describe('ranges', () => {
  it('lie between edges of buckets and count every request once', () => {
    const all = new Histogram(8);
    for (const [ns, n] of [[499e6, 10], [501e6, 3], [1499e6, 4], [1506e6, 5]]) all.add([ns, ns, 0, bucketOf(ns, 8), n]);
    const ranges = rangesOf(all, 500e6, 1500e6);
    expect([ranges.below, ranges.between, ranges.above]).toEqual([10, 7, 5]);
    for (const [edge, asked] of [[ranges.edges[0], 500e6], [ranges.edges[1], 1500e6]]) {
      expect(Math.abs(edge - asked) / asked).toBeLessThan(0.002);
      expect(bucketOf(edge, 8)).toBe(bucketOf(edge - 1, 8) + 1);
    }
    expect(edgeNear(1, 8)).toBe(1);
    expect(apdex(ranges, 24)).toBeCloseTo(13.5 / 24, 12);
    expect(apdex(ranges, 0)).toBeNull();
  });
});

describe('latency against the rate', () => {
  it('has a point for each second that has the percentile, and none of the warm-up', () => {
    const second = (from: number, part: number, sent: number, p95: number): object => ({
      s: SECOND.map((name) => (name === 'from' ? from * 1000 : name === 'to' ? from * 1000 + 1000 : name === 'part' ? part : name === 'sent' ? sent : 0)), q: [1, p95, 1], h: [5, 5, 0, 5, sent],
    });
    const run = new Run({ report: { mode: 'open' }, hosts: {}, grain: { buckets: 8 } } as unknown as Head);
    run.add([second(-1, 0, 500, 9e6), second(0, 1, 300, 1e6), second(1, 1, 400, -4e6)]);
    expect(moments(run, 'p95', null)).toEqual([{ from: 0, to: 1, rate: 300, value: 1e6, atLeast: false }, { from: 1, to: 2, rate: 400, value: 4e6, atLeast: true }]);
    expect(moments(run, 'p95', { from: 1, to: 2 })).toHaveLength(1);
  });
});

describe('a load that is typed', () => {
  it('is what plans take', () => {
    for (const [text, rate] of [['150', 150], ['150/s', 150], ['9000/min', 150], ['1k', 1000], ['1.5k/s', 1500], ['1_000 / s', 1000], ['0.5/s', 0.5], ['2M', 2e6]] as const) {
      expect(levelOf(text, true), text).toEqual({ rate });
    }
    for (const [text, users] of [['50', 50], ['1k', 1000], ['1_000', 1000]] as const) expect(levelOf(text, false), text).toEqual({ users });
  });
  it('is planned by stages, whatever a second counts', () => {
    const stages = [{ lasts: 10e9, from: 50, to: 50 }, { lasts: 10e9, from: 100, to: 200 }];
    expect([-1, 0, 9.9, 10, 15, 99].map((at) => plannedLevel(stages, at))).toEqual([50, 50, 50, 100, 150, 200]);
    expect(plannedLevel([], 1)).toBeNull();
  });
  it('or nothing', () => {
    for (const text of ['', 'fast', '-5', '0', '1/day', '1e5', '1.2.3', 'NaN', '150/s/s', '._', '5 users']) expect(levelOf(text, true), text).toBeNull();
    for (const text of ['1.5', '50/s', '0']) expect(levelOf(text, false), text).toBeNull();
  });
});

describe('a load that rests', () => {
  it('rests within the span that is looked at', () => {
    const changes = [{ at_ns: 2e9, change: 'pause' }, { at_ns: 3e9, change: { rate: 5 } }, { at_ns: 5e9, change: 'resume' }, { at_ns: 8e9, change: 'pause' }, { at_ns: 9e9, change: 'drain' }];
    expect(pausedWithin(changes, { from: 0, to: 10 })).toBe(5);
    expect(pausedWithin(changes, { from: 4, to: 6 })).toBe(1);
    expect(pausedWithin([], { from: 0, to: 10 })).toBe(0);
  });
});
