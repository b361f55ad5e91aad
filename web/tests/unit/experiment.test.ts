import { describe, expect, it } from 'vitest';
import { commandLine } from '../../src/lib/command';
import { bandScale, scaleOf, shownOn, tickLabels } from '../../src/experiment/axis';
import { cellsOf, numberOf } from '../../src/experiment/cells';
import { cellTexts, layoutOf, pathOf, pointable, shares, stylesOf, widthOf, wrapped } from '../../src/experiment/layout';
import { experimentOf, grouped, type Axis, type AxisUnit, type Chart, type Point, type Series, type Tone } from '../../src/experiment/page';

const axis = (unit: AxisUnit, log = false): Axis => ({ label: unit, unit, log });
const series = (kind: Series['kind'], tone: Tone, points: Partial<Point>[]): Series => ({ name: `${kind} ${tone}`, kind, tone, points: points.map((one) => ({ x: 0, y: 0, label: 'x', ...one })) });
const labels = (of: Axis, values: number[], reach: 'zero' | 'fitting' | 'values' = 'fitting', about = 6): string[] => scaleOf(of, values, reach, about).ticks.map(({ label }) => label);

describe('axes of an experiment', () => {
  it('show values with their unit', () => {
    const table: [AxisUnit, number, string][] = [
      ['users', 1200, '1,200'], ['per_second', 12_074.3, '12,074/s'], ['micros', 1234, '1.23 ms'], ['share', -0.021, '-2.10 %'], ['share', 1.5, '150 %'], ['elapsed', 65, '1:05'], ['number', 3, '3'],
    ];
    for (const [unit, value, text] of table) expect(shownOn(axis(unit), value)).toBe(text);
    expect(shownOn({ ...axis('names'), names: ['a', 'b'] }, 1)).toBe('b');
    expect(shownOn(axis('micros'), null)).toBe('–');
    expect(shownOn(axis('moment'), new Date(2026, 10, 28, 1, 29).getTime())).toBe('2026-11-28 01:29');
  });

  it('begin at zero unless what differs would be lost there', () => {
    expect(labels(axis('per_second'), [100, 900])).toEqual(['0', '200/s', '400/s', '600/s', '800/s', '1000/s']);
    expect(labels(axis('micros'), [11_000, 12_000, 13_000], 'fitting', 4)).toEqual(['11 ms', '12 ms', '13 ms']);
    expect(labels(axis('micros'), [11_000, 13_000], 'zero', 4)[0]).toBe('0');
    expect(labels(axis('share'), [-0.03, 0.16], 'fitting', 5)).toEqual(['0 %', '5 %', '10 %', '15 %']);
  });

  it('hold what is less than zero', () => {
    const { place } = scaleOf(axis('micros'), [-20, 1840], 'zero', 5);
    expect(place(-20)).toBeGreaterThan(0);
    expect(place(0)).toBeGreaterThan(place(-20));
    expect(place(1840)).toBeLessThan(1);
    expect(scaleOf(axis('micros'), [-20, -5], 'zero', 5).place(0)).toBe(1);
  });

  it('have ticks at the loads that were chosen, and none at half a user', () => {
    expect(labels(axis('users', true), [1, 2, 4, 8, 16], 'fitting', 8)).toEqual(['1', '2', '4', '8', '16']);
    expect(labels(axis('users', true), Array.from({ length: 40 }, (_, i) => i + 1), 'fitting', 6)).toEqual(['1', '2', '5', '10', '20']);
    expect(labels(axis('per_second', true), [20, 40], 'fitting', 5)).toEqual(['20/s', '25/s', '30/s', '35/s', '40/s']);
    expect(labels(axis('users'), [1, 2, 3])).toEqual(['0', '1', '2', '3', '4']);
    expect(labels(axis('number'), [1, 2, 3, 4, 5, 6], 'values')).toEqual(['1', '2', '3', '4', '5', '6']);
  });

  it('keep values that a logarithm does not have at their lower end', () => {
    const { place } = scaleOf(axis('per_second', true), [0, 1000, 4000], 'fitting', 6);
    expect(place(0)).toBe(0);
    expect(place(2000)).toBeCloseTo((place(1000) + place(4000)) / 2, 9);
  });

  it('have a place for a single value, and for none', () => {
    for (const unit of ['users', 'per_second', 'micros', 'share', 'elapsed', 'moment', 'number'] as const) {
      for (const log of [false, true]) {
        const at = scaleOf(axis(unit, log), [7], 'fitting', 5).place(7);
        expect(at >= 0 && at <= 1, `${unit} ${log}: ${at}`).toBe(true);
      }
      expect(Number.isFinite(scaleOf(axis(unit), [], 'fitting', 5).place(0))).toBe(true);
    }
    expect(scaleOf(axis('number'), [3], 'values', 5).place(3)).toBe(0.5);
  });

  it('of moments begin hours, days and months', () => {
    const at = (...parts: [number, number, number?, number?, number?]): number => new Date(...(parts as [number, number])).getTime();
    expect(labels(axis('moment'), [at(2026, 10, 27, 22), at(2026, 10, 28, 4)], 'fitting', 6)).toEqual(['2026-11-27 22:00', '11-28 00:00', '02:00', '04:00']);
    expect(labels(axis('moment'), [at(2026, 11, 30), at(2027, 0, 3)], 'fitting', 5)).toEqual(['2026-12-30', '12-31', '2027-01-01', '01-02', '01-03']);
    expect(labels(axis('moment'), [at(2025, 10, 20), at(2026, 10, 25)], 'fitting', 7)).toEqual(['2026-01-01', '03-01', '05-01', '07-01', '09-01', '11-01']);
    expect(labels(axis('moment'), [at(2019, 3, 2), at(2026, 3, 2)], 'fitting', 4)).toEqual(['2020-01-01', '2022-01-01', '2024-01-01', '2026-01-01']);
  });

  it('of names and cells have a band for each', () => {
    const names = bandScale({ ...axis('names'), names: ['a', 'b', 'c', 'd'] }, [0, 2]);
    expect(names.band).toBe(0.25);
    expect(names.place(2)).toBe(0.625);
    expect(bandScale(axis('users'), [64, 1, 8, 8]).ticks.map(({ label }) => label)).toEqual(['1', '8', '64']);
    expect(tickLabels(axis('per_second'), [0, 12_500])).toEqual(['0', '12.5k/s']);
  });
});

