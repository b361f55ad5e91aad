// Pages of experiments, filled with samples of each kind: whether they say what their data say, and whether everybody can use them.
// `node tests/browser/experiment.mjs`; it needs no brunt.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { accessible } from './accessible.mjs';
import { launched, opened, place } from './browser.mjs';
import { filled } from './filled.mjs';
import { fitsPaper } from './paper.mjs';
import { SAMPLES } from './samples.mjs';
import { close, same, that } from './that.mjs';

if (!place) {
  console.error('no Chromium: apt-get install chromium');
  process.exit(1);
}

const of = (words, block) => words.blocks.filter((one) => one.block === block);

/** Answers, sentences, tables and charts stand on the page as in its data. */
async function saysTrue(page, words, name) {
  const texts = (selector) => page.locator(selector).evaluateAll((all) => all.map((one) => one.textContent.trim()));
  same(await texts('h1'), [words.title], `${name}: title`);
  same(await texts('.answer > span:last-child'), of(words, 'answer').map(({ sentence }) => sentence), `${name}: answers`);
  same(await texts('.sentences p'), of(words, 'sentences').flatMap(({ sentences }) => sentences), `${name}: sentences`);
  same(await texts('figure h2'), of(words, 'chart').map(({ title }) => title), `${name}: charts`);
  const tables = await page.locator('.table table').evaluateAll((all) => all.map((table) => [...table.querySelectorAll('tr')].map((row) => [...row.children].map((cell) => cell.textContent.trim()))));
  same(tables, of(words, 'table').map(({ rows }) => rows), `${name}: tables`);
  const folded = of(words, 'table').filter(({ rows, is_detail }) => is_detail && rows.length > 12).length;
  same(await page.locator('.table details:not([open])').count(), folded, `${name}: long tables of details are folded`);
  for (const summary of await page.locator('.table summary').all()) await summary.click();
  same(await page.locator('.table table:visible').count(), tables.length, `${name}: and unfold`);
  const charts = page.locator('.chart');
  for (const [i, chart] of of(words, 'chart').entries()) {
    const labels = new Set(chart.series.flatMap(({ points }) => points.map(({ label }) => label)));
    await charts.nth(i).focus();
    const told = new Set();
    await page.keyboard.press('Home');
    for (let step = 0; step < chart.series.flatMap(({ points }) => points).length; step++) {
      told.add(await charts.nth(i).locator('.tip').textContent());
      await page.keyboard.press('ArrowRight');
    }
    same([...told].sort(), [...labels].sort(), `${name}: by keyboard every point of chart ${i} is told`);
    await page.keyboard.press('Escape');
    same(await charts.nth(i).locator('.tip').isVisible(), false, `${name}: Escape leaves the points of chart ${i}`);
  }
}

/** A point is told where one points at it; a chart can be taken along. */
async function usable(page, words, name) {
  const cell = page.locator('.chart').first();
  const box = await cell.boundingBox();
  let told = '';
  for (let x = 70; x < box.width - 10 && !told; x += 4) {
    for (let y = 60; y < box.height - 40 && !told; y += 8) {
      await page.mouse.move(box.x + x, box.y + y);
      told = await cell.locator('.tip').textContent();
    }
  }
  that(of(words, 'chart')[0].series.some(({ points }) => points.some(({ label }) => label === told)), `${name}: what is pointed at is told, not «${told}»`);
  await page.mouse.move(0, 0);
  for (const kind of ['PNG', 'SVG']) {
    const [download] = await Promise.all([page.waitForEvent('download'), page.locator('figure').first().getByRole('button', { name: kind }).click()]);
    that(download.suggestedFilename().endsWith(kind.toLowerCase()), `${name}: a ${kind} is saved`);
    if (kind === 'SVG') that(!readFileSync(await download.path(), 'utf8').includes('var(--'), `${name}: a saved chart has its colours`);
  }
  await page.locator('figure').first().getByRole('button', { name: 'Table' }).click();
  const points = of(words, 'chart')[0].series.flatMap((one) => one.points.filter(({ label }) => label)).length;
  same(await page.locator('figure').first().locator('tbody tr').count(), Math.min(points, 30), `${name}: a chart has its table`);
  await page.locator('figure').first().getByRole('button', { name: 'Table' }).click();
}

const folder = mkdtempSync(join(tmpdir(), 'brunt-experiment-'));
const browser = await launched();
try {
  for (const [name, data] of Object.entries(SAMPLES)) {
    const { text, live } = data.experiment;
    const html = filled('experiment', data, text.en.title, join(folder, `${name}.html`));
    const page = await opened(browser, html);
    await saysTrue(page, text.en, name);
    await usable(page, text.en, name);
    same(await page.locator('.live').count(), live ? 1 : 0, `${name}: whether it is going on`);
    await fitsPaper(page, { by_name: [] }, name);
    same(await page.evaluate(() => window.bad ?? null), null, `${name}: nothing that a server or a user wrote is run`);
    same(page.complaints, [], `${name}: what the page complains of`);
    await page.context().close();
    for (const [lang, width, theme] of [['en', 1440, 'light'], ['zh', 1440, 'dark'], ['en', 375, 'dark'], ['zh', 375, 'light']]) {
      const one = await opened(browser, html, { width, theme, lang });
      same(await one.locator('h1').textContent(), text[lang].title, `${name}: its title in ${lang}`);
      await accessible(one, `${name} ${lang} ${theme} ${width}`);
      close(await one.evaluate(() => document.documentElement.scrollWidth), width, 0.001, `${name}: no wider than ${width}`);
      same(one.complaints, [], `${name} ${lang} ${theme} ${width}: what the page complains of`);
      await one.context().close();
    }
  }
  const broken = await opened(browser, filled('experiment', { run: {} }, 'x', join(folder, 'broken.html')));
  that((await broken.locator('[role=alert]').textContent()).length > 0, 'a page whose data are none of its own says so');
} finally {
  await browser.close();
  rmSync(folder, { recursive: true });
}
console.log('all that was looked at of experiments holds');
