// Descriptions of agents, and the commands that make a fleet.

import { expect, test } from 'vitest';
import type { Agent, ShelvedExperiment } from '../../src/console/api';
import { isOnAgents } from '../../src/console/experiments';
import { C } from '../../src/console/words';
import { listed } from '../../src/lib/i18n';
import { W } from '../../src/lib/words';
import { A } from '../../src/report/agents';
import { allowed, clockOf, makingOf, standing } from '../../src/console/fleet';

const agent = (more: Partial<Agent>): Agent => ({ name: 'eu-1', labels: [], state: 'idle', remarks: [], ...more });

test('what an owner allows is said in words', () => {
  expect(allowed(agent({ terms: { allow: [] } }), 'en')).toBe('addresses that are not public');
  const terms = { allow: ['api.test', '10.0.0.0/8'], max_rate: 5000, max_connections: 300 };
  expect(allowed(agent({ terms }), 'en')).toBe('api.test, 10.0.0.0/8 · up to 5,000/s · up to 300 connections');
  expect(allowed(agent({ terms }), 'zh')).toBe('api.test、10.0.0.0/8 · 最高 5,000/s · 最高 300 个连接');
});

test('an agent that is there twice is not shown as one that a run can use', () => {
  expect(standing(agent({}), 'en')).toEqual({ text: 'idle', tone: 'good' });
  expect(standing(agent({ times: 2 }), 'en')).toEqual({ text: 'idle, there 2 times', tone: 'bad' });
  expect(standing(agent({ times: 2 }), 'zh').text).toBe('空闲，同时有 2 台在线');
  expect(standing(agent({ state: 'silent', times: 1 }), 'en').tone).toBe('bad');
});

test('a list and a sentence have the marks of their language', () => {
  expect([listed(['a', 'b'], 'en'), listed(['a', 'b'], 'zh'), listed(['a', 'b'], 'zh', 'clauses')]).toEqual(['a, b', 'a、b', 'a；b']);
  const chinese = (of: unknown): string[] =>
    typeof of !== 'object' || of === null ? [] : 'zh' in of && typeof of.zh === 'string' ? [of.zh] : Object.values(of).flatMap(chinese);
  const all = [A, C, W].flatMap(chinese);
  expect(all.length).toBeGreaterThan(300);
  expect(all.filter((text) => /[\u4e00-\u9fff（）][,;:] [\u4e00-\u9fff（{]/.test(text))).toEqual([]);
});

test('a clock is ahead or behind, or right', () => {
  expect([2000, -1500, 0.4, -0.9].map((clock_ahead_ms) => clockOf(agent({ clock_ahead_ms })))).toEqual(['+2.00 s', '−1.50 s', '0', '0']);
});

test('the commands that make a fleet name the one of the console', () => {
  expect(makingOf({ exists: false, place: null, join: null })).toEqual({ option: '', add: 'brunt fleet init --host HOST eu-1 eu-2', join: 'brunt agent --join HOST:7447 --token brunt1.…' });
  expect(makingOf({ exists: true, place: null, join: 'h:7500' }).join).toBe('brunt agent --join h:7500 --token brunt1.…');
  expect(makingOf({ exists: true, place: "/x y/it's", join: null }).add).toBe("brunt fleet add eu-3 --fleet '/x y/it'\\''s'");
  expect(makingOf({ exists: true, place: 'nats://nats.test:4222', join: null })).toEqual({
    option: ' --fleet nats://nats.test:4222', add: '', join: 'brunt agent --join nats://nats.test:4222 --name eu-1',
  });
});

test('an experiment on agents is told from one on this machine by its command line', () => {
  const of = (...command: string[]): boolean => isOnAgents({ command } as ShelvedExperiment);
  expect([of('brunt', 'find', '--agents=eu=2', 'p99<50ms'), of('brunt', 'find', '--agents', 'all')]).toEqual([true, true]);
  expect([of('brunt', 'find', 'p99<50ms', '--agents-wait=4s'), of()]).toEqual([false, false]);
});
