// What a reader does: looks at a part by dragging and by keyboard, follows links, switches language and theme, takes charts along.

import { same, that } from './that.mjs';

const figures = (page) => page.evaluate(() => window.brunt.figures()[0]);

export async function usable(page, json, name) {
  // A run of a moment has no parts.
  if (json.window_s < 4) return;
  const whole = await figures(page);
  const chart = page.locator('#rates .u-over');
  const box = await chart.boundingBox();
  await page.mouse.move(box.x + box.width * 0.3, box.y + 40);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.7, box.y + 60, { steps: 4 });
  await page.mouse.up();
  const part = await figures(page);
  that(part.span && part.span.to > part.span.from, `${name}: dragging looks at a part`);
  that(part.requests.scheduled < whole.requests.scheduled, `${name}: its figures are fewer`);
  const inside = json.seconds.filter((second) => second.from_s >= part.span.from - 1e-6 && second.to_s <= part.span.to + 1e-6 && second.part !== 'warmup');
  same(part.requests.scheduled, inside.reduce((sum, second) => sum + second.scheduled, 0), `${name}: scheduled in the part`);
  same(part.count, inside.reduce((sum, second) => sum + (second.latency.response ?? second.latency.service).count, 0), `${name}: latencies in the part`);
  // A link shows the same.
  const link = page.url();
  that(link.includes(`&span=${part.span.from}-`), `${name}: the part is in the address: ${link}`);
  const other = await page.context().newPage();
  await other.goto(link);
  await other.waitForSelector('html[data-ready=yes]');
  same((await figures(other)).span, part.span, `${name}: a link shows the same part`);
  await other.close();
  await page.locator('header .span').click();
  same((await figures(page)).span, null, `${name}: the chip shows the whole run again`);

  await page.locator('#latency .chart').focus();
  for (const key of ['Home', 'ArrowRight', 'Enter', 'ArrowRight', 'ArrowRight', 'Enter']) await page.keyboard.press(key);
  const { span } = await figures(page);
  that(span && Math.round(span.to - span.from) === 3, `${name}: three seconds by keyboard, not ${JSON.stringify(span)}`);
  await page.keyboard.press('Escape');
  same((await figures(page)).span, null, `${name}: Escape shows the whole run again`);

  await page.locator('#rates button', { hasText: 'Table' }).click();
  that((await page.locator('#rates table tbody tr').count()) > 0, `${name}: a chart has its table`);
  await page.locator('#rates button', { hasText: 'Table' }).click();
  for (const kind of ['PNG', 'SVG']) {
    const [download] = await Promise.all([page.waitForEvent('download'), page.locator('#latency button', { hasText: kind }).click()]);
    that(download.suggestedFilename().endsWith(kind.toLowerCase()), `${name}: a ${kind} is saved`);
  }

  await page.locator('header button', { hasText: '中文' }).click();
  same(await page.evaluate(() => document.documentElement.lang), 'zh', `${name}: in Chinese`);
  const text = await page.locator('#verdict h2').textContent();
  same(text.trim(), '结论', `${name}: headings follow`);
  await page.locator('header button[lang=en]').click();
  await page.locator('header button', { hasText: 'Dark' }).click();
  same(await page.evaluate(() => document.documentElement.dataset.theme), 'dark', `${name}: dark`);
  await page.locator('header button', { hasText: 'Auto' }).click();
}
