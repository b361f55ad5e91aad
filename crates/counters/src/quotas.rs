//! The CPU quotas that processes run under, and their enforcement.
//!
//! Groups are nested, and any of them may have a quota. The tightest is reported. Enforcement is counted, for each
//! interval between two readings, for the group that was throttled longest in it, since that group's quota was the one
//! in effect.

use crate::counters::CounterSink;
use crate::parse::quota::{CgroupVersion, Quota, QuotaEnforcement, enforced, folders};
use crate::source::{CounterSource, PersistentFile, reason};

/// Number of readings between searches for quotas, which seldom change.
const LOOKS: u32 = 10;
/// Maximum number of processes whose groups are searched.
const MEMBERS: usize = 8;

/// A group with a quota.
#[derive(Debug)]
struct QuotaGroup {
    folder: String,
    quota: Quota,
    stat: PersistentFile,
    last: Option<QuotaEnforcement>,
}

/// The groups of one or several processes.
#[derive(Debug, Default)]
pub(crate) struct Quotas {
    members: Vec<String>,
    groups: Vec<QuotaGroup>,
    sums: Option<QuotaEnforcement>,
    looks_left: u32,
    unobservable: Option<&'static str>,
}

impl Quotas {
    /// Sets the processes by their folders (`/proc/7`).
    pub fn follow(&mut self, processes: impl Iterator<Item = String>) {
        let members: Vec<String> = processes.take(MEMBERS).collect();
        if members != self.members {
            self.members = members;
            self.looks_left = 0;
        }
    }

    /// Adds the counters under `NAME.cgroup`; none if there is no quota.
    pub fn report(&mut self, source: &CounterSource, buffer: &mut Vec<u8>, name: &str, sink: &mut CounterSink) {
        match self.looks_left.checked_sub(1) {
            Some(left) => self.looks_left = left,
            None => self.find(source),
        }
        if let Some(excuse) = self.unobservable {
            sink.unobservable(&format!("{name}.cgroup"), excuse);
        }
        let Some(tightest) = self.groups.iter().map(|group| group.quota).min_by(|a, b| a.cores().total_cmp(&b.cores()))
        else {
            return;
        };
        sink.put(&[name, "cgroup", "quota_us"], tightest.quota_us);
        sink.put(&[name, "cgroup", "period_us"], tightest.period_us);
        self.count(source, buffer);
        if let Some(sums) = self.sums {
            sink.put(&[name, "cgroup", "periods"], sums.periods);
            sink.put(&[name, "cgroup", "throttled"], sums.throttled);
            sink.put(&[name, "cgroup", "throttled_us"], sums.throttled_us);
        }
    }

    /// Finds the groups that have a quota now.
    fn find(&mut self, source: &CounterSource) {
        self.looks_left = LOOKS - 1;
        self.unobservable = None;
        let mut found: Vec<QuotaGroup> = Vec::new();
        for member in &self.members {
            let folders = match source.text(&format!("{member}/cgroup")) {
                Ok(text) => folders(&text),
                Err(error) => {
                    self.unobservable = Some(reason(&error));
                    continue;
                }
            };
            if folders.is_none() {
                self.unobservable = Some("other namespace");
            }
            for (version, folder) in folders.unwrap_or_default() {
                if found.iter().any(|group| group.folder == folder) {
                    continue;
                }
                let Some(quota) = quota(source, version, &folder) else { continue };
                let known = self.groups.iter().find(|group| group.folder == folder);
                let last = known.and_then(|group| group.last);
                found.push(QuotaGroup { stat: PersistentFile::new(format!("{folder}/cpu.stat")), quota, last, folder });
            }
        }
        self.groups = found;
    }

    /// Adds the enforcement since the last reading.
    fn count(&mut self, source: &CounterSource, buffer: &mut Vec<u8>) {
        let mut felt: Option<(QuotaEnforcement, f64)> = None;
        for group in &mut self.groups {
            let Some(now) = group.stat.read(source, buffer).ok().and_then(|text| enforced(&text)) else { continue };
            // The first reading counts everything since the group was created; groups that appear later are counted
            // from then on.
            let before =
                group.last.replace(now).unwrap_or(if self.sums.is_none() { QuotaEnforcement::default() } else { now });
            let (since, cores) = (now - before, group.quota.cores());
            let more = felt.is_none_or(|(most, least)| {
                since.throttled_us > most.throttled_us || (since.throttled_us == most.throttled_us && cores < least)
            });
            if more {
                felt = Some((since, cores));
            }
        }
        if let Some((since, _)) = felt {
            let sums = self.sums.get_or_insert_default();
            sums.periods += since.periods;
            sums.throttled += since.throttled;
            sums.throttled_us += since.throttled_us;
        }
    }
}

