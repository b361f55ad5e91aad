// Results of checks by name: for a whole run, taken from the report; for a span or a run in progress, computed from its
// seconds.

import type { Run, Span } from '../lib/run.svelte';
import { isPart } from './named';

export interface CheckRow {
  name: string;
  passed: number;
  failed: number;
}

export function checkRows(run: Run, span: Span | null): CheckRow[] {
  const told = (run.head.report.checks ?? []) as CheckRow[];
  if (!isPart(run, span)) return told;
  const rows = told.map(({ name }): CheckRow => ({ name, passed: 0, failed: 0 }));
  for (const second of run.checks.slice(...run.within(span))) {
    for (const [check, passed, failed] of second) {
      const row = rows[check];
      if (row) [row.passed, row.failed] = [row.passed + passed, row.failed + failed];
    }
  }
  return rows;
}
