// Counters of hosts over time: counts as rates, sizes unchanged, and the most informative ones grouped into charts.

import type { Line } from '../components/types';
import type { Unit } from './format';
import { t, type Text } from './i18n';
import type { Counter } from './run.svelte';

/** Readings of a host: their times in seconds, and its counters by name. */
export interface HostReadings {
  at: readonly number[];
  counters: ReadonlyMap<string, Counter>;
  /** Number of readings from one record of the less important counters to the next. */
  coarse: number;
}

const COUNTED = [
  /^cpu\.(all|\d+)\./, /^psi\./, /^(Tcp|Udp|UdpLite|Ip|Icmp|IcmpMsg|Ip6|Icmp6|Udp6)\.(?!CurrEstab|Rto|MaxConn|DefaultTTL|Forwarding)/, /^(TcpExt|IpExt|MPTcpExt)\./,
  /^softnet\./, /^net\..*\.(rx|tx)_/, /^conntrack\.(drop|early_drop|insert_failed)/, /\.(cpu|wait|voluntary|involuntary|drops|throttled|throttled_us|periods|retransmits)$/,
  /^vm\.oom_kill$/, /^nginx\.(accepts|handled|requests)$/, /^redis\.(total_|cmdstat_.*\.calls|keyspace_|evicted|expired|rejected)/, /^mysql\.(Questions|Queries|Com_|Innodb_.*_(reads|writes|waits|requests)|Bytes_|Connections|Aborted_|Created_|Handler_)/,
  /^postgres\.database\.(xact_|blks_|tup_|deadlocks|temp_)/,
];

/** Returns whether a counter only increases, so that its rate of increase is shown. */
export function isCounted(name: string, values: readonly (number | null)[]): boolean {
  if (COUNTED.some((pattern) => pattern.test(name))) return true;
  if (/^(redis|mysql|postgres|prometheus|log)\./.test(name)) {
    const known = values.filter((v): v is number => v !== null);
    return known.length > 3 && known.every((v, i) => i === 0 || v >= known[i - 1]);
  }
  return false;
}

/** Maximum time in seconds for which a counter may be missing before its line ends. */
const BETWEEN = 10;
/** Minimum time between two readings, in seconds, for a rate. */
const SHORTEST = 0.2;

/**
 * Returns a counter at each reading of its host, carried forward while it is unchanged; null where it could not be read
 * or was not recorded yet.
 */
export function carried(host: HostReadings, name: string): (number | null)[] {
  const counter = host.counters.get(name);
  const all: (number | null)[] = [];
  let [next, now, gone] = [0, null as number | null, null as number | null];
  for (const at of host.at) {
    while (counter && next < counter.at.length && counter.at[next] <= at + 1e-9) {
      const value = counter.value[next++];
      if (value === null) gone ??= at;
      else [now, gone] = [value, null];
    }
    // Expensive counters are read less often, and are not missing in between.
    all.push(gone !== null && at - gone > BETWEEN ? null : now);
  }
  return all;
}

/** Returns the increase per second between a counter's readings; null if it restarted from a lower value. */
export function grown(host: HostReadings, name: string): (number | null)[] {
  const values = carried(host, name);
  const step = host.counters.get(name)?.coarse ? host.coarse : 1;
  const rates: (number | null)[] = new Array(values.length).fill(null);
  for (let i = 0; i < values.length - 1; ) {
    const end = Math.min(i + step, values.length - 1);
    const [before, after] = [values[i], values[end]];
    const rate = before === null || after === null || after < before || host.at[end] - host.at[i] < SHORTEST ? null : (after - before) / (host.at[end] - host.at[i]);
    for (; i < end; i++) rates[i] = rate;
  }
  return rates;
}

/** Adds lines; null where any of them is unknown. */
export function added(lines: readonly (readonly (number | null)[])[]): (number | null)[] {
  return (lines[0] ?? []).map((_, i) => lines.reduce<number | null>((sum, line) => (sum === null || line[i] === null ? null : sum + line[i]!), 0));
}

