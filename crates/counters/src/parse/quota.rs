//! CPU quotas: `/proc/PID/cgroup`, and `cpu.max`, `cpu.stat` (version 2) or `cpu.cfs_*`, `cpu.stat` (version 1) of the
//! groups that it names.

use std::ops::Sub;

use super::{after, number};

/// The cgroup version, which determines the files of a quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CgroupVersion {
    /// Version 1: two files.
    One,
    /// Version 2: `cpu.max`.
    Two,
}

/// Returns the folders that may hold the quotas of a process, innermost first, given its `/proc/PID/cgroup`. A
/// container sees its own group as the root of the mount, so any of them may be missing. `None` if the groups are
/// outside of our namespace.
pub(crate) fn folders(membership: &str) -> Option<Vec<(CgroupVersion, String)>> {
    let mut found = Vec::new();
    for line in membership.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(group)) = (parts.next(), parts.next(), parts.next()) else { continue };
        let (version, mounts) = match controllers {
            "" => (CgroupVersion::Two, vec!["/sys/fs/cgroup".to_owned(), "/sys/fs/cgroup/unified".to_owned()]),
            _ if controllers.split(',').any(|name| name == "cpu") => {
                let mut mounts = vec!["/sys/fs/cgroup/cpu".to_owned(), format!("/sys/fs/cgroup/{controllers}")];
                mounts.dedup();
                (CgroupVersion::One, mounts)
            }
            _ => continue,
        };
        if group.split('/').any(|part| part == "..") {
            return None;
        }
        for mount in mounts {
            let mut inner = group.trim_end_matches('/');
            loop {
                found.push((version, format!("{mount}{inner}")));
                match inner.rsplit_once('/') {
                    Some((outer, _)) => inner = outer,
                    None => break,
                }
            }
        }
    }
    Some(found)
}

/// A CPU quota: microseconds of CPU time per period in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Quota {
    pub quota_us: u64,
    pub period_us: u64,
}

impl Quota {
    /// Returns the quota in cores.
    pub fn cores(self) -> f64 {
        self.quota_us as f64 / self.period_us as f64
    }

    /// Parses `cpu.max`: `150000 100000`, or `max 100000` if there is no quota.
    pub fn v2(text: &str) -> Option<Quota> {
        let (quota, period) = text.trim().split_once(' ').unwrap_or((text.trim(), "100000"));
        Quota::of(quota, period)
    }

    /// Parses `cpu.cfs_quota_us` (−1 if there is no quota) and `cpu.cfs_period_us`.
    pub fn v1(quota: &str, period: &str) -> Option<Quota> {
        Quota::of(quota.trim(), period.trim())
    }

    fn of(quota: &str, period: &str) -> Option<Quota> {
        let (quota_us, period_us): (u64, u64) = (quota.parse().ok()?, period.parse().ok()?);
        (quota_us > 0 && period_us > 0).then_some(Quota { quota_us, period_us })
    }
}

/// Enforcement statistics of a quota.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct QuotaEnforcement {
    /// Periods in which the group ran at all.
    pub periods: u64,
    /// Periods in which the group was throttled.
    pub throttled: u64,
    /// Throttled time, summed over all cores (microseconds).
    pub throttled_us: u64,
}

/// Parses `cpu.stat`; the root group of version 2 has no quota and no statistics.
pub(crate) fn enforced(stat: &str) -> Option<QuotaEnforcement> {
    let value = |name| after(stat, name).and_then(number);
    let throttled_us = value("throttled_usec ").or_else(|| value("throttled_time ").map(|ns| ns / 1000))?;
    Some(QuotaEnforcement { periods: value("nr_periods ")?, throttled: value("nr_throttled ")?, throttled_us })
}

impl Sub for QuotaEnforcement {
    type Output = QuotaEnforcement;
    fn sub(self, before: QuotaEnforcement) -> QuotaEnforcement {
        QuotaEnforcement {
            periods: self.periods.saturating_sub(before.periods),
            throttled: self.throttled.saturating_sub(before.throttled),
            throttled_us: self.throttled_us.saturating_sub(before.throttled_us),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_both_versions_innermost_first() {
        use CgroupVersion::{One, Two};
        let names = |membership: &str| {
            let folders = folders(membership).unwrap();
            folders
                .into_iter()
                .map(|(version, folder)| (version, folder.replace("/sys/fs/cgroup", "@")))
                .collect::<Vec<_>>()
        };
        let these = |all: &[(CgroupVersion, &str)]| all.iter().map(|(v, f)| (*v, (*f).to_owned())).collect::<Vec<_>>();
        let v2 = [
            (Two, "@/a/b"),
            (Two, "@/a"),
            (Two, "@"),
            (Two, "@/unified/a/b"),
            (Two, "@/unified/a"),
            (Two, "@/unified"),
        ];
        assert_eq!(names("0::/a/b\n"), these(&v2));
        let v1 = [(One, "@/cpu/x"), (One, "@/cpu"), (One, "@/cpu,cpuacct/x"), (One, "@/cpu,cpuacct")];
        assert_eq!(names("5:memory:/m\n4:cpu,cpuacct:/x\nhello\n"), these(&v1));
        assert_eq!(names("1:cpu:/\n0::/\n"), these(&[(One, "@/cpu"), (Two, "@"), (Two, "@/unified")]));
        assert_eq!(names("3:cpuset:/\n"), []);
        assert_eq!(folders("0::/../other\n"), None);
        assert_eq!(folders("0::/a/..b\n").map(|all| all.len()), Some(6));
    }

    #[test]
    fn quotas_and_none() {
        let quota = |quota_us, period_us| Some(Quota { quota_us, period_us });
        for (text, wanted) in [
            ("150000 100000\n", quota(150_000, 100_000)),
            ("50000\n", quota(50_000, 100_000)),
            ("max 100000\n", None),
            ("", None),
            ("x 100000", None),
            ("5 0", None),
        ] {
            assert_eq!(Quota::v2(text), wanted, "{text:?}");
        }
        assert_eq!(Quota::v1("20000\n", "50000\n"), quota(20_000, 50_000));
        assert_eq!(Quota::v1("-1\n", "100000\n"), None);
        assert_eq!(quota(150_000, 100_000).map(Quota::cores), Some(1.5));
    }

    #[test]
    fn enforcement_in_microseconds() {
        let wanted = Some(QuotaEnforcement { periods: 102, throttled: 75, throttled_us: 900 });
        assert_eq!(
            enforced("usage_usec 12\nnr_periods 102\nnr_throttled 75\nthrottled_usec 900\nnr_bursts 0\n"),
            wanted
        );
        assert_eq!(enforced("nr_periods 102\nnr_throttled 75\nthrottled_time 900123\n"), wanted);
        for text in ["", "usage_usec 12\nuser_usec 7\n", "nr_periods 1\nnr_throttled 1\n"] {
            assert_eq!(enforced(text), None, "{text:?}");
        }
    }
}
