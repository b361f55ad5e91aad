// Events of a run as marks on every time axis: stages of the load, changes of load, notices, and the beginnings of
// warm-up and drain.

import { say } from '../lib/i18n';
import { DRAIN, WARMUP, type Mark, type Run } from '../lib/run.svelte';
import { rate } from '../lib/format';
import { W } from '../lib/words';

interface Stage {
  lasts: number;
  from: number;
  to: number;
}

const both = (text: { en: string; zh: string }, facts: Record<string, string | number> = {}): { en: string; zh: string } => ({
  en: say(text, 'en', facts),
  zh: say(text, 'zh', facts),
});

/** Returns all marks, ordered by time. */
export function marksOf(run: Run): Mark[] {
  const { report, words } = run.head;
  const marks: Mark[] = [];
  const stages: Stage[] = report.plan?.load?.stages ?? [];
  // The warm-up precedes the first stage, and times are relative to the start of the window.
  let at = 0;
  if (stages.length > 1) {
    stages.forEach((stage, i) => {
      marks.push({ at, kind: 'stage', text: both(W.stageBegins, { n: i + 1, from: rate(stage.from), to: rate(stage.to) }) });
      at += stage.lasts / 1e9;
    });
  }
  const changes: { at_ns: number }[] = report.changes ?? [];
  changes.forEach((change, i) => {
    marks.push({ at: change.at_ns / 1e9, kind: 'change', text: { en: words.en.changes[i] ?? '', zh: words.zh.changes[i] ?? '' } });
  });
  const notices: { at_ns?: number }[] = report.notices ?? [];
  notices.forEach((notice, i) => {
    if (notice.at_ns !== undefined) marks.push({ at: notice.at_ns / 1e9, kind: 'notice', text: { en: words.en.notices[i] ?? '', zh: words.zh.notices[i] ?? '' } });
  });
  const { part, from } = run.columns;
  if (part.includes(WARMUP)) marks.push({ at: 0, kind: 'warmup', text: both(W.windowBegins) });
  const drain = part.indexOf(DRAIN);
  if (drain > 0) marks.push({ at: from[drain], kind: 'drain', text: both(W.drainBegins) });
  return marks.sort((a, b) => a.at - b.at);
}
