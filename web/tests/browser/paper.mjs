// The page on paper: `node tests/browser/paper.mjs REPORT.html FILE.pdf`, to be looked at; and what a test asks of it.

import { resolve } from 'node:path';
import { launched, opened } from './browser.mjs';
import { that } from './that.mjs';

/** Nothing that is printed is wider than the paper, and every row of a table is there. */
export async function fitsPaper(page, json, name) {
  await page.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
  await page.emulateMedia({ media: 'print' });
  const cut = await page.evaluate(() => {
    const right = document.querySelector('main').getBoundingClientRect().right + 1;
    const wide = [...document.querySelectorAll('main td, main th, main figure, main p')].filter((one) => one.getBoundingClientRect().width > 0 && one.getBoundingClientRect().right > right);
    return wide.slice(0, 5).map((one) => `${one.tagName} ${one.textContent.trim().slice(0, 60)}`);
  });
  that(cut.length === 0, `${name}: nothing is cut at the edge of the paper: ${cut.join(' | ')}`);
  const rows = await page.locator('#names tbody tr').count();
  that(rows === json.by_name.length || json.by_name.length === 0, `${name}: ${rows} of ${json.by_name.length} names on paper`);
  await page.emulateMedia({ media: null });
  await page.evaluate(() => window.dispatchEvent(new Event('afterprint')));
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const [file, output] = process.argv.slice(2);
  const browser = await launched();
  const page = await opened(browser, resolve(file));
  await page.pdf({ path: output, format: 'A4', preferCSSPageSize: true, printBackground: true });
  await browser.close();
}
