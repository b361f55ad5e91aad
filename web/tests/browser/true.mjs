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
    close(figures.quantiles[key].ns, (bound ?? whole[`${key}_us`] ?? null) === null ? null : (bound ?? whole[`${key}_us`]) * 1000, 1e-9, `${name}: ${key}`);
    same(figures.quantiles[key].atLeast, bound !== undefined, `${name}: whether ${key} is a lower bound`);
  }
  everySecond(figures.seconds, json, name);
  // The seconds' histograms, merged, are the run's: to the bucket.
  same(figures.count, whole.count, `${name}: requests in the histograms`);
  for (const [q, key] of [['0.5', 'p50'], ['0.99', 'p99'], ['0.999', 'p99_9']]) {
    const wanted = whole[`${key}_at_least_us`] ?? whole[`${key}_us`] ?? null;
    close(figures.merged[q].ns, wanted === null ? null : wanted * 1000, 1e-6, `${name}: ${key} of all seconds`);
  }
  scenarios(figures, json, name);
  parts(figures, json, name);
  same(figures.codes, json.status, `${name}: codes of all seconds`);
  await tables(page, json, name);
}

/** What is drawn of scenarios and of iterations, second by second and as a whole. */
function scenarios(figures, json, name) {
  json.iterations.forEach((told, i) => {
    for (const key of ['started', 'succeeded', 'failed', 'cut', 'dropped']) same(figures.iterations[i][key], told[key], `${name}: ${key} of row ${i} of iterations`);
    same(figures.iterations[i].group, told.name === 'iteration' ? null : told.name, `${name}: what row ${i} of iterations is of`);
    const over = figures.iterationsOverTime[i];
    const sum = (values) => values.reduce((all, perS, at) => all + (perS ?? 0) * (over.x[at + 1] - over.x[at]), 0);
    // A rest that is too short for a rate is not drawn.
    that(sum(over.succeeded) <= told.succeeded + 1e-6 && sum(over.succeeded) >= told.succeeded * 0.9 - 20, `${name}: iterations over time: ${sum(over.succeeded)} of ${told.succeeded}`);
  });
  (json.scenarios ?? []).forEach((told, i) => {
    for (const [key, wanted] of [['scheduled', told.scheduled], ['succeeded', told.succeeded], ['failed', told.failed], ['unfinished', told.unfinished], ['users', told.users_mean]]) {
      close(figures.scenarios[i][key], wanted, 1e-9, `${name}: ${key} of ${told.name}`);
    }
    for (const key of ['p50', 'p95', 'p99']) {
      const wanted = told.latency[`${key}_at_least_us`] ?? told.latency[`${key}_us`] ?? null;
      close(figures.scenarios[i][key].ns, wanted === null ? null : wanted * 1000, 1e-9, `${name}: ${key} of ${told.name}`);
    }
    json.seconds.forEach((second, at) => {
      const of = second.scenarios[i];
      const wanted = [of.users, of.scheduled, of.succeeded, of.failed, of.iterations_started, of.iterations_succeeded];
      same([...figures.flows[at][i].slice(0, 6), figures.flows[at][i][7]], [...wanted, of.iterations_dropped], `${name}: ${told.name} in second ${at}`);
    });
  });
}

/** Where the time went: of the run, and over time. */
function parts(figures, json, name) {
  for (const { key, count, mean, p50 } of figures.parts) {
    const told = json.phases[key] ?? json.latency[key];
    same(count, told.count, `${name}: count of ${key}`);
    close(mean.ns, (told.mean_at_least_us ?? told.mean_us) * 1000, 1e-9, `${name}: mean of ${key}`);
    const wanted = told.p50_at_least_us ?? told.p50_us;
    close(p50.ns, wanted === null ? null : wanted * 1000, 1e-9, `${name}: p50 of ${key}`);
  }
  const drawn = figures.partsOverTime.lines.find(({ key }) => key === 'first_byte');
  const known = (drawn?.values ?? []).filter((v) => v !== null);
  // Sums of blocks are whole microseconds.
  const mean = json.phases.first_byte.mean_us * 1000;
  if (known.length) that(Math.min(...known) <= mean + 1000 && Math.max(...known) >= mean - 1000, `${name}: means of blocks lie around that of the run`);
  const { below, between, above } = figures.ranges;
  const whole = headline(json.latency);
  same(below + between + above, whole.count - whole.unanswered, `${name}: requests in ranges`);
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
      const wanted = latency[`${key}_at_least_us`] ?? latency[`${key}_us`] ?? null;
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
  same(await page.locator('#failures .when').count(), json.failures.length, `${name}: each sort of failure has its moments`);
  same(failed.reduce((sum, n) => sum + Number(n.replaceAll(',', '')), 0), json.failures.reduce((sum, one) => sum + one.count, 0), `${name}: failures listed`);
}
