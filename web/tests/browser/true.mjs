// Pictures are true: the numbers behind each chart are those of the JSON report of the same record.

import { close, same, that } from './that.mjs';

const headline = (latency) => latency.response ?? latency.service;
const QUANTILES = ['p50', 'p90', 'p95', 'p99', 'p99_9', 'max', 'mean'];

export async function drawsTrue(page, json, name) {
  const [figures] = await page.evaluate(() => window.brunt.figures());
  for (const key of ['scheduled', 'succeeded', 'failed', 'unfinished']) same(figures.requests[key], json.requests[key], `${name}: ${key}`);
  close(figures.throughput, json.throughput_per_s, 1e-12, `${name}: throughput`);
  const whole = headline(json.latency);
  for (const key of QUANTILES) {
    const bound = whole[`${key}_at_least_us`];
    close(figures.quantiles[key].ns, (bound ?? whole[`${key}_us`]) === null ? null : (bound ?? whole[`${key}_us`]) * 1000, 1e-9, `${name}: ${key}`);
    same(figures.quantiles[key].atLeast, bound !== undefined, `${name}: whether ${key} is a lower bound`);
  }
  everySecond(figures.seconds, json, name);
  // The seconds' histograms, merged, are the run's: to the bucket.
  same(figures.count, whole.count, `${name}: requests in the histograms`);
  for (const [q, key] of [['0.5', 'p50'], ['0.99', 'p99'], ['0.999', 'p99_9']]) {
    const wanted = whole[`${key}_at_least_us`] ?? whole[`${key}_us`];
    close(figures.merged[q].ns, wanted === null ? null : wanted * 1000, 1e-6, `${name}: ${key} of all seconds`);
  }
  await tables(page, json, name);
}

function everySecond(seconds, json, name) {
  same(seconds.counts.from.length, json.seconds.length, `${name}: seconds`);
  json.seconds.forEach((second, i) => {
    const length = second.to_s - second.from_s;
    close(seconds.counts.from[i], second.from_s, 1e-6, `${name}: second ${i}`);
    for (const [column, key] of [['due', 'scheduled'], ['finished', 'succeeded'], ['failed', 'failed'], ['users', 'users'], ['inFlight', 'in_flight']]) {
      same(seconds.counts[column][i], second[key], `${name}: ${key} of second ${i}`);
    }
    if (length >= 0.2) close(seconds.drawn.succeeded[i], second.throughput_per_s, 1e-6, `${name}: rate of second ${i}`);
    const latency = headline(second.latency);
    for (const key of ['p50', 'p95', 'p99']) {
      const wanted = latency[`${key}_at_least_us`] ?? latency[`${key}_us`];
      close(seconds.drawn[key][i], wanted === null ? null : wanted * 1000, 1e-9, `${name}: ${key} of second ${i}`);
    }
  });
}

/** The tables that stand on the page, as text. */
async function tables(page, json, name) {
  if (json.by_name.length) {
    const rows = await page.locator('#names tbody tr').evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent.trim())));
    same(rows.length, json.by_name.length, `${name}: rows by name`);
    for (const row of rows) {
      const told = json.by_name.find((one) => one.name === row[0]);
      that(told, `${name}: ${row[0]} is a name of the report`);
      same(Number(row[2].replaceAll(',', '')), told.scheduled, `${name}: scheduled of ${row[0]}`);
      same(Number(row[4].split(' ')[0].replaceAll(',', '')), told.failed, `${name}: failed of ${row[0]}`);
    }
  }
  const failed = await page.locator('#failures .n').allTextContents();
  same(failed.reduce((sum, n) => sum + Number(n.replaceAll(',', '')), 0), json.failures.reduce((sum, one) => sum + one.count, 0), `${name}: failures listed`);
}
