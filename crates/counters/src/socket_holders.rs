//! The processes of a service: those that hold a listening socket, and their descendants.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;

use crate::parse::process::stat;
use crate::source::CounterSource;

/// The processes that hold sockets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SocketHolders {
    pub pids: BTreeSet<u32>,
    /// Number of processes whose descriptors we may not read.
    pub denied: usize,
}

/// Searches the descriptors of all processes. Expensive: done once, and again when the sockets change.
pub(crate) fn holders(source: &CounterSource, inodes: &BTreeSet<u32>) -> SocketHolders {
    let mut found = SocketHolders::default();
    let sockets: Vec<String> = inodes.iter().map(|inode| format!("socket:[{inode}]")).collect();
    for pid in source.numbers("/proc").into_iter().flatten() {
        let folder = format!("/proc/{pid}/fd");
        match source.list(&folder) {
            Ok(mut descriptors) => {
                let leads = |fd: String| source.link(&format!("{folder}/{fd}")).ok();
                let holds = |to: std::path::PathBuf| sockets.iter().any(|socket| to.as_os_str() == socket.as_str());
                if descriptors.any(|fd| leads(fd).is_some_and(holds)) {
                    found.pids.insert(pid);
                }
            }
            Err(error) => found.denied += usize::from(error.kind() == ErrorKind::PermissionDenied),
        }
    }
    if found.pids.len() > 1 || source.text("/proc/1/comm").is_ok_and(|name| name.trim() == "systemd") {
        // systemd listens for services that have not started, and keeps the sockets of those that have.
        found.pids.remove(&1);
    }
    found
}

/// Returns the holders and all their descendants, except `me` (unless it is a holder itself) and the descendants of
/// `me`.
pub(crate) fn family(source: &CounterSource, holders: &BTreeSet<u32>, me: u32) -> BTreeSet<u32> {
    let all = source.numbers("/proc").into_iter().flatten();
    let parent = |pid: u32| Some((pid, stat(&source.text(&format!("/proc/{pid}/stat")).ok()?)?.parent));
    descendants(&all.filter_map(parent).collect(), holders, me)
}

fn descendants(parents: &BTreeMap<u32, u32>, holders: &BTreeSet<u32>, me: u32) -> BTreeSet<u32> {
    let mut found = holders.clone();
    loop {
        let started = |(pid, parent): &(&u32, &u32)| **pid != me && **parent != me && found.contains(parent);
        let more: Vec<u32> = parents.iter().filter(started).map(|(pid, _)| *pid).collect();
        let before = found.len();
        found.extend(more);
        if found.len() == before {
            return found;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_host::FakeHost;

    #[test]
    fn holders_are_found_by_what_their_descriptors_lead_to() {
        let fake = FakeHost::new(&[("proc/1/comm", "init\n"), ("proc/self/comm", "x"), ("proc/9/fd/0", "")]);
        for (pid, inode) in [(1, 77), (20, 77), (21, 77), (22, 771), (23, 78)] {
            fake.link(&format!("proc/{pid}/fd/0"), "/dev/null");
            fake.link(&format!("proc/{pid}/fd/5"), &format!("socket:[{inode}]"));
        }
        let of = |inodes: &[u32], source: &CounterSource| {
            let found = holders(source, &inodes.iter().copied().collect());
            (Vec::from_iter(found.pids), found.denied)
        };
        let source = CounterSource { denied: vec!["/proc/21"], ..fake.source() };
        assert_eq!(of(&[77], &fake.source()), (vec![20, 21], 0), "process 1 only passed it on");
        assert_eq!(of(&[77, 78], &source), (vec![20, 23], 1));
        assert_eq!(of(&[5], &source), (vec![], 1));
        fake.remove("proc/20");
        fake.remove("proc/21");
        assert_eq!(of(&[77], &fake.source()), (vec![1], 0), "in a container the first process is the service");
        fake.write("proc/1/comm", "systemd\n");
        assert_eq!(of(&[77], &fake.source()), (vec![], 0));
    }

    #[test]
    fn what_holders_started_serves_with_them_and_we_do_not() {
        // 2 is a holder; 5 is an unrelated shell; 9 is us, with a worker 10; 12 was started by the service's child.
        let parents = BTreeMap::from([(2, 1), (3, 2), (4, 2), (5, 1), (6, 5), (9, 2), (10, 9), (12, 4)]);
        for (holders, me, all) in [
            (&[2][..], 9, &[2, 3, 4, 12][..]),
            (&[2], 99, &[2, 3, 4, 9, 10, 12]),
            (&[9], 9, &[9]),
            (&[4, 5], 9, &[4, 5, 6, 12]),
            (&[], 9, &[]),
        ] {
            let found = descendants(&parents, &holders.iter().copied().collect(), me);
            assert_eq!(Vec::from_iter(found), all, "{holders:?}");
        }
    }
}
