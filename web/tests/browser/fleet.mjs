// The fleet in the console: none, made, its agents there, a run on two of them, one of which falls silent, and its report.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A port that is free now. */
async function freePort() {
  const { createSocket } = await import('node:dgram');
  const socket = createSocket('udp4');
  await new Promise((done) => socket.bind(0, '127.0.0.1', done));
  const { port } = socket.address();
  await new Promise((done) => socket.close(done));
  return String(port);
}

export async function fleet({ brunt, start, environment, home, page, other, look, origin, target, looked, complaints }) {
  await page.getByRole('link', { name: 'Fleet' }).click();
  await page.getByText('There is no fleet yet.').waitFor();
  await page.getByText('brunt fleet init --host HOST eu-1 eu-2', { exact: true }).waitFor();
  await looked('fleet-none');
  await page.goto(`${origin}/new`);
  await page.getByText('can be run').waitFor();
  assert.equal(await page.getByLabel('Agents').count(), 0, 'without a fleet there are none to choose');
  if (!existsSync(join(dirname(brunt), 'brunt-link'))) {
    console.log('brunt-link is not built: no agents in this browser');
    return;
  }
  // One that is made is found, and so are agents that come; nobody loads the page again.
  await page.goto(`${origin}/fleet`);
  const made = execFileSync(brunt, ['fleet', 'init', '--host', '127.0.0.1', '--port', await freePort(), 'asia-1', 'eu-1', 'eu-2'], { env: environment }).toString();
  await page.getByText('Not there: asia-1, eu-1, eu-2').waitFor();
  await page.getByText('No agent is there.').waitFor();
  await looked('fleet-nobody');
  const agents = made.split('\n').filter((line) => line.startsWith('brunt agent ')).slice(1).map((line, i) => {
    const more = i ? ['--allow', '127.0.0.0/8', '--max-rate', '5000/s'] : [];
    return start([...line.split(' ').slice(1), '--label', 'eu', ...more], { XDG_STATE_HOME: join(home, `agent-${i}`) });
  });
  for (const name of ['eu-1', 'eu-2']) await page.locator('tr', { hasText: name }).getByText('idle').waitFor();
  await page.getByText('2 agents are there · Not there: asia-1').waitFor();
  await page.getByText('127.0.0.0/8 · up to 5,000/s').waitFor();
  await looked('fleet');

  // A selection that is none, or cannot be had, is told at its field.
  await page.goto(`${origin}/new`);
  await page.getByLabel('URL').fill(target);
  await page.getByLabel('Rate', { exact: true }).check();
  await page.getByLabel('Rate', { exact: true }).last().fill('200');
  await page.getByLabel('Duration').fill('25s');
  const which = page.getByRole('textbox', { name: 'Agents' });
  const begin = page.getByRole('button', { name: 'Start', exact: true }).last();
  await which.fill('eu!');
  await page.locator('#no-agents', { hasText: 'not `eu!`' }).waitFor();
  assert.ok(await begin.isDisabled());
  await looked('new-agents');
  await which.fill('3');
  await page.getByText('can be run').waitFor();
  await begin.click();
  await page.locator('#no-agents', { hasText: '2 can take a share now' }).waitFor();
  complaints.splice(0, complaints.length, ...complaints.filter((said) => !said.includes('422')));
  await which.fill('label=eu');
  await page.getByText('can be run').waitFor();
  await begin.click();

  // Live: who is in, the rate of each, and what is known while one says nothing.
  await page.locator('#agents li', { hasText: 'eu-1 eu · in' }).waitFor({ timeout: 30000 });
  await page.locator('#agents-rate').waitFor();
  const viewer = await (await other()).newPage();
  await viewer.goto(look);
  await viewer.goto(`${origin}/fleet`);
  await viewer.locator('tr', { hasText: 'eu-1' }).getByRole('link', { name: 'running' }).waitFor();
  process.kill(-agents[1].pid, 'SIGSTOP');
  await page.getByText(/50\.0 % of the load is missing/).waitFor({ timeout: 20000 });
  await page.locator('#agents li', { hasText: 'eu-2 eu · silent' }).waitFor();
  await page.locator('#agents-rate').scrollIntoViewIfNeeded();
  await looked('live-agents');
  process.kill(-agents[1].pid, 'SIGCONT');
  await page.locator('#agents li', { hasText: 'eu-2 eu · in' }).waitFor({ timeout: 20000 });
  await viewer.locator('tr', { hasText: 'eu-1' }).getByRole('link', { name: 'running' }).click();
  await viewer.locator('#agents li', { hasText: 'eu-1 eu' }).waitFor();
  await viewer.context().close();
  await page.locator('#verdict').waitFor({ timeout: 60000 });
  assert.deepEqual(await page.locator('#agents tbody').first().locator('tr th, tr td:first-child').allTextContents(), ['eu-1', 'eu-2']);
  await page.locator('#agents-latency').scrollIntoViewIfNeeded();
  await looked('report-agents');

  // An experiment has the field, too.
  await page.goto(`${origin}/experiments/new`);
  await page.getByText('can be run').waitFor();
  await page.getByRole('textbox', { name: 'Agents' }).fill('0');
  await page.locator('#no-agents', { hasText: 'not `0`' }).waitFor();
  complaints.splice(0, complaints.length, ...complaints.filter((said) => !said.includes('422')));
}
