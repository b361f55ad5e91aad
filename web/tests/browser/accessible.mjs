// axe-core finds no serious fault; headings follow each other, and landmarks have names of their own.

import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { that } from './that.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export async function accessible(page, what) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  const serious = violations.filter(({ id, impact }) => impact === 'serious' || impact === 'critical' || ['heading-order', 'landmark-unique'].includes(id));
  const told = serious.map(({ id, help, nodes }) => `${id} (${help}): ${nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(' | ')}`);
  that(serious.length === 0, `${what} is accessible: ${told.join('\n  ')}`);
}