describe('layout of charts', () => {
  const chart = (all: Series[], x = axis('users'), y = axis('per_second')): Chart => ({ title: 't', x, y, series: all });
  const line = series('line', 'plain', [{ x: 1, y: 100 }, { x: 2, y: 180, interval: [170, null] }, { x: 4, y: 240 }]);

  it('keeps everything within the drawing, however narrow', () => {
    for (const width of [120, 300, 375, 1200]) {
      const laid = layoutOf(chart([line, series('bars', 'bad', [{ x: 1, y: -20, interval: [null, 5] }])]), width);
      for (const { x, y, low, high } of laid.series.flatMap(({ dots }) => dots)) {
        expect(x >= laid.left && x <= laid.right, `${x} of ${width}`).toBe(true);
        for (const at of [y, low ?? y, high ?? y]) expect(at >= laid.top && at <= laid.bottom, `${at} of ${width}`).toBe(true);
      }
      expect(laid.right).toBeLessThanOrEqual(Math.max(width, laid.left + 40));
      expect(laid.bottom).toBeLessThan(laid.height);
    }
  });

  it('is lower on paper, where three find room on a sheet of 273 mm', () => {
    const { height } = layoutOf(chart([line, { ...line, name: 'b' }]), 700, true);
    expect(3 * (height + 28 + 12)).toBeLessThan((273 / 25.4) * 96);
    expect(height).toBeLessThan(layoutOf(chart([line, { ...line, name: 'b' }]), 700).height);
  });

  it('sets bars and points of the same name side by side, and no others', () => {
    const names = { ...axis('names'), names: ['a', 'b'] };
    const laid = layoutOf(chart([series('bars', 'plain', [{ x: 0, y: 1 }, { x: 1, y: 2 }]), series('bars', 'plain', [{ x: 0, y: 3 }])], names), 600);
    const [first, second] = laid.series.map(({ dots }) => dots.map(({ x }) => x));
    expect(second[0] - first[0]).toBeGreaterThanOrEqual(laid.bar);
    expect(first[1]).toBeCloseTo(laid.xLabels[1].at, 6);
  });

  it('has labels that do not run into each other', () => {
    const laid = layoutOf(chart([series('points', 'plain', Array.from({ length: 30 }, (_, i) => ({ x: 10 ** (i / 5), y: i })))], axis('per_second', true)), 375);
    laid.xLabels.slice(1).forEach(({ at, lines }, i) => {
      const before = laid.xLabels[i];
      expect(at - widthOf(lines[0]) / 2).toBeGreaterThan(before.at + widthOf(before.lines[0]) / 2);
    });
    expect(laid.xLabels.length).toBeGreaterThan(2);
  });

  it('names series where there are several, and meanings always', () => {
    expect(layoutOf(chart([line]), 600).keys).toEqual([]);
    expect(layoutOf(chart([line, { ...line, name: 'b' }]), 600).keys.map(({ name }) => name)).toEqual(['line plain', 'b']);
    expect(layoutOf(chart([{ ...line, name: '' }, series('steps', 'plain', [])]), 600).keys).toEqual([]);
    const fitted = layoutOf(chart([{ ...line, name: '' }, series('line', 'plain', [{ x: 1, y: 2, label: '' }, { x: 3, y: 4, label: '' }])]), 600).keys;
    expect(fitted.map(({ name, isSigned }) => [name, isSigned])).toEqual([['per_second', true], ['line plain', false]]);
    expect(layoutOf(chart([series('cells', 'plain', [{ value: 1 }]), series('cells', 'doubt', [{ x: 1, value: 2 }])]), 600).keys.map(({ name }) => name)).toEqual(['cells doubt']);
  });

  it('tells tones apart by shape, too', () => {
    const shapes = (tones: Tone[]): string[] => stylesOf(tones.map((tone) => series('points', tone, []))).map(({ shape }) => shape);
    expect(shapes(['good', 'bad', 'doubt', 'plain', 'plain'])).toEqual(['circle', 'cross', 'hollow', 'square', 'triangle']);
    expect(shapes(['plain', 'plain'])).toEqual(['circle', 'square']);
  });

  it('reads cells from above, and fills them', () => {
    const names = { ...axis('names'), names: ['a', 'b'] };
    const laid = layoutOf(chart([series('cells', 'plain', [{ x: 0, y: 0, value: 1 }, { x: 1, y: 1, value: 5 }])], names, names), 600);
    const [a, b] = laid.series[0].dots;
    expect([b.x - a.x, b.y - a.y]).toEqual(laid.cell);
  });

  it('leaves out points without a number, and guides without words when pointing', () => {
    const laid = layoutOf(chart([series('line', 'plain', [{ x: 3, y: 5 }, { x: 2, y: NaN }, { x: 1, y: 4, label: '' }])]), 400);
    expect(laid.series[0].dots).toHaveLength(2);
    expect(pointable(laid.series).map(({ point }) => point.x)).toEqual([3]);
  });

  it('holds steps until the next point and to the end', () => {
    const laid = layoutOf(chart([series('steps', 'good', [{ x: 0, y: 0 }, { x: 10, y: 10 }])]), 400);
    const [a, b] = laid.series[0].dots;
    expect(pathOf(laid.series[0], 390)).toBe(`M${a.x.toFixed(1)} ${a.y.toFixed(1)}H${b.x.toFixed(1)}V${b.y.toFixed(1)}H390.0`);
  });

  it('breaks names where they can be broken', () => {
    expect(wrapped('auth+redis-session-cache', 90, 3)).toEqual(['auth+redis-', 'session-cache']);
    expect(wrapped('short', 90, 3)).toEqual(['short']);
    expect(wrapped('unbreakablelongname', 50, 2)[0]).toMatch(/…$/);
    expect(wrapped('a b c d e f g h', 20, 2)).toHaveLength(2);
    for (const one of wrapped('推荐服务与会话缓存', 40, 3)) expect(widthOf(one)).toBeLessThanOrEqual(40);
  });

  it('colours cells by value, by logarithm if they are far apart, and writes them in if all fit', () => {
    expect([10, 15, 20].map(shares([10, 20]))).toEqual([0, 0.5, 1]);
    expect(shares([1, 100, 10000])(100)).toBeCloseTo(0.5, 9);
    expect(shares([5])(5)).toBe(0.5);
    expect(cellTexts([12_345, 100], 60)).toEqual(['12,345', '100']);
    expect(cellTexts([123_456, 100], 32)).toEqual(['123k', '100']);
    expect(cellTexts([123_456, 100], 20)).toBeNull();
    expect(cellTexts([1200, 100], 60, ['1.20 ms', '100 µs'])).toEqual(['1.20 ms', '100 µs']);
    expect(cellTexts([1200, 100], 30, ['1.20 ms', '100 µs'])).toEqual(['1,200', '100']);
    expect(cellTexts([1200, 100], 60, ['1.20 ms', undefined])).toEqual(['1,200', '100']);
  });
});