fn quota(source: &CounterSource, version: CgroupVersion, folder: &str) -> Option<Quota> {
    let text = |name: &str| source.text(&format!("{folder}/{name}")).ok();
    match version {
        CgroupVersion::Two => Quota::v2(&text("cpu.max")?),
        CgroupVersion::One => Quota::v1(&text("cpu.cfs_quota_us")?, &text("cpu.cfs_period_us")?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::{expected, found};
    use crate::fake_host::FakeHost;
    use brunt_measure::Nanos;

    const PREFIX: &str = "self.cgroup.";

    fn of_self() -> Quotas {
        let mut quotas = Quotas::default();
        quotas.follow(["/proc/self".to_owned()].into_iter());
        quotas
    }

    fn told(quotas: &mut Quotas, fake: &FakeHost) -> Vec<(String, u64)> {
        found(|sink| quotas.report(&fake.source(), &mut Vec::new(), "self", sink))
    }

    /// Expected counters: periods, throttled, microseconds throttled, quota, with a period of 100 ms.
    fn wanted(periods: u64, throttled: u64, throttled_us: u64, quota_us: u64) -> Vec<(String, u64)> {
        let names = ["period_us", "periods", "quota_us", "throttled", "throttled_us"];
        let values = [100_000, periods, quota_us, throttled, throttled_us];
        names.iter().zip(values).map(|(name, value)| (format!("{PREFIX}{name}"), value)).collect()
    }

    fn stat(periods: u64, throttled: u64, throttled_us: u64) -> String {
        format!("usage_usec 5\nnr_periods {periods}\nnr_throttled {throttled}\nthrottled_usec {throttled_us}\n")
    }

    #[test]
    fn of_nested_groups_the_tightest_is_told_and_the_one_that_is_felt_counted() {
        let fake = FakeHost::new(&[
            ("proc/self/cgroup", "0::/pod/box\n"),
            ("sys/fs/cgroup/cpu.stat", "usage_usec 5\n"),
            ("sys/fs/cgroup/pod/cpu.max", "200000 100000\n"),
            ("sys/fs/cgroup/pod/cpu.stat", &stat(100, 0, 0)),
            ("sys/fs/cgroup/pod/box/cpu.max", "50000 100000\n"),
            ("sys/fs/cgroup/pod/box/cpu.stat", &stat(40, 4, 400)),
        ]);
        let mut quotas = of_self();
        assert_eq!(told(&mut quotas, &fake), wanted(40, 4, 400, 50_000));
        fake.write("sys/fs/cgroup/pod/box/cpu.stat", &stat(50, 6, 600));
        assert_eq!(told(&mut quotas, &fake), wanted(50, 6, 600, 50_000));
        // Sibling groups use up the shared quota.
        fake.write("sys/fs/cgroup/pod/cpu.stat", &stat(109, 7, 9000));
        fake.write("sys/fs/cgroup/pod/box/cpu.stat", &stat(60, 7, 700));
        assert_eq!(told(&mut quotas, &fake), wanted(59, 13, 9600, 50_000));
        // The quota is removed: noticed within ten readings.
        fake.write("sys/fs/cgroup/pod/box/cpu.max", "max 100000\n");
        let after: Vec<_> = (0..LOOKS).map(|_| told(&mut quotas, &fake)).collect();
        assert!(after.iter().any(|told| *told == wanted(59, 13, 9600, 200_000)), "{after:?}");
    }

    #[test]
    fn version_1_tells_nanoseconds_and_two_files() {
        let fake = FakeHost::new(&[
            ("proc/self/cgroup", "4:cpu,cpuacct:/docker/x\n3:memory:/\n"),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "150000\n"),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.stat", "nr_periods 7\nnr_throttled 3\nthrottled_time 5000999\n"),
        ]);
        assert_eq!(told(&mut of_self(), &fake), wanted(7, 3, 5000, 150_000));
    }

    #[test]
    fn without_a_quota_nothing_is_told_and_without_groups_why() {
        let none = [("proc/self/cgroup", "1:cpu:/\n0::/\n"), ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n")];
        for (files, denied, said) in [
            (&none[..], vec![], None),
            (&[], vec![], Some("self.cgroup: no such file")),
            (&none[..], vec!["/proc/self/cgroup"], Some("self.cgroup: permission")),
            (&[("proc/self/cgroup", "0::/../x\n")], vec![], Some("self.cgroup: other namespace")),
        ] {
            let fake = FakeHost::new(files);
            let source = CounterSource { denied, ..fake.source() };
            let mut sink = CounterSink::default();
            of_self().report(&source, &mut Vec::new(), "self", &mut sink);
            let counters = sink.take(Nanos::ZERO);
            assert_eq!((counters.values.len(), counters.unobservable.first().map(String::as_str)), (0, said));
        }
    }

    #[test]
    fn a_group_whose_enforcement_cannot_be_read_has_its_quota() {
        let fake = FakeHost::new(&[("proc/self/cgroup", "0::/\n"), ("sys/fs/cgroup/cpu.max", "50000 100000\n")]);
        let quota = expected(&[("self.cgroup.period_us", 100_000), ("self.cgroup.quota_us", 50_000)]);
        assert_eq!(told(&mut of_self(), &fake), quota);
    }
}
