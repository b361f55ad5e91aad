// Pictures of a report, to be looked at: `node tests/browser/shots.mjs REPORT.html FOLDER [first]`, in both languages, both themes and two widths.

import { mkdirSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { launched, opened } from './browser.mjs';

const [file, folder, only] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const browser = await launched();
for (const lang of ['en', 'zh']) {
  for (const theme of ['light', 'dark']) {
    for (const width of [1440, 390]) {
      if (only === 'first' && !(lang === 'en' && theme === 'light')) continue;
      const page = await opened(browser, resolve(file), { width, height: width === 390 ? 844 : 900, theme, lang });
      await page.waitForTimeout(300);
      const name = join(folder, `${basename(file, '.html')}-${lang}-${theme}-${width}`);
      await page.screenshot({ path: `${name}.png` });
      // What is far away is drawn when it comes near.
      await page.setViewportSize({ width, height: await page.evaluate(() => document.documentElement.scrollHeight) });
      await page.waitForTimeout(400);
      await page.screenshot({ path: `${name}-whole.png`, fullPage: true });
      for (const complaint of page.complaints) console.log(`${name}: ${complaint}`);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      if (wide > width) console.log(`${name}: ${wide} px wide`);
      await page.context().close();
    }
  }
}
await browser.close();
