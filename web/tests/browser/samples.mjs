// Pages of experiments as brunt fills them: one of each kind, with what such a page may hold at its widest.

const BOTH = [(en) => en, (_, zh) => zh];

/** A page, whose words `told` gives for a language. */
function page(kind, command, exit_code, told, live = false) {
  const [en, zh] = BOTH.map(told);
  return { experiment: { kind, brunt: '0.1.0', unix_ms: Date.UTC(2026, 10, 28, 1, 29), command, exit_code, live, text: { en, zh } } };
}

const answer = (tone, sentence) => ({ block: 'answer', tone, sentence });
const sentences = (...all) => ({ block: 'sentences', sentences: all });
const table = (caption, rows, is_detail = false) => ({ block: 'table', caption, rows, is_detail });
const chart = (title, x, y, series) => ({ block: 'chart', title, x, y, series });
const axis = (label, unit, log = false) => ({ label, unit, log });
const names = (label, all) => ({ label, unit: 'names', names: all, log: false });
const rate = (perS) => `${Math.round(perS).toLocaleString('en')}/s`;

/** Trials of a search: when they ended, the rate, p99 in ms, and how they were judged. */
const TRIALS = [
  [2, 1000, 4.1, 'good'], [5, 2000, 4.4, 'good'], [8, 4000, 5.2, 'good'], [12, 8000, 9.8, 'good'], [17, 16000, 412, 'bad'], [29, 11314, 38.2, 'good'], [41, 13454, 97.5, 'bad'],
  [55, 12338, 49.1, 'doubt'], [70, 12338, 51.3, 'bad'], [85, 11815, 44, 'good'], [118, 12074, 46.9, 'good'], [150, 12205, 50.4, 'bad'],
];

export const find = page('find', ['brunt', 'find', 'p99<50ms', 'failed<0.1%', 'http://127.0.0.1:8080/search?q=a b'], 0, (t) => {
  const of = (tone, name) => ({
    name, kind: 'points', tone,
    points: TRIALS.filter((one) => one[3] === tone).map(([x, y, p99]) => ({ x, y, label: t(`${rate(y)}: p99 ${p99} ms, ${name}`, `${rate(y)}：p99 ${p99} ms，${name}`) })),
  });
  const bound = (tone, name, points) => ({ name, kind: 'steps', tone, points: points.map(([x, y]) => ({ x, y, label: `${name} ${rate(y)}` })) });
  return {
    title: t('find: the highest rate that keeps p99<50ms and failed<0.1%', 'find：满足 p99<50ms 且 failed<0.1% 的最高速率'),
    blocks: [
      answer('good', t('The service holds 12,074/s and no more than 12,205/s with p99 below 50 ms.', '在 p99 低于 50 ms 的条件下，服务可承受 12,074/s，上限不超过 12,205/s。')),
      sentences(
        t('The bounds are 1.1 % apart; 5 % were asked for. 12 trials in 2 min 30 s.', '上下界相差 1.1 %（要求 5 %）。共 12 次试验，用时 2 分 30 秒。'),
        t('Above the bound the CPU of the server limits it: 98 % of its 4 cores (rule S2).', '超过上界后，瓶颈是服务端 CPU：4 个核心已用 98 %（规则 S2）。'),
      ),
      chart(t('The bracket over time', '上下界随时间收窄'), axis(t('time since the start', '已用时间'), 'elapsed'), axis(t('rate', '速率'), 'per_second', true), [
        bound('good', t('bound from below', '下界'), [[2, 1000], [5, 2000], [8, 4000], [12, 8000], [29, 11314], [85, 11815], [118, 12074]]),
        bound('bad', t('bound from above', '上界'), [[17, 16000], [41, 13454], [70, 12338], [150, 12205]]),
        of('good', t('kept', '满足')), of('bad', t('missed', '未满足')), of('doubt', t('undecided', '无法判定')),
      ]),
      table(null, [
        ['#', t('rate', '速率'), t('length', '时长'), 'p99', t('failed', '失败'), t('judged', '判定')],
        ...TRIALS.map(([at, perS, p99, tone], i) => [String(i + 1), rate(perS), `${(at / 6 + 1).toFixed(2)} s`, p99 > 400 ? `≥ ${p99} ms` : `${p99.toFixed(1)} ms`, tone === 'bad' ? '1.20 %' : '0.00 %', tone === 'good' ? t('kept', '满足') : tone === 'bad' ? t('missed', '未满足') : t('undecided', '无法判定')]),
      ], true),
    ],
  };
}, true);

