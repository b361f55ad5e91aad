import { expect, it } from 'vitest';
import { bytes, clock, count, duration, onAxis, percent, plain, quantity, rate, ratesOf, shown } from '../../src/lib/format';

it('writes times as the terminal does', () => {
  const table: [number, string][] = [
    [0, '0 ns'], [999, '999 ns'], [1_000, '1.00 µs'], [456_000, '456 µs'], [999_499, '999 µs'], [999_500, '1.00 ms'], [1_230_000, '1.23 ms'],
    [9_994_000, '9.99 ms'], [9_996_000, '10.0 ms'], [99_960_000, '100 ms'], [2_100_000_000, '2.10 s'], [5_400_000_000_000, '5400 s'],
  ];
  for (const [ns, text] of table) expect(duration(ns)).toBe(text);
  expect(duration(null)).toBe('–');
  expect(quantity({ ns: 4e9, atLeast: true })).toBe('≥ 4.00 s');
  // One that cannot be trusted is shown as its band, one used with caution is not.
  const band: [number, number] = [2.1e6, 6.6e6];
  expect(quantity({ ns: 6.6e6, atLeast: false, band, grade: 'fail' })).toBe('2.10 … 6.60 ms');
  expect(quantity({ ns: 6.6e6, atLeast: false, band: [9e5, 6.6e6], grade: 'fail' })).toBe('900 µs … 6.60 ms');
  expect(quantity({ ns: 6.6e6, atLeast: false, band, grade: 'warn' })).toBe('6.60 ms');
});

it('writes counts, rates, shares and sizes as the terminal does', () => {
  expect([0, 7, 999, 1_000, 45_213, 1_234_567].map(count)).toEqual(['0', '7', '999', '1,000', '45,213', '1,234,567']);
  expect([0, 0.25, 12, 4998.3].map(rate)).toEqual(['0', '0.250', '12.0', '4,998']);
  const shares: [number, number, string][] = [
    [0, 0, '0 %'], [0, 10, '0 %'], [1, 1_000_000, '<0.01 %'], [1, 1_000, '0.10 %'], [123, 1_000, '12.3 %'], [9_998, 10_000, '99.98 %'], [999_999, 1_000_000, '>99.99 %'], [5, 5, '100 %'],
  ];
  for (const [part, whole, text] of shares) expect(percent(part, whole)).toBe(text);
  expect([512, 1_500, 262_000_000].map(bytes)).toEqual(['512 B', '1.50 kB', '262 MB']);
  expect(shown(null, 'ns')).toBe('–');
});

it('rounds the rates of parts so that they add up to the whole that is shown', () => {
  expect(ratesOf(308.8, [154.4, 154.4])).toEqual(['155', '154']);
  expect(ratesOf(3_001, [1_500.5, 1_500.5])).toEqual(['1,501', '1,500']);
  expect(ratesOf(10, [3.34, 3.33, 3.33])).toEqual(['3.4', '3.3', '3.3']);
  expect(ratesOf(308.8, [154.4])).toEqual(['154']);
  expect(ratesOf(300.4, [300, 0.4])).toEqual(['300', '0.400']);
});

it('writes moments as a clock has them', () => {
  expect([0, 65, 3723, -2].map((s) => clock(s))).toEqual(['0:00', '1:05', '1:02:03', '-0:02']);
  expect(clock(1.5, true)).toBe('0:01.5');
  expect([0, 2.5, 12_000, 3_400_000].map(plain)).toEqual(['0', '2.5', '12k', '3.4M']);
});

it('keeps every digit that counts on an axis', () => {
  expect([0, 10_000, 100_000, 150_000, 1_500, 2_000_000, 12_500].map((n) => onAxis(n, 'bytes'))).toEqual(['0', '10 kB', '100 kB', '150 kB', '1.5 kB', '2 MB', '12.5 kB']);
  expect([1e6, 1.5e6, 100e6, 2e9, 250].map((n) => onAxis(n, 'ns'))).toEqual(['1 ms', '1.5 ms', '100 ms', '2 s', '250 ns']);
  expect([100, 2.5].map((n) => onAxis(n, 'percent'))).toEqual(['100 %', '2.5 %']);
});