export interface CounterChart {
  key: string;
  title: Text;
  unit: Unit;
  lines: Line[];
  note?: string;
}

const COLORS = ['succeeded', 'failed', 'users', 'run-d', 'run-e', 'p99', 'sent', 'scheduled'];

interface Part {
  name: string | RegExp;
  label?: Text;
  scale?: number;
}

const CHARTS: { key: string; title: Text; unit: Unit; parts: Part[]; even?: boolean }[] = [
  { key: 'queue', title: t('Listen queue', 'accept 队列'), unit: 'number', parts: [{ name: /^listener\..*\.queue$/ }, { name: /^listener\..*\.limit$/ }] },
  { key: 'listen', title: t('Dropped at the listen queue, per second', 'accept 队列丢弃（每秒）'), unit: 'number', parts: [{ name: 'TcpExt.ListenOverflows' }, { name: 'TcpExt.ListenDrops' }, { name: 'TcpExt.TCPReqQFullDrop' }] },
  { key: 'service-cpu', title: t('Service CPU, cores', '服务 CPU（核）'), unit: 'cores', parts: [{ name: 'service.all.cpu', label: t('all threads', '全部线程'), scale: 1e-9 }, { name: 'service.all.busiest.cpu', label: t('busiest thread', '最忙的线程'), scale: 1e-9 }, { name: 'service.all.wait', label: t('waiting for a core', '等待 CPU'), scale: 1e-9 }] },
  { key: 'throttled', title: t('Throttled by a CPU quota, share of time', '被 CPU 配额限制（时间占比）'), unit: 'percent', parts: [{ name: 'service.cgroup.throttled_us', scale: 1e-4 }, { name: 'self.cgroup.throttled_us', scale: 1e-4 }] },
  { key: 'pressure', title: t('Pressure: share of time that tasks waited', '压力：有任务等待的时间占比'), unit: 'percent', parts: [{ name: 'psi.cpu.some', scale: 1e-4 }, { name: 'psi.io.some', scale: 1e-4 }, { name: 'psi.memory.some', scale: 1e-4 }] },
  { key: 'segments', title: t('TCP segments per second', 'TCP 段（每秒）'), unit: 'number', parts: [{ name: 'Tcp.OutSegs' }, { name: 'Tcp.RetransSegs' }, { name: 'TcpExt.TCPTimeouts' }] },
  { key: 'opens', title: t('TCP connections opened per second', 'TCP 新建连接（每秒）'), unit: 'number', parts: [{ name: 'Tcp.ActiveOpens' }, { name: 'Tcp.PassiveOpens' }] },
  { key: 'sockets', title: t('TCP sockets', 'TCP 套接字'), unit: 'number', parts: [{ name: 'sockstat.TCP.inuse' }, { name: 'sockstat.TCP.tw' }, { name: 'service.connections' }] },
  { key: 'rtt', title: t('Round-trip time of connections (kernel)', '连接往返时间（内核）'), unit: 'ns', parts: [{ name: 'service.tcp.rtt', scale: 1e3 }, { name: 'target.tcp.rtt', scale: 1e3 }] },
  { key: 'network', title: t('Network bytes per second', '网卡流量（每秒字节）'), unit: 'bytes/s', parts: [{ name: /^net\..*\.[rt]x_bytes$/ }] },
  { key: 'memory', title: t('Memory', '内存'), unit: 'bytes', parts: [{ name: 'mem.available' }, { name: 'service.all.rss' }, { name: 'self.rss' }], even: true },
  { key: 'running', title: t('Runnable threads', '可运行线程数'), unit: 'number', parts: [{ name: 'load.running' }] },
  { key: 'files', title: t('File descriptors and threads of the service', '服务的文件描述符与线程'), unit: 'number', parts: [{ name: 'service.all.fds' }, { name: 'service.all.threads' }] },
  { key: 'nginx', title: t('nginx: connections', 'nginx：连接'), unit: 'number', parts: [{ name: /^nginx\.(active|reading|writing|waiting)$/ }] },
  { key: 'redis', title: t('Redis', 'Redis'), unit: 'number', parts: [{ name: /^redis\.(connected_clients|instantaneous_ops_per_sec)$/ }] },
  { key: 'mysql', title: t('MySQL: threads', 'MySQL：线程'), unit: 'number', parts: [{ name: /^mysql\.Threads_/ }] },
  { key: 'postgres', title: t('PostgreSQL: sessions', 'PostgreSQL：会话'), unit: 'number', parts: [{ name: /^postgres\.activity\./ }] },
];

