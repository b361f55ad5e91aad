// Experiments in the console: written, refused, started, watched, stopped, gone on with, compared with their record, deleted.

import assert from 'node:assert/strict';

export async function experiments({ page, other, look, origin, target, looked, complaints }) {
  const told = (text) => page.getByRole('alert').getByText(text).waitFor();
  const loaded = [];
  page.on('request', (request) => request.url().endsWith('/experiment.js') && loaded.push(request.url()));
  await page.getByRole('link', { name: 'Experiments' }).first().click();
  await page.getByText('No experiments yet.').waitFor();
  await looked('experiments-none');

  // What is written is checked by brunt itself, and nothing is sent for that.
  await page.getByRole('link', { name: 'New experiment' }).first().click();
  const options = page.getByRole('textbox', { name: /Options and targets/ });
  for (const kind of ['find', 'compare', 'sweep', 'ladder']) {
    await page.getByRole('radio', { name: new RegExp(`^${kind}`) }).check();
    await page.getByText('can be run').waitFor();
    await page.locator('.line code', { hasText: `brunt ${kind}` }).waitFor();
  }
  await page.getByRole('radio', { name: /^find/ }).check();
  const start = page.getByRole('button', { name: 'Start', exact: true });
  for (const [wrong, why] of [
    [`'p99<50ms' -r often ${target}`, 'often'], [`'p99<50ms' --record /tmp/x ${target}`, '--record: is given by the console'], [`'p99<50ms' -o x.html ${target}`, '-o: is for the command line;'],
    ["'p99<50ms", 'command'],
  ]) {
    await options.fill(wrong);
    await told(why);
    assert.ok(await start.isDisabled(), wrong);
  }
  await page.getByRole('radio', { name: /^compare/ }).check();
  await options.fill(`--before-b 'touch /tmp/never' ${target} ${target}`);
  await told('no files are written and no programs run');
  await looked('experiment-new');
  await page.getByRole('radio', { name: /^find/ }).check();
  await options.fill(`'p90<2s' -r 20/s --up-to 40/s -d 2s ${target}`);
  await page.getByText(/can be run/).waitFor();
  await page.getByLabel('Name').fill('How much');
  assert.equal(loaded.length, 0, 'nobody looks at an experiment yet');
  complaints.splice(0, complaints.length, ...complaints.filter((said) => !said.includes('422')));
  await start.click();

  // It is watched while it goes on, by others as well, and nothing else starts meanwhile.
  await page.locator('.tag.on', { hasText: 'Live' }).waitFor();
  await page.getByText('Still running').waitFor();
  assert.equal(loaded.length, 1, 'what draws it is asked for once');
  const id = new URL(page.url()).pathname.split('/').pop();
  const refused = await page.evaluate(async ([url]) => {
    const command = `find 'p90<2s' -r 20/s -d 1s ${url}`;
    return (await fetch('/api/v1/experiments', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ command }) })).status;
  }, [target]);
  assert.equal(refused, 409);
  const viewer = await (await other()).newPage();
  await viewer.goto(look);
  await viewer.goto(page.url());
  await viewer.getByText('Still running').waitFor();
  assert.equal(await viewer.getByRole('button', { name: 'Stop', exact: true }).count(), 0);
  assert.equal((await viewer.evaluate(async (path) => (await fetch(path)).json(), `/api/v1/experiments/${id}`)).words, undefined, 'what was typed is not for viewers');
  await looked('experiment-live');
  await page.getByRole('button', { name: 'Stop', exact: true }).click();

  // Stopped, it says what is known; it goes on from there, and its page follows.
  await page.getByRole('button', { name: 'Continue' }).waitFor();
  const before = await page.evaluate(async (path) => (await fetch(path)).json(), `/api/v1/experiments/${id}`);
  assert.deepEqual([before.state, before.exit, before.can_go_on, before.command.slice(0, 3)], ['over', 21, true, ['brunt', 'find', 'p90<2s']]);
  await looked('experiment-stopped');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.locator('.tag.on', { hasText: 'Live' }).waitFor();
  await page.locator('.tag.on').waitFor({ state: 'detached', timeout: 60000 });
  const over = await page.evaluate(async (path) => (await fetch(path)).json(), `/api/v1/experiments/${id}`);
  assert.deepEqual([over.state, over.exit, over.can_go_on], ['over', 0, false]);
  assert.ok(over.bytes > before.bytes, 'its record holds more runs');
  await page.locator('.answer', { hasText: over.answer.en }).waitFor();
  await viewer.locator('.answer', { hasText: over.answer.en }).waitFor();
  await viewer.context().close();
  // The page follows language and theme, though it is drawn by a script of its own.
  await page.getByRole('button', { name: '中文', exact: true }).click();
  await page.locator('.answer', { hasText: over.answer.zh }).waitFor();
  await page.getByRole('button', { name: 'EN', exact: true }).click();
  await page.locator('.chart').first().focus();
  await page.keyboard.press('Home');
  assert.ok((await page.locator('.chart .tip').first().textContent()).length > 3, 'points are told');
  await page.keyboard.press('Escape');
  await looked('experiment');
  const document = await page.evaluate(async (path) => (await fetch(path)).json(), `/api/v1/experiments/${id}/report?format=json`);
  assert.match(document.schema, /^brunt-/);

  const record = Buffer.from(await page.evaluate(async (path) => [...new Uint8Array(await (await fetch(path)).arrayBuffer())], `/api/v1/experiments/${id}/record`));

  // The list has its answer; one begins anew from it; it is deleted.
  await page.getByRole('link', { name: 'Run again' }).click();
  await page.waitForFunction((words) => document.querySelector('textarea').value === words, `'p90<2s' -r 20/s --up-to 40/s -d 2s ${target}`);
  await page.getByRole('link', { name: 'Experiments' }).first().click();
  await page.getByText(over.answer.en).waitFor();
  await looked('experiments');
  await page.getByRole('link', { name: 'How much' }).click();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Delete permanently?' }).click();
  await page.getByText('No experiments yet.').waitFor();
  // Its record, dropped where runs are, comes back.
  await page.getByRole('link', { name: 'Runs', exact: true }).click();
  await page.locator('input[type=file]').setInputFiles({ name: 'from-ci.bruntexp', mimeType: 'application/zstd', buffer: record });
  await page.getByRole('link', { name: 'from-ci.bruntexp was imported' }).click();
  await page.locator('.answer', { hasText: over.answer.en }).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Continue' }).count(), 0);
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Delete permanently?' }).click();
  await page.getByText('No experiments yet.').waitFor();
  complaints.splice(0, complaints.length, ...complaints.filter((said) => !/409/.test(said)));
  await page.goto(origin);
}
