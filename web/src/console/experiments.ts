// Descriptions of experiments in the library, and the command lines to begin with.

import { commandLine } from '../lib/command';
import { say, t, type Text } from '../lib/i18n';
import type { Badge } from '../lib/outcome';
import type { Lang } from '../lib/view.svelte';
import type { ShelvedExperiment } from './api';
import { moment } from './shown';
import { C } from './words';

/** A kind of experiment: what it answers, and options to begin with. */
export interface Kind {
  key: 'find' | 'compare' | 'sweep' | 'ladder';
  asks: Text;
  begins: string;
}

export const KINDS: readonly Kind[] = [
  { key: 'find', asks: t('How much load does it hold?', '最多能承受多少负载？'), begins: "'p99<50ms' 'failed<0.1%' -r 100/s -d 10s http://127.0.0.1:8080/" },
  { key: 'compare', asks: t('Is B worse than A?', 'B 是否比 A 差？'), begins: '-c 10 -d 10s http://127.0.0.1:8080/ http://127.0.0.1:8081/' },
  { key: 'sweep', asks: t('How do load and options change the figures?', '负载与选项如何影响结果？'), begins: '-c 1,2,4,8,16 -d 10s http://127.0.0.1:8080/' },
  { key: 'ladder', asks: t('What does each dependency cost?', '每项依赖的代价是多少？'), begins: "-d 5s 'empty=http://127.0.0.1:8080/' 'with database=http://127.0.0.1:8080/db'" },
];

/** Returns the title of an experiment: its name, its command line, or its start time. */
export function experimentTitle(one: ShelvedExperiment, lang: Lang): string {
  const words = one.command.length ? one.command.slice(1) : (one.words ?? []);
  return one.name || commandLine(words) || say(C.experimentOf, lang, { time: moment(one.started_ms, lang) });
}

const TONES = { good: 'good', bad: 'bad', doubt: 'warn', plain: 'quiet' } as const;

/** Returns what came of an experiment: its answer, or why there is none. */
export function answerOf(one: ShelvedExperiment, lang: Lang): Badge {
  if (one.state === 'running') return { text: say(C.running, lang), tone: 'quiet' };
  if (one.state === 'failed') return { text: one.fault ?? say(C.cannotBegin, lang), tone: 'bad' };
  return one.answer ? { text: one.answer[lang], tone: TONES[one.answer.tone] } : { text: say(C.noAnswer, lang), tone: 'quiet' };
}

/** Returns whether an experiment puts its load on agents: which of them, its present run decides. */
export const isOnAgents = (one: ShelvedExperiment): boolean => one.command.some((word) => word === '--agents' || word.startsWith('--agents='));
