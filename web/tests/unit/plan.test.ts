import { describe, expect, it } from 'vitest';
import { curvesOf, EMPTY, fieldOf, planOf } from '../../src/console/plan';

describe('the form of a new run', () => {
  it('is a plan file, whatever is typed into it', () => {
    expect(planOf(EMPTY)).toBe('urls: "http://127.0.0.1:8080/"\nusers: 10\nduration: "30s"\n');
    const form = { ...EMPTY, kind: 'rate' as const, level: '500', from: '100', warmup: '5s', method: 'POST', headers: 'A: b\n\n  C: "d": #e ', body: 'x: y\n- z', objectives: 'p99<50ms' };
    expect(planOf(form)).toBe(
      'urls: "http://127.0.0.1:8080/"\nstages:\n  - "30s:100/s..500/s"\nwarmup: "5s"\nmethod: POST\nheader:\n  - "A: b"\n  - "C: \\"d\\": #e"\ndata: "x: y\\n- z"\nobjectives:\n  - "p99<50ms"\n',
    );
    expect(planOf({ ...EMPTY, kind: 'rate', level: '300/min' })).toContain('rate: "300/min"');
  });
});

describe('the place of a complaint', () => {
  it('is a field of the form, where it has one', () => {
    expect(fieldOf('plan line 2 column 8 (users)')).toBe('users');
    expect(fieldOf('plan line 3 column 5 (stage)')).toBe('from0');
    expect(fieldOf('--header')).toBe('headers');
    expect(fieldOf('URL')).toBe('url');
    expect(fieldOf('plan line 9 column 1 (toString)')).toBeNull();
    expect(fieldOf(undefined)).toBeNull();
  });
});

describe('the load as planned', () => {
  const stage = (lasts: number, from: number, to: number): object => ({ lasts: lasts * 1e9, from, to });
  it('follows stages and begins with the warm-up', () => {
    const plan = { load: { model: 'open', stages: [stage(10, 5, 5), stage(10, 5, 50)] }, warmup: 2e9, duration: null };
    expect(curvesOf(plan)).toEqual({
      courses: [{ name: '', open: true, points: [{ at: -2, level: 5 }, { at: 0, level: 5 }, { at: 10, level: 5 }, { at: 10, level: 5 }, { at: 20, level: 50 }] }], warmup: 2, end: 20,
    });
  });
  it('ends with the duration, and shows a minute of what only a number of requests ends', () => {
    expect(curvesOf({ load: { model: 'closed', stages: [stage(100, 0, 100)] }, duration: 25e9 })?.courses[0].points[1]).toEqual({ at: 25, level: 25 });
    expect(curvesOf({ load: { model: 'closed', stages: [stage(8.64e6, 2, 2)] }, duration: null })?.end).toBe(60);
    expect(curvesOf(undefined)).toBeNull();
  });
  it('has a course for each scenario, from its own start to its own end', () => {
    const scenarios = [
      { name: 'shop', load: { model: 'open', stages: [stage(20, 0, 40)] }, start: 0, duration: 30e9 },
      { name: 'staff', load: { model: 'closed', stages: [stage(8.64e6, 3, 3)] }, start: 10e9, duration: null },
    ];
    expect(curvesOf({ load: { model: 'open', stages: [stage(30, 0, 40)] }, scenarios, warmup: 5e9 })).toEqual({
      courses: [
        { name: 'shop', open: true, points: [{ at: -5, level: 0 }, { at: 0, level: 0 }, { at: 20, level: 40 }, { at: 30, level: 40 }] },
        { name: 'staff', open: false, points: [{ at: 10, level: 3 }, { at: 30, level: 3 }] },
      ],
      warmup: 5, end: 30,
    });
  });
});
