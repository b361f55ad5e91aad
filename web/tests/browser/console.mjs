// The console in a browser, against the built program: a first run from the form, steering, a stop, a comparison, a dropped record, a wrong
// token; nothing is loaded from elsewhere, and axe finds no serious fault. `BRUNT=… node tests/browser/console.mjs [FOLDER]`: with pictures of
// every page in that folder.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { launched, place } from './browser.mjs';
import { experiments } from './experiments.mjs';
import { fleet } from './fleet.mjs';

const brunt = resolve(process.env.BRUNT ?? join(dirname(fileURLToPath(import.meta.url)), '../../../target/debug/brunt'));
const shots = process.argv[2];
if (!place) {
  console.error('no Chromium: apt-get install chromium');
  process.exit(1);
}
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const home = mkdtempSync(join(tmpdir(), 'brunt-console-'));
const started = [];

const environment = { ...process.env, XDG_STATE_HOME: home, XDG_CONFIG_HOME: join(home, 'config'), LC_ALL: 'C' };

/** Starts brunt in a process group of its own. */
function spawned(args, more = {}) {
  const child = spawn(brunt, args, { env: { ...environment, ...more }, stdio: ['ignore', 'pipe', args[0] === 'agent' ? 'ignore' : 'inherit'], detached: true });
  started.push(child);
  return child;
}

/** Starts brunt and waits for so many lines. */
function start(args, lines) {
  const child = spawned(args);
  return new Promise((done, fail) => {
    let said = '';
    child.stdout.on('data', (bytes) => {
      said += bytes;
      if (said.split('\n').length > lines) done(said.split('\n'));
    });
    child.on('exit', () => fail(new Error(`brunt ${args[0]} ended: ${said}`)));
  });
}

async function faults(page, what) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  const grave = violations.filter((one) => ['serious', 'critical'].includes(one.impact) || ['heading-order', 'landmark-unique'].includes(one.id));
  assert.deepEqual(grave.map((one) => `${one.id}: ${one.nodes.map((node) => node.target.join(' ')).slice(0, 4).join(', ')}`), [], what);
}