export const compare = page('compare', ['brunt', 'compare', 'http://127.0.0.1:8080/', 'http://127.0.0.1:8081/', '--runs', '6'], 11, (t) => {
  const side = (name, by) => ({
    name, kind: 'points', tone: 'plain',
    points: [0, 1, 2, 3, 4, 5].map((i) => {
      const y = 1000 * (11.2 + by + 0.2 * Math.sin(3 * i + by));
      return { x: i + 1, y, interval: [y * 0.96, i === 4 && by > 0 ? null : y * 1.05], label: t(`${name}, run ${i + 1}: p99 ${(y / 1000).toFixed(1)} ms`, `${name} 第 ${i + 1} 次：p99 ${(y / 1000).toFixed(1)} ms`) };
    }),
  });
  const CHANGES = [['throughput', '吞吐量', -0.021, -0.034, -0.008, 'doubt'], ['p50', 'p50', 0.004, -0.012, 0.02, 'good'], ['p95', 'p95', 0.062, 0.031, 0.094, 'bad'], ['p99', 'p99', 0.124, 0.088, 0.161, 'bad'], ['failed', '失败率', 0, -0.001, 0.001, 'good']];
  const figures = CHANGES.map(([en, zh]) => t(en, zh));
  const percent = (share) => `${share > 0 ? '+' : share < 0 ? '−' : ''}${Math.abs(share * 100).toFixed(1)} %`;
  const verdicts = { good: t('same', '相同'), bad: t('worse', '变差'), doubt: t('cannot tell', '无法判定') };
  const judged = (tone) => ({
    name: verdicts[tone], kind: 'points', tone,
    points: CHANGES.map((one, x) => [x, one]).filter(([, one]) => one[5] === tone).map(([x, [, , y, low, high]]) => ({ x, y, interval: [low, high], label: `${figures[x]} ${percent(y)} (${percent(low)} … ${percent(high)})` })),
  });
  return {
    title: t('compare: is B worse than A?', 'compare：B 是否比 A 差？'),
    blocks: [
      answer('bad', t('B is worse: its p99 is 12.4 % higher (8.8 % to 16.1 %).', 'B 变差：p99 高出 12.4 %（8.8 % 至 16.1 %）。')),
      answer('doubt', t('Whether its throughput is lower cannot be told; 14 more runs would tell.', '吞吐量是否更低无法判定；再运行 14 次即可判定。')),
      sentences(t('A is http://127.0.0.1:8080/, B is http://127.0.0.1:8081/<script>window.bad=1</script>.', 'A 为 http://127.0.0.1:8080/，B 为 http://127.0.0.1:8081/<script>window.bad=1</script>。')),
      chart(t('p99 of each run, in the order of the pairs', '每次运行的 p99，按配对顺序'), axis(t('pair', '配对'), 'number'), axis('p99', 'micros'), [side('A', 0), side('B', 1.4)]),
      chart(t('Change of B against A', 'B 相对 A 的变化'), names('', figures), axis(t('change', '变化'), 'share'), ['good', 'bad', 'doubt'].map(judged)),
      table(null, [
        ['', 'A', 'B', t('change', '变化'), t('interval', '区间'), t('verdict', '结论')],
        ...CHANGES.map(([, , y, low, high, tone], i) => [figures[i], i === 0 ? '12,345/s' : i === 4 ? '0.00 %' : '11.2 ms', i === 0 ? '12,086/s' : i === 4 ? '0.00 %' : '12.6 ms', percent(y), `${percent(low)} … ${percent(high)}`, verdicts[tone]]),
      ]),
    ],
  };
});

const USERS = [1, 2, 4, 8, 16, 32, 64];
const OPTIONS = ['http1, no-keepalive', 'http1, keep-alive', 'h2, 1 connection', 'h2, 4 connections'];

