//! The service under load, if it is on this host: its listen queue, its processes, its connections.
//!
//! Found by the address under load, by its port, or by a process id. Operations that scan all processes or all
//! connections are rate-limited by their cost; in between, their counters are absent.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use measure::{Clock, Nanos};

use crate::Host;
use crate::counters::Sink;
use crate::listener::{Listener, inodes};
use crate::owners::{family, holders};
use crate::pace::Pace;
use crate::parse::network::is_local;
use crate::parse::process::is_zombie;
use crate::process::{Looked, Process, Units};
use crate::quotas::Quotas;
use crate::sampled::Sampled;
use crate::source::{Source, why};
use sums::{All, Followed, Sums};

/// Maximum number of processes followed, and of those reported one by one; the sums include all.
const MOST: usize = 256;
const TOLD: usize = 16;

/// Reason why a process selected by its id is no longer reported.
pub const ENDED: &str = "the process has ended";

/// A service at an address of this host.
#[derive(Debug)]
pub struct Service {
    /// Address under load; `None` if only its processes are known.
    target: Option<SocketAddr>,
    /// Process that was selected by its id: the service is this process and its descendants, whichever process holds
    /// the socket.
    named: Option<u32>,
    me: u32,
    listener: Option<Listener>,
    /// TCP statistics of a sample of its connections.
    sampled: Option<Sampled>,
    inodes: BTreeSet<u32>,
    holders: BTreeSet<u32>,
    /// Reason why the processes are unknown.
    hidden: Option<&'static str>,
    processes: BTreeMap<u32, Followed>,
    told: BTreeSet<u32>,
    sums: Sums,
    quotas: Quotas,
    /// Set if the holders of the sockets must be searched for.
    unknown: bool,
    /// Time of the first reading, since the boot of the host.
    since: Option<Nanos>,
    searching: Pace,
    listing: Pace,
    asking: Pace,
    counting: Pace,
}

impl Service {
    /// Returns the service that listens at an address; `None` if the address is not of this host, or no socket
    /// listens.
    pub fn of(host: &Host, target: SocketAddr) -> Option<Service> {
        let source = host.source();
        let text = |path| source.text(path).unwrap_or_default();
        if !is_local(target.ip(), &text("/proc/net/fib_trie"), &text("/proc/net/if_inet6")) {
            return None;
        }
        match Listener::of(source, target) {
            Ok(Some(listener)) => Some(Service::at(Some(target), Some(listener), std::process::id())),
            Ok(None) => None,
            // A socket may be listening; samples will report why that cannot be seen.
            Err(_) => Some(Service::at(Some(target), None, std::process::id())),
        }
    }