let browser;
try {
  const target = (await start(['target', '127.0.0.1:0'], 1))[0].split(' ').pop();
  const [first, second] = await start(['ui', '--no-open'], 3);
  const [link, look] = [first, second].map((line) => line.split(' ').pop());
  const origin = new URL(link).origin;
  browser = await launched();
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, locale: 'en-GB' });
  const page = await context.newPage();
  const complaints = [];
  const editors = [];
  page.on('request', (request) => request.url().endsWith('/editor.js') && editors.push(request.url()));
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('request', (request) => !request.url().startsWith(origin) && !/^(data|blob):/.test(request.url()) && complaints.push(`asked for ${request.url()}`));
  const shot = async (name) => shots && (mkdirSync(shots, { recursive: true }), await page.screenshot({ path: join(shots, `${name}.png`), fullPage: true }));
  /** A page in both languages, both themes, both widths. */
  const looked = async (name) => {
    await faults(page, name);
    if (!shots) return;
    for (const [lang, theme, width] of [['EN', 'Light', 1440], ['EN', 'Dark', 1440], ['EN', 'Light', 390], ['中文', '深色', 390]]) {
      await page.setViewportSize({ width, height: width > 500 ? 900 : 844 });
      await page.getByRole('button', { name: lang, exact: true }).click();
      await page.getByRole('button', { name: theme, exact: true }).first().click();
      await page.waitForTimeout(250);
      await shot(`${name}-${lang === 'EN' ? 'en' : 'zh'}-${theme === 'Light' ? 'light' : 'dark'}-${width}`);
    }
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.getByRole('button', { name: 'EN', exact: true }).click();
    await page.getByRole('button', { name: 'Light', exact: true }).first().click();
  };

  // Who may only look is told so where runs are begun.
  const looker = await (await browser.newContext({ locale: 'en-GB' })).newPage();
  await looker.goto(look);
  await looker.goto(`${origin}/new`);
  await looker.getByText('This browser may only view.').waitFor();
  await looker.context().close();

  // A wrong token leads nowhere.
  const wrong = await page.goto(`${origin}/?token=wrong`);
  assert.equal(wrong.status(), 401);
  assert.match(await page.textContent('main'), /no longer valid/);
  await faults(page, 'the door');
  await shot('door');
  complaints.length = 0;

  // The page is small, and the editor of plans stands beside it.
  const size = async (path) => gzipSync(await (await context.request.get(`${origin}${path}`)).body()).length;
  // The link lets in, and its token stands in no address after that.
  await page.goto(link);
  assert.equal(page.url(), `${origin}/`);
  assert.ok((await size('/')) < 150_000, `the page is ${await size('/')} bytes compressed`);
  assert.ok((await size('/editor.js')) < 200_000, `the editor is ${await size('/editor.js')} bytes compressed`);
  await page.getByText('No runs yet.').waitFor();
  await looked('runs-none');

  // A first run from the form.
  await page.getByRole('link', { name: 'New run' }).first().click();
  await page.getByLabel('URL').fill(target);
  await page.getByLabel('Rate', { exact: true }).check();
  await page.getByLabel('Rate', { exact: true }).last().fill('200');
  await page.getByLabel('Duration').fill('60s');
  await page.getByLabel('Name').fill('First run');
  await page.getByText('can be run').waitFor();
  await page.getByText('200/s (poisson) for 60 s').waitFor();
  await page.getByRole('button', { name: 'Try once' }).click();
  await page.getByText('HTTP/1.1 200').first().waitFor();
  await looked('new');
  // A complaint names the field, and the button says why it is not to be had.
  await page.getByLabel('Duration').fill('soon');
  await page.getByRole('alert').getByText('Duration: `soon` is not a time').waitFor();
  await page.getByText('Correct this to start.').waitFor();
  await page.getByLabel('Duration').fill('60s');
  await page.getByText('can be run').waitFor();
  assert.ok(await page.getByRole('button', { name: 'Start', exact: true }).last().isEnabled(), 'a load on this machine is nobody else\'s');
  // The editor is no part of the page: it is asked for now, once.
  assert.equal(editors.length, 0, 'nobody edits a plan yet');
  await page.getByRole('tab', { name: 'Plan' }).click();
  await page.locator('.cm-content').waitFor();
  assert.deepEqual(editors, [`${origin}/editor.js`]);
  // Every example is a plan, and scenarios have a line each in the picture of the load.
  const examples = page.locator('label', { hasText: 'Start from' }).locator('select');
  for (const example of await examples.locator('option').evaluateAll((all) => all.map(({ value }) => value).filter(Boolean))) {
    const checked = page.waitForResponse((answer) => answer.url().includes('/plan/check'));
    await examples.selectOption(example);
    assert.equal((await (await checked).json()).ok, true, `the example ${example} is a plan`);
  }
  await examples.selectOption('scenarios');
  await page.locator('figure li', { hasText: 'admin' }).waitFor();
  await looked('plan-scenarios');
  await examples.selectOption('load');
  await page.locator('.cm-content').waitFor();
  await page.locator('.cm-content').click();
  await page.keyboard.press('Control+End');
  await page.keyboard.type('tiemout: 5s\n');
  await page.getByText('tiemout').last().waitFor();
  await page.getByRole('alert').waitFor();
  assert.ok(await page.getByRole('button', { name: 'Start' }).isDisabled());
  await looked('plan');
  await page.getByRole('tab', { name: 'Form' }).click();
  await page.getByText('can be run').waitFor();
  await page.getByRole('button', { name: 'Start', exact: true }).last().click();

  // Steering: a step, a rate, a pause; each is told as it holds.
  await page.getByRole('button', { name: '+ 10 %' }).waitFor();
  await page.locator('#rates').waitFor();
  await page.waitForTimeout(1500);
  await page.getByRole('button', { name: '+ 10 %' }).click();
  await page.getByText('rate 220/s').waitFor();
  await page.getByLabel('Rate').fill('300');
  await page.getByRole('button', { name: 'Set' }).click();
  await page.getByText('rate 300/s').waitFor();
  // What no run can have is refused in a sentence, and the run goes on.
  await page.getByLabel('Rate').fill('2000M');
  await page.getByRole('button', { name: 'Set' }).click();
  await page.getByRole('alert').getByText('more than brunt can send').waitFor();
  complaints.splice(0, complaints.length, ...complaints.filter((said) => !said.includes('422')));
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByRole('button', { name: 'Resume' }).click();
  await page.getByText('resumed').waitFor();
  await page.waitForTimeout(2000);
  // What the report has of the counters and of the parts of requests grows as well.
  await page.locator('#counters figure').first().waitFor();
  await page.locator('#time tbody tr').first().waitFor();
  await looked('live');
  // Somebody else watches, and may not steer.
  const other = await (await browser.newContext()).newPage();
  await other.goto(look);
  await other.goto(page.url());
  await other.getByText('view only').waitFor();
  await other.getByText('rate 300/s').waitFor();
  assert.equal(await other.getByRole('button', { name: 'Stop now' }).count(), 0);
  assert.equal(await page.locator('.now strong').textContent(), '300/s', 'what is asked for, not what a second counted');
  await page.getByRole('button', { name: 'Stop and drain' }).click();
  await page.locator('#verdict').waitFor({ timeout: 30000 });
  await other.locator('#verdict').waitFor({ timeout: 30000 });
  await other.close();
  await looked('report');

  // A second run, of the same plan, and both beside each other.
  const begun = await page.evaluate(async ([url]) => {
    const flow = (name, path) => `    flow:\n      - url: ${url}${path}\n        name: ${name}\n`;
    const plan = `scenarios:\n  shop:\n    rate: 100/s\n    duration: 8s\n${flow('home', '')}  staff:\n    users: 2\n    duration: 8s\n${flow('items', 'bytes/9')}      - pause: 20ms\n`;
    const answer = await fetch('/api/v1/runs', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ plan, name: 'Second run' }) });
    return (await answer.json()).id;
  }, [target]);
  await page.goto(`${origin}/runs/${begun}`);
  // Tables by name and by scenario grow with it, and a row opens at full size.
  const cell = (section, row, column) => page.locator(`${section} tbody tr`, { hasText: row }).locator('td').nth(column);
  await page.locator('#scenarios tbody tr').first().waitFor();
  const scheduled = async () => Number((await cell('#names', 'home', 1).textContent()).replaceAll(',', ''));
  const before = await scheduled();
  for (let tries = 0; (await scheduled()) <= before; tries++) {
    assert.ok(tries < 100, `${before} requests, and no more`);
    await page.waitForTimeout(100);
  }
  await page.locator('#names').getByRole('link', { name: 'home' }).click();
  await page.locator('#names figure').first().waitFor();
  await looked('live-scenarios');
  await page.locator('#verdict').waitFor({ timeout: 30000 });
  const json = await page.evaluate(async (id) => (await fetch(`/api/v1/runs/${id}/report?format=json`)).json(), begun);
  assert.equal(await scheduled(), json.by_name.find(({ name }) => name === 'home').scheduled);
  assert.equal((await cell('#scenarios', 'shop', 1).textContent()).replaceAll(',', ''), String(json.scenarios[0].scheduled));

  // A record from elsewhere, and something that is none.
  const record = join(home, 'brunt/library/records', `${begun}.brunt.zst`);
  await page.getByRole('link', { name: 'Runs', exact: true }).click();
  await page.locator('input[type=file]').setInputFiles({ name: 'from-ci.brunt.zst', mimeType: 'application/zstd', buffer: readFileSync(record) });
  await page.getByRole('link', { name: 'from-ci.brunt.zst', exact: true }).waitFor();
  writeFileSync(join(home, 'evil.html'), '<img src=x onerror=alert(1)>');
  await page.locator('input[type=file]').setInputFiles(join(home, 'evil.html'));
  await page.getByText('this is not a brunt record').waitFor();
  complaints.splice(0, complaints.length, ...complaints.filter((said) => !said.includes('422')));
  await page.getByRole('checkbox', { name: /First run/ }).check();
  await page.getByRole('checkbox', { name: /Second run/ }).check();
  await looked('runs');
  await page.getByRole('button', { name: 'Compare 2' }).click();
  await page.getByRole('heading', { name: 'Compare' }).waitFor();
  await page.locator('#p99').waitFor();
  await looked('compare');
  const told = await page.evaluate(async (runs) => (await fetch(`/api/v1/compare?runs=${runs}`)).json(), new URL(page.url()).searchParams.get('runs'));
  const shown = await page.locator('#figures tbody tr td:last-child').allTextContents();
  assert.deepEqual(shown.map((text) => text.trim().replace(/^\S+ /, '').replace(/ \(.*/, '')), told.compared[0].figures.map(({ verdict }) => verdict.replace('_', ' ')));
  await fleet({ brunt, start: spawned, environment, home, page, other: () => browser.newContext({ locale: 'en-GB' }), look, origin, target, looked, complaints });
  await experiments({ page, other: () => browser.newContext(), look, origin, target, looked, complaints });

  // A console that dies is told of, and one that comes back under its old link goes on where it was.
  const third = await page.evaluate(async ([url]) => {
    const answer = await fetch('/api/v1/runs', {
      method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ plan: `urls: ${url}\nrate: 50/s\nduration: 60s\n`, name: 'Third run' }),
    });
    return (await answer.json()).id;
  }, [target]);
  await page.goto(`${origin}/runs/${third}`);
  await page.locator('#rates').waitFor();
  await page.waitForFunction(() => document.title === 'Third run · brunt');
  const dying = started.findLast(({ spawnargs }) => spawnargs.includes('ui'));
  dying.removeAllListeners('exit').kill('SIGKILL');
  await page.getByText(/no connection since \d/).waitFor();
  assert.equal(await page.evaluate(() => getComputedStyle(document.querySelector('#rates').closest('.lost')).filter), 'grayscale(1)');
  const [again] = await start(['ui', '--no-open'], 3);
  assert.equal(again.split(' ').pop(), link, 'links outlast the console');
  await page.locator('.tag.on', { hasText: 'Live' }).waitFor();
  await page.getByRole('button', { name: 'Stop now' }).click();
  await page.getByRole('button', { name: /Stop now\? Requests/ }).click();
  await page.locator('#verdict').waitFor({ timeout: 30000 });
  complaints.length = 0;
  // A browser that is no longer known is asked for the token.
  await context.clearCookies();
  await page.getByRole('link', { name: 'Runs', exact: true }).click();
  await page.getByRole('textbox', { name: 'Link or token' }).fill('wrong');
  await page.getByRole('button', { name: 'Enter' }).click();
  await page.getByText('This token or password is wrong').waitFor();
  await faults(page, 'the door in the page');
  await page.getByRole('textbox', { name: 'Link or token' }).fill(link);
  await page.getByRole('button', { name: 'Enter' }).click();
  await page.getByRole('link', { name: 'Third run' }).waitFor();
  assert.equal(await page.getByRole('textbox', { name: 'Link or token' }).count(), 0);
  complaints.length = 0;
  // A link to a run lets in as well, for viewing.
  const guest = await (await browser.newContext()).newPage();
  await guest.goto(`${origin}/runs/${third}?token=${new URL(look).searchParams.get('token')}`);
  assert.equal(guest.url(), `${origin}/runs/${third}`);
  await guest.locator('#verdict').waitFor();
  await guest.close();
  // Found again, and deleted.
  await page.getByRole('link', { name: 'Runs', exact: true }).click();
  await page.getByRole('searchbox').fill('from-ci');
  await page.getByRole('link', { name: 'Second run' }).waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'from-ci.brunt.zst', exact: true }).click();
  await page.locator('#verdict').waitFor();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Delete permanently?' }).click();
  await page.getByRole('link', { name: 'First run' }).waitFor();
  assert.equal(await page.getByRole('link', { name: 'from-ci.brunt.zst', exact: true }).count(), 0);
  assert.deepEqual(complaints, []);
  console.log('the console holds in a browser');
} finally {
  await browser?.close();
  for (const child of started) {
    child.removeAllListeners('exit').kill('SIGTERM');
    // One that was made to stand still by a test cannot end.
    if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid, 'SIGCONT');
  }
  await Promise.all(started.map((child) => child.exitCode ?? child.signalCode ?? new Promise((done) => child.once('exit', done))));
  rmSync(home, { recursive: true, force: true });
}
