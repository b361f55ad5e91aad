import { describe, expect, it } from 'vitest';
import { Run, type Head } from '../../src/lib/run.svelte';
import { curvesOf, missingOf, trustOf, verdictOf, type FleetRow } from '../../src/report/agents';

const head = (report: object, curves?: Head['curves']): Head => ({ hosts: {}, grain: { block_s: 1 }, report: { ended: 'partial', ...report }, curves }) as unknown as Head;
const second = (from: number): object => ({ s: [from * 1000, (from + 1) * 1000, 1, ...Array(18).fill(0)], q: [0, 0, 0] });

describe('agents', () => {
  it('are drawn block by block, with a gap where one told nothing', () => {
    const run = new Run(head({}, { names: ['eu-1', 'eu-2'], by_label: false, block_s: 2 }));
    run.add([0, 1, 2, 3, 4, 5].map(second));
    // Blocks of agents that were late come later.
    run.add([{ g: 4, r: [[0, 20, 0, 1e6, -3e6]] }, { g: 0, r: [[0, 10, 0, 1e6, 2e6], [1, 30, 1, 1e6, 0]] }]);
    const curves = curvesOf(run);
    expect(curves?.x).toEqual([0, 2, 4, 6]);
    expect(curves?.rate.map(({ label, values }) => [label, values])).toEqual([['eu-1', [5, null, 10]], ['eu-2', [15, null, null]]]);
    expect(curves?.latency[0].values).toEqual([2e6, null, 3e6]);
    expect(curves?.latency[0].bounds).toEqual([false, false, true]);
    expect(curves?.latency[1].values).toEqual([null, null, null]);
    const slow = new Run(run.head);
    slow.add([second(0), { g: 0, r: [[0, 10, 0, 1e6, 0]] }]);
    expect([curves?.quantile, curvesOf(slow)?.quantile, curvesOf(slow)?.latency[0].values[0]]).toEqual(['p99', 'p50', 1e6]);
    expect(curvesOf(new Run(head({})))).toBeNull();
  });
  it('that are missing are marked on every chart', () => {
    const run = new Run(head({ missing: [{ from_s: 6, to_s: 10, share: 0.25 }] }));
    expect(missingOf(run)).toEqual([
      { at: 6, to: 10, kind: 'notice', text: { en: '25.0 % of the load is missing', zh: '缺少 25.0 % 的负载' }, label: { en: '−25.0 %', zh: '−25.0 %' } },
    ]);
    expect(missingOf(new Run(head({})))).toEqual([]);
  });
  it('that told of no end are lost, unless the record ends there', () => {
    const row = { ended: 'cut_off', verdict: 'caution' } as FleetRow;
    expect(verdictOf(row, new Run(head({})))).toBe('lost');
    expect(verdictOf(row, new Run(head({ ended: 'cut_off' })))).toBe('caution');
    expect(verdictOf({ verdict: 'trusted' } as FleetRow, new Run(head({})))).toBe('trusted');
  });
  it('that were lost are counted by label', () => {
    const agents = [{ name: 'a', verdict: 'trusted', ended: 'completed' }, { name: 'b', verdict: 'not_trusted', ended: 'cut_off' }];
    const run = new Run(head({ agents }));
    const label = (...names: string[]): FleetRow => ({ label: 'eu', agents: names, verdict: 'not_trusted' }) as FleetRow;
    expect(trustOf(label('a', 'b'), run)).toEqual({ verdict: 'trusted', lost: 1 });
    expect(trustOf(label('b'), run)).toEqual({ verdict: 'lost', lost: 0 });
    expect(trustOf(label('a'), run)).toEqual({ verdict: 'trusted', lost: 0 });
    expect(trustOf(agents[1] as FleetRow, run)).toEqual({ verdict: 'lost', lost: 0 });
  });
});
