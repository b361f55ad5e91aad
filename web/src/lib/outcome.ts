// The two badges of a run, the same in the report and in the library: what came of it, and whether to trust its
// figures.

import { count } from './format';
import { say } from './i18n';
import type { Lang } from './view.svelte';
import { W } from './words';

export interface Badge {
  text: string;
  tone: 'good' | 'warn' | 'bad' | 'quiet';
}

/** What a result is told from. */
export interface Outcome {
  /** Number of objectives, and of those met and undecided. */
  objectives: number;
  met: number;
  undecided: number;
  exit: number;
  ended: string;
  succeeded: number;
  failed: number;
}

/** Exit code of a run whose target could not be reached. */
const UNREACHABLE = 30;

/** Returns what came of a run. */
export function resultOf(of: Outcome, lang: Lang): Badge {
  const missed = of.objectives - of.met - of.undecided;
  const facts = { all: of.objectives };
  if (of.exit === UNREACHABLE) return { text: say(W.unreachable, lang), tone: 'bad' };
  if (missed > 0) return { text: say(W.missedOf, lang, { ...facts, n: missed }), tone: 'bad' };
  if (of.undecided > 0) return { text: say(W.undecidedOf, lang, { ...facts, n: of.undecided }), tone: 'warn' };
  if (of.succeeded === 0 && of.failed > 0) return { text: say(W.allFailed, lang), tone: 'bad' };
  const early = (['cut_off', 'stopped', 'drained', 'interrupted', 'aborted'] as const).find((one) => one === of.ended);
  if (early) return { text: say(W.endedBy[early], lang), tone: 'warn' };
  if (of.objectives > 0) return { text: say(W.metOf, lang, facts), tone: 'good' };
  if (of.failed > 0) return { text: say(W.failedN, lang, { n: count(of.failed) }), tone: 'warn' };
  return { text: say(W.noObjectives, lang), tone: 'quiet' };
}

/** Returns whether the figures of a run can be trusted. */
export function trustOf(verdict: string, lang: Lang): Badge {
  const known = (['trusted', 'too_short', 'caution', 'not_trusted'] as const).find((one) => one === verdict) ?? 'not_trusted';
  const tone = ({ trusted: 'good', too_short: 'warn', caution: 'warn', not_trusted: 'bad' } as const)[known];
  return { text: say(W.verdicts[known], lang), tone };
}
