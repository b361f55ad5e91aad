// Descriptions of agents, and the commands that make a fleet.

import { count, duration, rate } from '../lib/format';
import { say } from '../lib/i18n';
import type { Lang } from '../lib/view.svelte';
import type { Agent, Fleet } from './api';
import { C } from './words';

/** Returns what the owner of an agent allows. */
export function allowed({ terms }: Agent, lang: Lang): string {
  const all = [terms?.allow.length ? terms.allow.join(lang === 'zh' ? '、' : ', ') : say(C.notPublic, lang)];
  if (terms?.max_rate !== undefined) all.push(say(C.upTo, lang, { what: `${rate(terms.max_rate)}/s` }));
  if (terms?.max_connections !== undefined) all.push(say(C.upTo, lang, { what: say(C.connectionsN, lang, { n: count(terms.max_connections) }) }));
  return all.join(' · ');
}

/** Returns by how much the clock of an agent is ahead: `+2.0 s`. */
export function clockOf({ clock_ahead_ms: ms = 0 }: Agent): string {
  return Math.abs(ms) < 1 ? '0' : `${ms > 0 ? '+' : '−'}${duration(Math.abs(ms) * 1e6)}`;
}

/** Returns the commands that make a fleet, add an agent, and start one; a NATS server needs only the last. */
export function makingOf({ exists, place, join }: Pick<Fleet, 'exists' | 'place' | 'join'>): { option: string; add: string; join: string } {
  const option = place ? ` --fleet ${/^[\w./:@-]+$/.test(place) ? place : `'${place.replaceAll("'", "'\\''")}'`}` : '';
  if (/^(nats|tls):/.test(place ?? '')) return { option, add: '', join: `brunt agent --join ${place} --name eu-1` };
  const add = exists ? `brunt fleet add eu-3${option}` : `brunt fleet init --host HOST eu-1 eu-2${option}`;
  return { option, add, join: `brunt agent --join ${join ?? 'HOST:7447'} --token brunt1.…` };
}
