// axe-core finds no serious fault.

import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { that } from './that.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export async function accessible(page, what) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  const told = serious.map(({ id, help, nodes }) => `${id} (${help}): ${nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(' | ')}`);
  that(serious.length === 0, `${what} is accessible: ${told.join('\n  ')}`);
}
