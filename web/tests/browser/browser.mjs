// A browser for the tests: Debian's Chromium, or the one that CHROMIUM names.

import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';

const PLACES = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** Where a browser is; undefined where there is none. */
export const place = PLACES.find((path) => path && existsSync(path));

/** Starts it. Nothing of it goes to the network. */
export function launched() {
  return chromium.launch({
    executablePath: place,
    headless: true,
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--lang=en'],
  });
}

/** Opens a page of a file and waits until it is drawn; complaints of the page are kept in `page.complaints`. */
export async function opened(browser, file, { width = 1440, height = 900, theme = 'light', lang = 'en', hash = '' } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, acceptDownloads: true });
  await context.addInitScript(([language]) => {
    try {
      localStorage.setItem('brunt-view', JSON.stringify({ lang: language, theme: 'auto' }));
    } catch {
      // A file without storage.
    }
  }, [lang]);
  const page = await context.newPage();
  page.complaints = [];
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && page.complaints.push(message.text()));
  page.on('pageerror', (error) => page.complaints.push(String(error)));
  page.on('request', (request) => !/^(file|data|blob):/.test(request.url()) && page.complaints.push(`asked for ${request.url()}`));
  await page.goto(`file://${file}${hash}`);
  await page.waitForSelector('html[data-ready=yes]');
  return page;
}