describe('tables of an experiment', () => {
  it('know numbers with their units', () => {
    const table: [string, number | null][] = [
      ['12,345/s', 12_345], ['≥ 1.20 ms', 0.0012], ['900 µs', 0.0009], ['+3.5 %', 0.035], ['−2.1 %', -0.021], ['-158 ns', -158e-9], ['2.10 … 6.60 ms', 0.0021], ['0.0e0', 0], ['64', 64],
      ['kept', null], ['http1, no-keepalive', null], ['', null], ['2026-08-07', null],
    ];
    for (const [text, value] of table) {
      if (value === null) expect(numberOf(text), text).toBeNull();
      else expect(numberOf(text), text).toBeCloseTo(value, 12);
    }
  });

  it('have numbers on the right, and sort by them', () => {
    const rows = [['rung', 'alone', 'keeps', 'since', 'cpu'], ['empty', '900 µs', '–', '2026-08-07', '–'], ['mysql', '1.20 ms', '17 %', '2026-08-08', '–']];
    const cells = cellsOf(rows);
    expect(cells.map(({ right }) => right)).toEqual([false, true, true, false, true]);
    expect(rows.slice(1).map((row) => cells[1].value!(row))).toEqual([0.0009, 0.0012]);
    expect(cells[2].value!(rows[1])).toBeNull();
    expect(cellsOf([['a', 'b']]).map(({ right }) => right)).toEqual([false, false]);
  });
});

describe('page of an experiment', () => {
  it('has charts that follow each other side by side', () => {
    const chart = { block: 'chart' as const, title: 't', x: axis('users'), y: axis('micros'), series: [] };
    const groups = grouped([{ block: 'answer', tone: 'good', sentence: 'x' }, chart, chart, { block: 'table', caption: null, rows: [] }, chart]);
    expect(groups.map(({ charts }) => charts?.length ?? null)).toEqual([null, 2, null, 1]);
  });
  it('says so where its line is none', () => {
    expect(() => experimentOf('{"run":{}}')).toThrow();
    expect(() => experimentOf('')).toThrow();
  });
  it('shows its command as a shell would take it back', () => {
    expect(commandLine(['brunt', 'find', 'p99<50ms', "it's", 'http://a/?b=c&d'])).toBe("brunt find 'p99<50ms' 'it'\\''s' 'http://a/?b=c&d'");
  });
});
