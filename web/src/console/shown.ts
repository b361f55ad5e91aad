// Descriptions of runs in the library.

import { clock, count, percent, rate } from '../lib/format';
import { say } from '../lib/i18n';
import { resultOf, trustOf, type Badge } from '../lib/outcome';
import type { Lang } from '../lib/view.svelte';
import type { Kept } from './api';
import { C } from './words';

/** Formats a time as `29 Nov, 14:05:33`, in the reader's time zone. */
export function moment(ms: number, lang: Lang): string {
  const options: Intl.DateTimeFormatOptions = { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false };
  return new Intl.DateTimeFormat(lang === 'zh' ? 'zh-CN' : 'en-GB', options).format(new Date(ms));
}

/** Returns the title of a run: its name, its target, or its start time. */
export function title(run: Kept, lang: Lang): string {
  return run.name || run.figures?.target || say(C.untitled, lang, { time: moment(run.started_ms, lang) });
}

/** Formats the load of a run: `10 users`, `up to 500/s`. */
export function load(run: Kept, lang: Lang): string {
  const figures = run.figures;
  if (!figures || figures.load_peak <= 0) return '–';
  const what = figures.mode === 'open' ? say(C.rateN, lang, { n: rate(figures.load_peak) }) : say(C.usersN, lang, { n: count(figures.load_peak) });
  return figures.load_steady ? what : say(C.upTo, lang, { what });
}

/** Formats the duration of a run. */
export function lasted(run: Kept): string {
  const figures = run.figures;
  if (!figures || run.state === 'running') return '–';
  return figures.window_s < 60 ? `${figures.window_s < 9.95 ? figures.window_s.toFixed(1) : Math.round(figures.window_s)} s` : clock(figures.window_s);
}

/** Formats the share of failed requests. */
export function failed(run: Kept): string {
  const figures = run.figures;
  return figures && figures.scheduled > 0 && run.state !== 'running' ? percent(figures.failed, figures.scheduled) : '–';
}

/** Returns what came of a run, in the words of its report. */
export function result(run: Kept, lang: Lang): Badge {
  const figures = run.figures;
  if (run.state === 'running') return { text: say(C.running, lang), tone: 'quiet' };
  if (run.state === 'failed' || !figures) return { text: say(C.cannotBegin, lang), tone: 'bad' };
  return resultOf({ ...figures, undecided: figures.undecided ?? 0 }, lang);
}

/** Returns whether the figures of a run can be trusted; null if it has none yet. */
export function trust(run: Kept, lang: Lang): Badge | null {
  return run.state === 'over' && run.figures ? trustOf(run.figures.verdict, lang) : null;
}
