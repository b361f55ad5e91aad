//! Number of cores that this process may use: the smaller of its CPU affinity and its cgroup's quota.
//!
//! A container that may use two of 64 cores and starts 64 workers is throttled, and the latency it measures then comes
//! from the kernel. Reading the files and parsing their text are separate functions.

use std::path::Path;

/// Returns the number of cores available to the process.
pub fn available() -> f64 {
    let affinity = rustix::thread::sched_getaffinity(None).map_or(1, |set| set.count()).max(1);
    let quota = quota(&|path| std::fs::read_to_string(path).ok());
    quota.map_or(f64::from(affinity), |quota| quota.min(f64::from(affinity)))
}

/// Returns the smallest quota of the process's cgroup and its ancestors, in cores; `None` if there is none.
pub fn quota(read: &dyn Fn(&Path) -> Option<String>) -> Option<f64> {
    let memberships = read(Path::new("/proc/self/cgroup"))?;
    let mut least: Option<f64> = None;
    for line in memberships.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next()) else { continue };
        let found = match controllers {
            "" => smallest_quota("/sys/fs/cgroup", path, &|dir| v2(&read(&dir.join("cpu.max"))?)),
            some if some.split(',').any(|name| name == "cpu") => {
                let of = |root| smallest_quota(root, path, &|dir| v1(read, dir));
                of("/sys/fs/cgroup/cpu").or_else(|| of("/sys/fs/cgroup/cpu,cpuacct"))
            }
            _ => None,
        };
        least = [least, found].into_iter().flatten().reduce(f64::min);
    }
    least
}

/// Returns the smallest quota from the group up to the root of the mount. A container sees its own group as the root,
/// so a missing path does not end the search.
fn smallest_quota(root: &str, group: &str, quota_of: &dyn Fn(&Path) -> Option<f64>) -> Option<f64> {
    let root = Path::new(root);
    let inside = root.join(group.trim_start_matches('/'));
    inside.ancestors().take_while(|dir| dir.starts_with(root)).filter_map(quota_of).reduce(f64::min)
}

/// Parses `cpu.max` of cgroup v2: quota and period in microseconds, or `max`.
fn v2(text: &str) -> Option<f64> {
    let mut words = text.split_whitespace();
    let quota: f64 = words.next()?.parse().ok()?;
    let period: f64 = words.next().unwrap_or("100000").parse().ok()?;
    (quota > 0.0 && period > 0.0).then_some(quota / period)
}

/// Reads the two files of cgroup v1; -1 means no quota.
fn v1(read: &dyn Fn(&Path) -> Option<String>, dir: &Path) -> Option<f64> {
    let quota: f64 = read(&dir.join("cpu.cfs_quota_us"))?.trim().parse().ok()?;
    let period: f64 = read(&dir.join("cpu.cfs_period_us"))?.trim().parse().ok()?;
    (quota > 0.0 && period > 0.0).then_some(quota / period)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUP: &str = "/proc/self/cgroup";
    const V2: &str = "/sys/fs/cgroup/cpu.max";
    const QUOTA: &str = "/sys/fs/cgroup/cpu/cpu.cfs_quota_us";
    const PERIOD: &str = "/sys/fs/cgroup/cpu/cpu.cfs_period_us";

    /// Paths and contents.
    type FakeFiles = &'static [(&'static str, &'static str)];

    fn with(files: FakeFiles) -> Option<f64> {
        quota(&|path| files.iter().find(|(name, _)| Path::new(name) == path).map(|(_, text)| text.to_string()))
    }

    #[test]
    fn quotas_of_both_versions() {
        let table: [(FakeFiles, Option<f64>); 10] = [
            (&[], None),
            (&[(GROUP, "0::/\n")], None),
            (&[(GROUP, "0::/\n"), (V2, "max 100000\n")], None),
            (&[(GROUP, "0::/\n"), (V2, "150000 100000\n")], Some(1.5)),
            (&[(GROUP, "0::/\n"), (V2, "50000\n")], Some(0.5)),
            (&[(GROUP, "0::/\n"), (V2, "garbage")], None),
            (&[(GROUP, "0::/a/b\n"), ("/sys/fs/cgroup/a/cpu.max", "300000 100000")], Some(3.0)),
            (
                &[
                    (GROUP, "0::/a/b\n"),
                    ("/sys/fs/cgroup/a/cpu.max", "300000 100000"),
                    ("/sys/fs/cgroup/a/b/cpu.max", "400000 100000"),
                ],
                Some(3.0),
            ),
            (&[(GROUP, "4:memory:/\n3:cpu,cpuacct:/x\n"), (QUOTA, "200000\n"), (PERIOD, "100000\n")], Some(2.0)),
            (&[(GROUP, "3:cpu:/\n"), (QUOTA, "-1\n"), (PERIOD, "100000\n")], None),
        ];
        for (files, cores) in table {
            assert_eq!(with(files), cores, "{files:?}");
        }
    }

    #[test]
    fn this_process_has_some() {
        assert!(available() > 0.0);
    }
}