const BUSY = ['user', 'system', 'irq', 'softirq', 'steal'];

/** Returns the name of a counter on a chart. */
function short(name: string): string {
  return name.replace(/^(TcpExt|Tcp|sockstat|psi|listener)\./, '').replace(/_bytes$/, '');
}

/** Returns the most informative charts of a host, without those in which nothing changed. */
export function charts(host: HostReadings, lang: 'en' | 'zh'): CounterChart[] {
  const all: CounterChart[] = [];
  const cpu = cpuChart(host, lang);
  if (cpu) all.push(cpu);
  for (const { key, title, unit, parts, even } of CHARTS) {
    const names = parts.flatMap((part) =>
      [...host.counters.keys()].filter((name) => (typeof part.name === 'string' ? name === part.name : part.name.test(name))).sort().map((name) => ({ name, part })),
    );
    const lines = names.slice(0, COLORS.length).map(({ name, part }, i): Line => lineOf(host, name, COLORS[i], part.label ? part.label[lang] : short(name), part.scale));
    const telling = lines.filter((line) => even || moves(line.values));
    if (telling.some((line) => even || (moves(line.values) && !line.key.endsWith('.limit')))) all.push({ key, title, unit, lines: telling });
  }
  return all;
}

/** Returns a counter as a line: its increase per second if it only increases, otherwise its value. */
export function lineOf(host: HostReadings, name: string, color: string, label = name, scale = 1): Line {
  const counted = isCounted(name, host.counters.get(name)?.value ?? []);
  const values = counted ? grown(host, name) : carried(host, name);
  return { key: name, label, color, values: scale === 1 ? values.slice(0, -1) : values.slice(0, -1).map((v) => (v === null ? null : v * scale)) };
}

function moves(values: readonly (number | null)[]): boolean {
  return values.some((v) => v !== null && v !== 0);
}

function cpuChart(host: HostReadings, lang: 'en' | 'zh'): CounterChart | null {
  const known = BUSY.filter((part) => host.counters.has(`cpu.all.${part}`));
  if (!known.length) return null;
  const cores = (parts: string[]): (number | null)[] => added(parts.map((part) => grown(host, `cpu.all.${part}`))).slice(0, -1).map((v) => (v === null ? null : v / 1e9));
  const count = host.counters.get('cpu.count')?.value[0];
  const part = (name: string, label: Text, color: string): Line[] => {
    if (!host.counters.has(`cpu.all.${name}`)) return [];
    const values = cores([name]);
    return moves(values) ? [{ key: name, label: label[lang], color, values }] : [];
  };
  const lines = [
    { key: 'busy', label: t('busy', '占用')[lang], color: 'succeeded', values: cores(known), fill: true },
    ...part('softirq', t('softirq', '软中断'), 'users'),
    ...part('iowait', t('waiting for disk', '等待磁盘'), 'run-e'),
    ...part('steal', t('stolen', '被窃取'), 'failed'),
  ];
  const note = count ? t(`of ${count} cores`, `共 ${count} 核`)[lang] : undefined;
  return { key: 'cpu', title: t('CPU, cores', 'CPU（核）'), unit: 'cores', lines, note };
}
