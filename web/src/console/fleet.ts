// Descriptions of agents, and the commands that make a fleet.

import { count, duration, rate } from '../lib/format';
import { listed, say } from '../lib/i18n';
import type { Lang } from '../lib/view.svelte';
import type { Agent, Fleet } from './api';
import { C } from './words';

/** Returns what the owner of an agent allows. */
export function allowed({ terms }: Agent, lang: Lang): string {
  const all = [terms?.allow.length ? listed(terms.allow, lang) : say(C.notPublic, lang)];
  if (terms?.max_rate !== undefined) all.push(say(C.upTo, lang, { what: `${rate(terms.max_rate)}/s` }));
  if (terms?.max_connections !== undefined) all.push(say(C.upTo, lang, { what: say(C.connectionsN, lang, { n: count(terms.max_connections) }) }));
  return all.join(' · ');
}

/** Returns what an agent that has no run does, and whether a run can use it: none can that is there several times. */
export function standing({ state, times = 1 }: Agent, lang: Lang): { text: string; tone: 'good' | 'bad' } {
  const text = say(C[state === 'idle' ? 'idle' : 'silent'], lang);
  return {
    text: times > 1 ? say(C.several, lang, { state: text, n: times }) : text,
    tone: state === 'idle' && times <= 1 ? 'good' : 'bad',
  };
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
