// Events of a run as marks on every time axis: stages of the load, changes of load, notices, the beginnings of warm-up
// and drain; and what lasted: pauses, outages, bursts of failures.

import { clock, count, duration, rate } from '../lib/format';
import { say, type Text } from '../lib/i18n';
import { DRAIN, WARMUP, WINDOW, type Mark, type Run } from '../lib/run.svelte';
import { W } from '../lib/words';

interface Stage {
  lasts: number;
  from: number;
  to: number;
}

const both = (text: Text, facts: Record<string, string | number> = {}): Text => ({
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
      const label = both(W.stageN, { n: i + 1 });
      if (at < run.extent.to) marks.push({ at, kind: 'stage', text: both(W.stageBegins, { n: i + 1, from: rate(stage.from), to: rate(stage.to) }), label });
      at += stage.lasts / 1e9;
    });
  }
  const changes: { at_ns: number; change: unknown }[] = report.changes ?? [];
  changes.forEach(({ at_ns, change }, i) => {
    const text = { en: words.en.changes[i] ?? '', zh: words.zh.changes[i] ?? '' };
    const at = at_ns / 1e9;
    const resumed = changes.slice(i + 1).find((later) => later.change === 'resume');
    if (change === 'pause') marks.push({ at, to: resumed ? resumed.at_ns / 1e9 : run.extent.to, kind: 'pause', text, label: both(W.pausedShort) });
    else marks.push({ at, kind: 'change', text });
  });
  const notices: { at_ns?: number }[] = report.notices ?? [];
  notices.forEach((notice, i) => {
    if (notice.at_ns !== undefined) marks.push({ at: notice.at_ns / 1e9, kind: 'notice', text: { en: words.en.notices[i] ?? '', zh: words.zh.notices[i] ?? '' } });
  });
  for (const { from_s, to_s } of (report.outages ?? []) as { from_s: number; to_s: number }[]) {
    const lasted = duration((to_s - from_s) * 1e9);
    marks.push({ at: from_s, to: to_s, kind: 'outage', text: both(W.outage, { from: clock(from_s, true), to: clock(to_s, true) }), label: both(W.outageShort, { time: lasted }) });
  }
  const { part, from } = run.columns;
  if (part.includes(WARMUP)) marks.push({ at: 0, kind: 'warmup', text: both(W.windowBegins) });
  const drain = part.indexOf(DRAIN);
  if (drain > 0) marks.push({ at: from[drain], kind: 'drain', text: both(W.drainBegins) });
  return [...marks, ...burstsOf(run)].sort((a, b) => a.at - b.at);
}

/** Share of the requests of a second that fail in a burst, and their least number. */
const SHARE = 0.1;
const LEAST = 5;
/** The most bursts that are marked, those with the most failures; and the share of the window above which failures are no burst. */
const MARKED = 12;
const USUAL = 0.5;

/** Returns the bursts of failures: consecutive seconds of the window in which many requests failed. */
export function burstsOf(run: Run): Mark[] {
  const { from, to, part, finished, failed } = run.columns;
  const bursts: { at: number; to: number; failed: number; all: number }[] = [];
  let seconds = 0;
  for (let i = 0; i < from.length; i++) {
    if (part[i] !== WINDOW) continue;
    seconds += to[i] - from[i];
    const all = finished[i] + failed[i];
    if (failed[i] < LEAST || failed[i] < SHARE * all) continue;
    const last = bursts[bursts.length - 1];
    if (last && from[i] - last.to < 1e-6) [last.to, last.failed, last.all] = [to[i], last.failed + failed[i], last.all + all];
    else bursts.push({ at: from[i], to: to[i], failed: failed[i], all });
  }
  if (bursts.reduce((sum, one) => sum + one.to - one.at, 0) > USUAL * seconds) return [];
  return bursts.sort((a, b) => b.failed - a.failed).slice(0, MARKED).map((one): Mark => ({
    at: one.at, to: one.to, kind: 'burst', label: both(W.burstShort, { n: count(one.failed) }),
    text: both(W.burst, { n: count(one.failed), all: count(one.all), from: clock(one.at), to: clock(one.to) }),
  }));
}
