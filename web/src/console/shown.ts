// Descriptions of runs in the library.

import { clock, count, percent, rate } from '../lib/format';
import { say } from '../lib/i18n';
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

/** Returns the result of a run in a word, and its emphasis. */
export function result(run: Kept, lang: Lang): { text: string; tone: 'good' | 'warn' | 'bad' | 'quiet' } {
  const figures = run.figures;
  if (run.state === 'running') return { text: say(C.running, lang), tone: 'quiet' };
  if (run.state === 'failed' || !figures) return { text: say(C.cannotBegin, lang), tone: 'bad' };
  if (figures.exit === 30) return { text: say(C.unreachable, lang), tone: 'bad' };
  if (figures.ended === 'cut_off') return { text: say(C.cutOff, lang), tone: 'warn' };
  const undecided = figures.undecided ?? 0;
  const missed = figures.objectives - figures.met - undecided;
  if (missed > 0) return { text: say(C.missedN, lang, { n: missed }), tone: 'bad' };
  if (undecided > 0) return { text: say(C.undecidedN, lang, { n: undecided }), tone: 'warn' };
  // Objectives that are met for certain need no figures that can be trusted.
  const certain = figures.exit === 0 && figures.objectives > 0;
  if (figures.verdict === 'not_trusted' && !certain) return { text: say(C.not_trusted, lang), tone: 'bad' };
  if (figures.ended === 'stopped' || figures.ended === 'drained') return { text: say(C[figures.ended], lang), tone: 'warn' };
  if (figures.ended === 'interrupted') return { text: say(C.interrupted, lang), tone: 'warn' };
  if (figures.verdict === 'too_short') return { text: say(C.too_short, lang), tone: 'quiet' };
  if (figures.verdict === 'caution') return { text: say(C.caution, lang), tone: 'warn' };
  return { text: say(figures.objectives > 0 ? C.metAll : C.trusted, lang), tone: 'good' };
}
