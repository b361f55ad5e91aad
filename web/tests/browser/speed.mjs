// How long a page takes: `node tests/browser/speed.mjs REPORT.html`.
import { resolve } from 'node:path';
import { launched } from './browser.mjs';
const browser = await launched();
const page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
page.on('pageerror', (error) => console.log(String(error)));
await page.goto(`file://${resolve(process.argv[2])}`);
await page.waitForSelector('html[data-ready=yes]');
const paint = await page.evaluate(() => performance.getEntriesByType('paint').map(({ name, startTime }) => `${name} ${startTime.toFixed(0)} ms`));
const ready = await page.evaluate(() => performance.now());
console.log(paint.join(', '), `ready ${ready.toFixed(0)} ms`);
const zoom = await page.evaluate(async () => {
  const t = performance.now();
  window.brunt.look({ from: 1000, to: 3000 });
  await new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)));
  return performance.now() - t;
});
console.log(`zoom ${zoom.toFixed(0)} ms`);
await browser.close();