    /// Returns the service that listens at a port of this host, at any address.
    ///
    /// # Errors
    /// Returns an error if no socket listens there or the kernel cannot be asked, phrased to follow the port.
    pub fn at_port(host: &Host, port: u16) -> Result<Service, &'static str> {
        match Listener::at_port(host.source(), port) {
            Ok(Some(listener)) => Ok(Service::at(Some(listener.address), Some(listener), std::process::id())),
            Ok(None) => Err("nobody listens there"),
            Err(error) => Err(why(&error)),
        }
    }

    /// Returns the service of a process and its descendants; if `target` is an address of this host, it includes the
    /// queue of the listener there.
    ///
    /// # Errors
    /// Returns an error if there is no such process.
    pub fn of_process(host: &Host, pid: u32, target: Option<SocketAddr>) -> Result<Service, &'static str> {
        if host.source().text(&format!("/proc/{pid}/stat")).is_err() {
            return Err("there is no such process");
        }
        let listening = target.and_then(|target| Service::of(host, target));
        let mut service = listening.unwrap_or_else(|| Service::at(None, None, std::process::id()));
        service.named = Some(pid);
        service.holders.insert(pid);
        service.unknown = false;
        Ok(service)
    }

    fn at(target: Option<SocketAddr>, listener: Option<Listener>, me: u32) -> Service {
        Service {
            target,
            named: None,
            me,
            listener,
            sampled: None,
            inodes: BTreeSet::new(),
            holders: BTreeSet::new(),
            hidden: None,
            processes: BTreeMap::new(),
            told: BTreeSet::new(),
            sums: Sums::default(),
            quotas: Quotas::default(),
            unknown: true,
            since: None,
            searching: Pace::at_most_every(Nanos::from_secs(1)),
            listing: Pace::at_most_every(Nanos::from_secs(5)),
            asking: Pace::at_most_every(Nanos::ZERO),
            counting: Pace::at_most_every(Nanos::ZERO),
        }
    }

    /// Adds its counters under `listener` and `service`.
    pub(crate) fn tell(&mut self, source: &Source, units: Units, now: Nanos, buffer: &mut Vec<u8>, sink: &mut Sink) {
        self.tell_listener(source, sink);
        self.find_processes(source, now);
        self.find_children(source, now);
        self.tell_processes(source, units, buffer, sink);
        let folders = self.holders.iter().map(|pid| format!("/proc/{pid}"));
        self.quotas.follow(folders);
        self.quotas.tell(source, buffer, "service", sink);
        self.tell_connections(source, now, sink);
        self.tell_transfers(source, now, sink);
    }

    fn tell_listener(&mut self, source: &Source, sink: &mut Sink) {
        let name = |address: SocketAddr| format!("listener.{address}");
        let Some(target) = self.target else { return };
        if self.listener.is_none() {
            match Listener::of(source, target) {
                Ok(found) => self.listener = found,
                Err(error) => return sink.unobservable(&name(target), why(&error)),
            }
        }
        let Some(listener) = self.listener else {
            return sink.unobservable(&name(target), "nobody listens");
        };
        match listener.sockets(source) {
            Ok(sockets) if sockets.is_empty() => {
                // The listener may reappear at another address.
                self.listener = None;
                sink.unobservable(&name(listener.address), "nobody listens");
            }
            Ok(sockets) => {
                listener.tell(&sockets, sink);
                let inodes = inodes(&sockets);
                self.unknown |= inodes != self.inodes && self.named.is_none();
                self.inodes = inodes;
            }
            Err(error) => sink.unobservable(&name(listener.address), why(&error)),
        }
    }

    fn find_processes(&mut self, source: &Source, now: Nanos) {
        let search = self.unknown && !self.inodes.is_empty() && self.searching.is_due(now);
        if !search && !self.listing.is_due(now) {
            return;
        }
        let before = Clock.of_this_thread();
        if search {
            let found = holders(source, &self.inodes);
            self.hidden = match (found.pids.is_empty(), found.denied) {
                (false, _) => None,
                (true, 0) => Some("no visible process holds the socket (other namespace)"),
                (true, _) => Some("the listening process belongs to another user (permission)"),
            };
            self.holders = found.pids;
            self.unknown = false;
        }
        let family = if self.holders.is_empty() { BTreeSet::new() } else { family(source, &self.holders, self.me) };
        // Listening processes come first.
        let (first, then): (Vec<u32>, Vec<u32>) = family.into_iter().partition(|pid| self.holders.contains(pid));
        self.follow(first.into_iter().chain(then));
        let took = Clock.of_this_thread() - before;
        if search {
            self.searching.took(now, took);
        }
        self.listing.took(now, took);
    }

    /// Reads the new children of processes that ran: cheaper than a list of all processes, and therefore done more
    /// often.
    fn find_children(&mut self, source: &Source, now: Nanos) {
        if !self.asking.is_due(now) {
            return;
        }
        let before = Clock.of_this_thread();
        let started: Vec<u32> = self.processes.values().flat_map(|followed| followed.process.started(source)).collect();
        self.follow(started.into_iter());
        self.asking.took(now, Clock.of_this_thread() - before);
    }

    /// Follows these processes from now on, until they end.
    fn follow(&mut self, pids: impl Iterator<Item = u32>) {
        for pid in pids.filter(|pid| *pid != self.me || self.holders.contains(pid)) {
            if self.processes.len() < MOST {
                self.processes.entry(pid).or_insert_with(|| Followed::of(pid));
            }
            if self.told.len() < TOLD && self.processes.contains_key(&pid) {
                self.told.insert(pid);
            }
        }
    }

    fn tell_processes(&mut self, source: &Source, units: Units, buffer: &mut Vec<u8>, sink: &mut Sink) {
        // Its counters stay readable until its parent has waited for it.
        let stat = |pid| source.text(&format!("/proc/{pid}/stat")).unwrap_or_default();
        if self.hidden.is_none() && self.named.is_some_and(|pid| is_zombie(&stat(pid))) {
            self.hidden = Some(ENDED);
        }
        if let Some(hidden) = self.hidden {
            sink.unobservable("service", hidden);
        }
        let first = self.since.is_none();
        let since = *self.since.get_or_insert_with(|| up(source));
        let mut all = All::default();
        // CPU time of processes that ended, by their parent.
        let mut ended: BTreeMap<u32, u64> = BTreeMap::new();
        let mut befores = Vec::new();
        for pid in by_generation(&self.processes) {
            let Some(followed) = self.processes.get_mut(&pid) else { continue };
            let Some(looked) = followed.process.look(source, units, buffer) else {
                if let Some(last) = followed.last {
                    *ended.entry(last.parent).or_default() += last.cpu.saturating_add(last.reaped);
                }
                self.ended(pid);
                continue;
            };
            // Time before the first reading is not counted; a process started since then did all its work for the
            // service.
            let earlier = if first || looked.started >= since.0 { Looked::default() } else { looked };
            let before = followed.last.replace(looked).unwrap_or(earlier);
            all.add(&looked, &before, &followed.process, &mut self.sums);
            befores.push((pid, before));
            if self.told.contains(&pid) {
                let name = format!("service.{pid}");
                tell_process(&name, &looked, &followed.process, sink);
                followed.process.excuse(&name, &looked, source, sink);
            }
        }
        for (pid, before) in befores {
            let Some(followed) = self.processes.get_mut(&pid) else { continue };
            self.sums.cpu += followed.of_children(&before, ended.get(&pid).copied().unwrap_or_default());
        }
        if all.processes >= MOST {
            sink.unobservable("service.all", &format!("more than {MOST} processes: the rest are left out"));
        }
        if all.processes > 0 {
            all.tell(&mut self.sums, sink);
        }
    }

    fn ended(&mut self, pid: u32) {
        self.processes.remove(&pid);
        self.told.remove(&pid);
        // A successor, if there is one, may hold the socket by now.
        self.unknown |= self.holders.remove(&pid) && self.named.is_none();
        if self.named == Some(pid) {
            self.hidden = Some(ENDED);
        }
    }

    fn tell_connections(&mut self, source: &Source, now: Nanos, sink: &mut Sink) {
        let Some(listener) = self.listener.filter(|_| self.counting.is_due(now)) else { return };
        let before = Clock.of_this_thread();
        match listener.connections(source) {
            Ok(count) => sink.put(&["service", "connections"], count),
            Err(error) => sink.unobservable("service.connections", why(&error)),
        }
        self.counting.took(now, Clock.of_this_thread() - before);
    }

    fn tell_transfers(&mut self, source: &Source, now: Nanos, sink: &mut Sink) {
        let Some(listener) = self.listener else { return };
        let sampled = self.sampled.take().filter(|sampled| sampled.is_of(listener.address));
        self.sampled.insert(sampled.unwrap_or_else(|| Sampled::of_service(listener.address))).tell(source, now, sink);
    }
}

