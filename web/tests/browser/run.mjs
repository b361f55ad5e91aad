// The pages in a browser: their figures against `brunt report --format json` of the same records, zooming, copying, and whether everybody can use them.
// `BRUNT=target/debug/brunt node tests/browser/run.mjs`; the records are those of `tests/records`.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { accessible } from './accessible.mjs';
import { launched, opened, place } from './browser.mjs';
import { close, same, that } from './that.mjs';
import { drawsTrue } from './true.mjs';
import { fitsPaper } from './paper.mjs';
import { usable } from './usable.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const brunt = resolve(process.env.BRUNT ?? join(here, '../../../target/debug/brunt'));
if (!place) {
  console.error('no Chromium: apt-get install chromium');
  process.exit(1);
}

const folder = mkdtempSync(join(tmpdir(), 'brunt-web-'));
const records = readdirSync(join(here, '../records')).filter((name) => name.endsWith('.zst')).map((name) => join(here, '../records', name));
/** Ends as the run did, with whatever code that was. */
function written(files, output, ...more) {
  try {
    execFileSync(brunt, ['report', ...files, '-o', output, '--quiet', ...more], { stdio: ['ignore', 'ignore', 'pipe'] });
  } catch (ended) {
    if (![0, 10, 20, 21].includes(ended.status)) throw new Error(`brunt report ${files.join(' ')} ended with ${ended.status}: ${ended.stderr}`);
  }
  return output;
}

const browser = await launched();
try {
  for (const record of records) {
    const name = basename(record, '.zst');
    const html = written([record], join(folder, `${name}.html`));
    const json = JSON.parse(readFileSync(written([record], join(folder, `${name}.json`)), 'utf8'));
    console.log(`${name}: ${statSync(html).size} bytes`);
    const page = await opened(browser, html);
    await drawsTrue(page, json, name);
    await usable(page, json, name);
    await fitsPaper(page, json, name);
    same(await page.evaluate(() => window.bad ?? null), null, `${name}: nothing that a server or a user wrote is run`);
    same(page.complaints, [], `${name}: what the page complains of`);
    if (name === 'hostile') that((await page.locator('#failures pre').first().textContent()).includes('<script>window.bad=1</script>'), 'it is text');
    await page.context().close();
    for (const lang of ['en', 'zh']) {
      for (const [width, theme] of [[1440, 'light'], [390, 'dark']]) {
        const one = await opened(browser, html, { width, theme, lang });
        await accessible(one, `${name} ${lang} ${theme} ${width}`);
        close(await one.evaluate(() => document.documentElement.scrollWidth), width, 0.001, `${name}: no wider than ${width}`);
        await one.context().close();
      }
    }
  }
  const html = written(records.slice(0, 2), join(folder, "compare.html"));
  const page = await opened(browser, html);
  // The page says the words of the JSON.
  const told = JSON.parse(readFileSync(written(records.slice(0, 2), join(folder, 'compare.json')), 'utf8'));
  const words = await page.locator('#figures tbody tr td:last-child').allTextContents();
  same(words.map((text) => text.replace(/^\S+ /, '').replace(/ \(.*/, '')), told.compared[0].figures.map(({ verdict }) => verdict.replace('_', ' ')), 'verdicts of a comparison');
  await accessible(page, 'compare');
  same(page.complaints, [], 'compare: what the page complains of');
  const script = /<script>([\s\S]*)<\/script>\s*<\/body>/.exec(readFileSync(html, 'utf8'))[1];
  that(gzipSync(script).length < 130_000, `the script is ${gzipSync(script).length} bytes compressed`);
} finally {
  await browser.close();
  rmSync(folder, { recursive: true });
}
console.log('all that was looked at holds');
