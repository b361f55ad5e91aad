//! The counters of hosts as lines of a page: only those that changed, at intervals that fit the size limit.
//!
//! `c`: the host; `t`: time (milliseconds); `v`: changes of the prominent counters; `o`: changes of the others,
//! which are written less often.

use std::collections::BTreeMap;

use brunt_record::{CounterState, CounterValue, HostCounters};
use serde_json::{Map, Value, json};

use super::resolution::{HostCounterSet, Resolution};

/// Counters that a page shows initially, by prefix and suffix; the others are available through its search.
const TELLING: [(&str, &str); 44] = [
    ("cpu.all.", ""),
    ("cpu.count", ""),
    ("psi.", ".some"),
    ("load.running", ""),
    ("Tcp.RetransSegs", ""),
    ("Tcp.OutSegs", ""),
    ("Tcp.CurrEstab", ""),
    ("Tcp.ActiveOpens", ""),
    ("Tcp.PassiveOpens", ""),
    ("TcpExt.ListenOverflows", ""),
    ("TcpExt.ListenDrops", ""),
    ("TcpExt.TCPTimeouts", ""),
    ("TcpExt.TCPReqQFullDrop", ""),
    ("Udp.RcvbufErrors", ""),
    ("sockstat.TCP.inuse", ""),
    ("sockstat.TCP.tw", ""),
    ("softnet.all.dropped", ""),
    ("net.", ".rx_bytes"),
    ("net.", ".tx_bytes"),
    ("mem.available", ""),
    ("mem.total", ""),
    ("self.rss", ""),
    ("self.fds", ""),
    ("self.cgroup.throttled_us", ""),
    ("listener.", ".queue"),
    ("listener.", ".limit"),
    ("listener.", ".drops"),
    ("service.all.cpu", ""),
    ("service.all.wait", ""),
    ("service.all.threads", ""),
    ("service.all.fds", ""),
    ("service.all.rss", ""),
    ("service.all.busiest.cpu", ""),
    ("service.connections", ""),
    ("service.cgroup.throttled_us", ""),
    ("service.tcp.rtt", ""),
    ("target.tcp.rtt", ""),
    ("target.tcp.unread", ""),
    ("target.tcp.retransmits", ""),
    ("nginx.", ""),
    ("redis.connected_clients", ""),
    ("redis.instantaneous_ops_per_sec", ""),
    ("mysql.Threads_", ""),
    ("postgres.activity.", ""),
];

/// Returns `true` if a page shows this counter initially.
pub(super) fn is_prominent(counter: &str) -> bool {
    TELLING.iter().any(|(begins, ends)| counter.starts_with(begins) && counter.ends_with(ends))
}

/// The readings of a run, host by host.
pub(super) struct CounterLines {
    plans: BTreeMap<String, HostCounterSet>,
    live: bool,
    hosts: BTreeMap<String, HostReadings>,
}

/// Limits for a live run: the interval, in readings, of the less prominent counters, the number of hosts, and the
/// number of lines after which the intervals double.
pub(super) const LIVE_COARSE: usize = 5;
const LIVE_HOSTS: usize = 64;
const LIVE_READINGS: usize = 1200;

#[derive(Default)]
struct HostReadings {
    carried: CounterState,
    readings: usize,
    lines: usize,
    /// First reading of each counter, for a live run.
    first: BTreeMap<String, CounterValue>,
    /// Last values written.
    written: BTreeMap<String, Option<CounterValue>>,
}

impl HostReadings {
    /// Returns `true` if the next reading of a live run is written. The longer the run, the fewer readings are written,
    /// so that those of a day fit.
    fn is_due(&self) -> bool {
        let every = 1 << (self.lines / LIVE_READINGS).min(20);
        self.readings.is_multiple_of(every)
    }
}

impl CounterLines {
    /// Creates the state for a run without readings.
    pub fn of(grain: &Resolution) -> CounterLines {
        CounterLines { plans: grain.hosts.clone(), live: grain.live, hosts: BTreeMap::new() }
    }

    /// Adds a reading; returns a line if any of it is written.
    pub fn add(&mut self, sample: &HostCounters) -> Option<Value> {
        let known = self.plans.contains_key(&sample.host);
        if !known && (!self.live || self.plans.len() >= LIVE_HOSTS) {
            return None;
        }
        let plan = self.plans.entry(sample.host.clone()).or_default();
        let host = self.hosts.entry(sample.host.clone()).or_default();
        host.carried.add(sample);
        let at = host.readings;
        if self.live {
            plan.see(sample, &mut host.first);
            let is_due = host.is_due();
            host.readings += 1;
            if !is_due {
                return None;
            }
        } else {
            host.readings += 1;
        }
        // The last reading is written completely: otherwise, the changes since the previous line would be
        // lost.
        let is_last = !self.live && host.readings == plan.readings;
        let lines = host.lines;
        host.lines += 1;
        let every = |name: &str| match (self.live, is_prominent(name)) {
            (false, _) => at.is_multiple_of(plan.interval_of(name)),
            (true, telling) => telling || lines.is_multiple_of(LIVE_COARSE),
        };
        let (mut telling, mut others) = (Map::new(), Map::new());
        for name in plan.changed.iter().filter(|name| is_last || every(name)) {
            let now = host.carried.get(name);
            let before = host.written.insert(name.clone(), now);
            if before.flatten() != now {
                let to = if is_prominent(name) { &mut telling } else { &mut others };
                to.insert(brunt_measure::sanitize::line(name).into_owned(), json!(now));
            }
        }
        let name = brunt_measure::sanitize::line(&sample.host);
        Some(json!({ "c": name, "t": sample.at_ns as f64 / 1e6, "v": telling, "o": others }))
    }
}