export const sweep = page('sweep', ['brunt', 'sweep', '-c', '1,2,4,8,16,32,64', '--option', 'no-keepalive=on,off', '--repeat', '6', 'http://127.0.0.1:8080/'], 0, (t) => {
  const throughput = (users, option) => ((3000 + 2600 * option) * users) / (1 + 0.08 * (users - 1) + 0.0011 * users * (users - 1));
  const curve = (option) => ({
    name: OPTIONS[option], kind: 'line', tone: 'plain',
    points: USERS.map((x) => ({ x, y: throughput(x, option), interval: [throughput(x, option) * 0.93, throughput(x, option) * 1.06], label: t(`${OPTIONS[option]}, ${x} users: ${rate(throughput(x, option))}`, `${OPTIONS[option]}，${x} 个用户：${rate(throughput(x, option))}`) })),
  });
  const latency = (option) => ({ ...curve(option), points: USERS.map((x) => ({ x, y: (x * 1e6) / throughput(x, option), label: `p95 ${(x * 1e3 / throughput(x, option)).toFixed(2)} ms` })) });
  const cells = {
    name: t('throughput', '吞吐量'), kind: 'cells', tone: 'plain',
    points: OPTIONS.flatMap((name, y) => USERS.map((users, x) => ({ x, y, value: throughput(users, y), label: t(`${name}, ${users} users: ${rate(throughput(users, y))}`, `${name}，${users} 个用户：${rate(throughput(users, y))}`) })).filter(({ x }) => x < 6 || y !== 2)),
  };
  const untrusted = { name: t('not trusted', '不可信'), kind: 'cells', tone: 'doubt', points: [{ x: 6, y: 2, value: 61234, label: t('h2, 1 connection, 64 users: 61,234/s, not trusted', 'h2, 1 connection，64 个用户：61,234/s，不可信') }] };
  const knee = { name: t('knee', '拐点'), kind: 'points', tone: 'doubt', points: [{ x: 16, y: throughput(16, 1), label: t('visual knee at 16 users', '直观拐点：16 个用户') }] };
  return {
    title: t('sweep: users × options of the connection', 'sweep：用户数 × 连接选项'),
    blocks: [
      answer('plain', t('Highest throughput: 99,174/s with 32 users and h2, 4 connections.', '最高吞吐量：32 个用户、h2, 4 connections 时达 99,174/s。')),
      sentences(t('Contention σ 0.080 (0.074 to 0.086), coherency κ 0.0011; peak at 29 users.', '争用 σ 0.080（0.074 至 0.086），一致性 κ 0.0011；峰值位于 29 个用户。')),
      chart(t('Throughput of each cell, in requests per second', '各单元的吞吐量（请求/秒）'), names(t('users', '用户数'), USERS.map(String)), names(t('options', '选项'), OPTIONS), [cells, untrusted]),
      chart(t('Throughput against users', '吞吐量与用户数'), axis(t('users', '用户数'), 'users', true), axis(t('throughput', '吞吐量'), 'per_second'), [0, 1, 2, 3].map(curve).concat(knee)),
      chart(t('p95 against users', 'p95 与用户数'), axis(t('users', '用户数'), 'users', true), axis('p95', 'micros', true), [0, 1, 2, 3].map(latency)),
      table(t('Cells', '单元'), [
        [t('users', '用户数'), t('option', '选项'), t('throughput', '吞吐量'), t('interval', '区间'), 'p50', 'p95', 'p99', t('failed', '失败'), t('efficiency', '效率')],
        ...USERS.flatMap((users) => OPTIONS.map((name, i) => [String(users), name, rate(throughput(users, i)), `${rate(throughput(users, i) * 0.93)} … ${rate(throughput(users, i) * 1.06)}`, '77.2 µs', '86.7 µs', users > 16 ? '1.48 ms' : '148 µs', '0.00 %', `${(100 / users + 40).toFixed(1)} %`])),
      ], true),
    ],
  };
});

const RUNGS = ['empty', 'authentication', 'auth+redis-session-cache', 'mysql', 'recommendation-service'];

