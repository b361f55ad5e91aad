import { describe, expect, it } from 'vitest';
import { fragment, looked } from '../../src/lib/address';

describe('an address', () => {
  it('shows what was looked at', () => {
    const all = { section: 'names', span: { from: -2, to: 30.5 }, lang: 'zh' as const, opened: { names: 3, iterations: 0 } };
    expect(fragment(all)).toBe('#names&span=-2-30.5&open=names-3&open=iterations-0&lang=zh');
    expect(looked(fragment(all))).toEqual(all);
    expect(looked('#verdict')).toEqual({ section: 'verdict', span: null, lang: null, opened: {} });
    expect(fragment(looked(''))).toBe('');
  });
  it('that nobody understands shows the beginning', () => {
    for (const hash of ['#&span=9-3', '#&span=a-b', '#&lang=fr', '#&open=3', '#%E0%A4%A']) {
      expect(looked(hash), hash).toEqual({ section: '', span: null, lang: null, opened: {} });
    }
  });
});