/// Returns the processes, parents before children: if a child has disappeared when it is read, its parent must not
/// already have included the child's time when the parent was read.
fn by_generation(processes: &BTreeMap<u32, Followed>) -> Vec<u32> {
    let parent = |pid: &u32| processes.get(pid)?.last.map(|last| last.parent);
    let depth = |pid: &u32| std::iter::successors(Some(*pid), parent).take(processes.len() + 1).count();
    let mut pids: Vec<u32> = processes.keys().copied().collect();
    // Processes that were not read yet were started last.
    pids.sort_by_cached_key(|pid| (processes[pid].last.is_none(), depth(pid)));
    pids
}

/// Returns the uptime of the host; zero if it is unknown.
fn up(source: &Source) -> Nanos {
    let text = source.text("/proc/uptime").unwrap_or_default();
    let seconds = text.split_ascii_whitespace().next().and_then(|up| up.parse::<f64>().ok()).unwrap_or_default();
    Nanos((seconds * 1e9) as u64)
}

fn tell_process(name: &str, looked: &Looked, process: &Process, sink: &mut Sink) {
    let mut put = |what, value| sink.put_some(&[name, what], value);
    put("cpu", Some(looked.cpu));
    put("wait", looked.totals.wait);
    put("threads", Some(looked.threads));
    put("fds", looked.descriptors);
    put("fd_limit", looked.descriptor_limit);
    put("rss", Some(looked.rss));
    put("swap", looked.swap);
    put("voluntary", looked.totals.voluntary);
    put("involuntary", looked.totals.involuntary);
    put("busiest.cpu", looked.totals.busiest.filter(|_| looked.left_out == 0));
    if let Some((tid, comm)) = process.busiest().filter(|_| looked.left_out == 0) {
        sink.put(&[name, "busiest.tid"], u64::from(tid));
        sink.label(&[name, "busiest.comm"], comm);
    }
}

mod sums;
#[cfg(test)]
mod tests;