export const ladder = page('ladder', ['brunt', 'ladder', ...RUNGS.map((name, i) => `${name}=http://127.0.0.1:8080/${i}`)], 0, (t) => {
  const alone = [120, 310, 560, 2400, 2380];
  const capacity = [42000, 31000, 22500, 3800, 3790];
  const tones = ['plain', 'good', 'good', 'bad', 'doubt'];
  const bars = (tone, name, y, label) => ({ name, kind: 'bars', tone, points: RUNGS.map((_, x) => x).filter((x) => tones[x] === tone).map((x) => ({ x, y: y[x], interval: [y[x] * 0.94, y[x] * 1.07], label: `${RUNGS[x]}: ${label(y[x])}` })) });
  const all = (y, label) => [['plain', t('the first rung', '第一级')], ['good', t('proportionate', '相称')], ['bad', t('limits from here', '从此级起成为瓶颈')], ['doubt', t('not distinguishable', '无法区分')]].map(([tone, name]) => bars(tone, name, y, label));
  const adds = alone.map((us, i) => (i ? us - alone[i - 1] : 0));
  return {
    title: t('ladder: what each dependency costs', 'ladder：每项依赖的代价'),
    blocks: [
      answer('bad', t('mysql costs most: it adds 1.84 ms, and capacity falls to 17 %.', 'mysql 代价最大：增加 1.84 ms，容量降至 17 %。')),
      sentences(t('recommendation-service adds nothing that can be told from noise.', 'recommendation-service 的影响与噪声无法区分。'), t('mysql behaves as a pool of 8: 8 ÷ 2.1 ms = 3,810/s.', 'mysql 的表现相当于容量为 8 的连接池：8 ÷ 2.1 ms = 3,810/s。')),
      chart(t('Capacity of each rung', '各级容量'), names('', RUNGS), axis(t('throughput', '吞吐量'), 'per_second'), all(capacity, rate)),
      chart(t('What each rung adds to the response of a user alone', '每级为单用户响应增加的时间'), names('', RUNGS), axis(t('added time', '增加的时间'), 'micros'), all(adds, (us) => `${us} µs`)),
      chart(t('Throughput as users rise', '吞吐量随用户数上升'), axis(t('users', '用户数'), 'users', true), axis(t('throughput', '吞吐量'), 'per_second', true), RUNGS.map((name, i) => ({ name, kind: 'line', tone: 'plain', points: USERS.map((x) => ({ x, y: capacity[i] / (1 + 6 / x), label: `${name}, ${x}: ${rate(capacity[i] / (1 + 6 / x))}` })) }))),
      table(null, [
        [t('rung', '级'), t('alone', '单用户'), t('capacity', '容量'), t('CPU a request', '每请求 CPU'), t('adds', '增加'), t('keeps', '保留')],
        ...RUNGS.map((name, i) => [name, alone[i] < 1000 ? `${alone[i]} µs` : `${(alone[i] / 1000).toFixed(2)} ms`, rate(capacity[i]), `${(7 + i).toFixed(2)} µs`, i ? `${adds[i] >= 0 ? '+' : '−'}${Math.abs(adds[i])} µs` : '–', i ? `${((100 * capacity[i]) / capacity[i - 1]).toFixed(1)} %` : '–']),
      ]),
    ],
  };
});

const DAY = 86_400_000;
const FIRST = Date.UTC(2025, 10, 20, 3);

export const trend = page('trend', ['brunt', 'trend', 'checkout', '--baseline', 'baseline.json'], 11, (t) => {
  const level = (i) => (i < 70 ? 11.4 : i < 130 ? 10.2 : 12.1);
  const points = Array.from({ length: 186 }, (_, i) => {
    const y = 1000 * (level(i) + 0.25 * Math.sin(i * 7.3) + 0.12 * Math.cos(i * 2.1));
    const day = new Date(FIRST + 2 * i * DAY).toISOString().slice(0, 10);
    return { x: FIRST + 2 * i * DAY, y, label: t(`${day}: p99 ${(y / 1000).toFixed(2)} ms, build ${1000 + i}`, `${day}：p99 ${(y / 1000).toFixed(2)} ms，构建 ${1000 + i}`) };
  });
  const levels = [0, 70, 130].map((i) => ({ x: points[i].x, y: 1000 * level(i), label: t(`level ${level(i)} ms from build ${1000 + i} on`, `自构建 ${1000 + i} 起水平为 ${level(i)} ms`) }));
  return {
    title: t('trend: the history of “checkout”', 'trend：“checkout” 的历史'),
    blocks: [
      answer('bad', t('p99 rose by 18.6 % on 2026-08-07 and has stayed there.', 'p99 于 2026-08-07 上升 18.6 %，此后未回落。')),
      chart(t('p99 of every run, and its level between changes', '每次运行的 p99 及各变化点之间的水平'), axis('', 'moment'), axis('p99', 'micros'), [
        { name: t('runs', '运行'), kind: 'points', tone: 'plain', points }, { name: t('level', '水平'), kind: 'steps', tone: 'bad', points: levels },
      ]),
      table(t('Changes', '变化点'), [[t('since', '自'), t('figure', '指标'), t('before', '之前'), t('after', '之后'), t('change', '变化')], ['2026-04-09', 'p99', '11.4 ms', '10.2 ms', '−10.5 %'], ['2026-08-07', 'p99', '10.2 ms', '12.1 ms', '+18.6 %']]),
    ],
  };
});

export const SAMPLES = { find, compare, sweep, ladder, trend };
