//! The service under load, if it is on this host: its listen queue, its processes, its connections.
//!
//! It is found by the address under load, by its port, or by a process id. Operations that scan all processes or all
//! connections are rate-limited by their cost; in between, their counters are absent.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use brunt_measure::{Clock, Nanos};

use crate::HostReader;
use crate::counters::CounterSink;
use crate::cpu_budget::CpuBudget;
use crate::listener::{TargetListener, inodes};
use crate::parse::network::is_local;
use crate::parse::process::is_zombie;
use crate::process::{Process, ProcessReading, Units};
use crate::programs::OtherPrograms;
use crate::quotas::Quotas;
use crate::socket_holders::{family, holders};
use crate::source::{CounterSource, reason};
use crate::tcp_sample::TcpSample;
use crate::upstreams::upstream_listeners;
use sums::{ServiceProcess, ServiceSums, ServiceTotals};

/// Maximum number of processes followed, and of those reported one by one; the sums include all that are followed.
const MOST: usize = 256;
const TOLD: usize = 16;

/// Reason why a process selected by its id is no longer reported.
pub const ENDED: &str = "the process has ended";

/// A service at an address of this host.
#[derive(Debug)]
pub struct Service {
    /// Address under load; `None` if only its processes are known.
    target: Option<SocketAddr>,
    /// Process that was selected by its id: the service is this process and its descendants, no matter which process
    /// holds the socket.
    selected_pid: Option<u32>,
    own_pid: u32,
    listener: Option<TargetListener>,
    /// TCP statistics of a sample of its connections.
    sampled: Option<TcpSample>,
    inodes: BTreeSet<u32>,
    holders: BTreeSet<u32>,
    /// Sockets of this host that the service connects to, and the processes that hold them.
    upstream_inodes: BTreeSet<u32>,
    upstreams: BTreeSet<u32>,
    /// Reason why the processes are unknown; `None` if they are known.
    unobservable: Option<&'static str>,
    processes: BTreeMap<u32, ServiceProcess>,
    reported: BTreeSet<u32>,
    sums: ServiceSums,
    others: OtherPrograms,
    quotas: Quotas,
    /// Set if the holders of the sockets must be searched for.
    needs_search: bool,
    /// Time of the first reading, since the boot of the host.
    since: Option<Nanos>,
    searching: CpuBudget,
    linking: CpuBudget,
    listing: CpuBudget,
    asking: CpuBudget,
    counting: CpuBudget,
    comparing: CpuBudget,
}

impl Service {
    /// Returns the service that listens at an address; `None` if the address does not belong to this host, or no socket
    /// listens there.
    pub fn listening_at(host: &HostReader, target: SocketAddr) -> Option<Service> {
        let source = host.source();
        let text = |path| source.text(path).unwrap_or_default();
        if !is_local(target.ip(), &text("/proc/net/fib_trie"), &text("/proc/net/if_inet6")) {
            return None;
        }
        match TargetListener::for_target(source, target) {
            Ok(Some(listener)) => Some(Service::new(Some(target), Some(listener), std::process::id())),
            Ok(None) => None,
            // A socket may be listening; samples will report why that cannot be seen.
            Err(_) => Some(Service::new(Some(target), None, std::process::id())),
        }
    }

    /// Returns the service that listens at a port of this host, at any address.
    ///
    /// # Errors
    /// Returns an error if no socket listens there or the kernel cannot be queried, phrased to follow the port.
    pub fn at_port(host: &HostReader, port: u16) -> Result<Service, &'static str> {
        match TargetListener::at_port(host.source(), port) {
            Ok(Some(listener)) => Ok(Service::new(Some(listener.address), Some(listener), std::process::id())),
            Ok(None) => Err("nothing listens there"),
            Err(error) => Err(reason(&error)),
        }
    }

    /// Returns the service of a process and its descendants; if `target` is an address of this host, it includes the
    /// queue of the listener there.
    ///
    /// # Errors
    /// Returns an error if there is no such process.
    pub fn of_process(host: &HostReader, pid: u32, target: Option<SocketAddr>) -> Result<Service, &'static str> {
        if host.source().text(&format!("/proc/{pid}/stat")).is_err() {
            return Err("there is no such process");
        }
        let listening = target.and_then(|target| Service::listening_at(host, target));
        let mut service = listening.unwrap_or_else(|| Service::new(None, None, std::process::id()));
        service.selected_pid = Some(pid);
        service.holders.insert(pid);
        service.needs_search = false;
        Ok(service)
    }

    fn new(target: Option<SocketAddr>, listener: Option<TargetListener>, me: u32) -> Service {
        Service {
            target,
            selected_pid: None,
            own_pid: me,
            listener,
            sampled: None,
            inodes: BTreeSet::new(),
            holders: BTreeSet::new(),
            upstream_inodes: BTreeSet::new(),
            upstreams: BTreeSet::new(),
            unobservable: None,
            processes: BTreeMap::new(),
            reported: BTreeSet::new(),
            sums: ServiceSums::default(),
            others: OtherPrograms::default(),
            quotas: Quotas::default(),
            needs_search: true,
            since: None,
            searching: CpuBudget::at_most_every(Nanos::from_secs(1)),
            linking: CpuBudget::at_most_every(Nanos::from_secs(1)),
            listing: CpuBudget::at_most_every(Nanos::from_secs(5)),
            asking: CpuBudget::at_most_every(Nanos::ZERO),
            counting: CpuBudget::at_most_every(Nanos::ZERO),
            comparing: CpuBudget::at_most_every(Nanos::from_secs(1)),
        }
    }

    /// Adds the counters of the service under `listener` and `service`.
    pub(crate) fn report(
        &mut self,
        source: &CounterSource,
        units: Units,
        now: Nanos,
        buffer: &mut Vec<u8>,
        sink: &mut CounterSink,
    ) {
        self.report_listener(source, sink);
        self.find_processes(source, now);
        self.find_children(source, now);
        self.find_upstreams(source, now);
        self.report_processes(source, units, buffer, sink);
        self.report_others(source, units, now, sink);
        let folders = self.holders.iter().map(|pid| format!("/proc/{pid}"));
        self.quotas.follow(folders);
        self.quotas.report(source, buffer, "service", sink);
        self.report_connections(source, now, sink);
        self.report_transfers(source, now, sink);
    }

    fn report_listener(&mut self, source: &CounterSource, sink: &mut CounterSink) {
        let name = |address: SocketAddr| format!("listener.{address}");
        let Some(target) = self.target else { return };
        if self.listener.is_none() {
            match TargetListener::for_target(source, target) {
                Ok(found) => self.listener = found,
                Err(error) => return sink.unobservable(&name(target), reason(&error)),
            }
        }
        let Some(listener) = self.listener else {
            return sink.unobservable(&name(target), "nothing listens");
        };
        match listener.sockets(source) {
            Ok(sockets) if sockets.is_empty() => {
                // The listener may reappear at another address.
                self.listener = None;
                sink.unobservable(&name(listener.address), "nothing listens");
            }
            Ok(sockets) => {
                listener.report(&sockets, sink);
                let inodes = inodes(&sockets);
                self.needs_search |= inodes != self.inodes && self.selected_pid.is_none();
                self.inodes = inodes;
            }
            Err(error) => sink.unobservable(&name(listener.address), reason(&error)),
        }
    }

    fn find_processes(&mut self, source: &CounterSource, now: Nanos) {
        let search = self.needs_search && !self.inodes.is_empty() && self.searching.is_due(now);
        if !search && !self.listing.is_due(now) {
            return;
        }
        let before = Clock.thread_cpu_time();
        if search {
            let found = holders(source, &self.inodes);
            self.unobservable = match (found.pids.is_empty(), found.denied) {
                (false, _) => None,
                (true, 0) => Some("no visible process holds the socket (other namespace)"),
                (true, _) => Some("the listening process belongs to another user (permission)"),
            };
            self.holders = found.pids;
            self.needs_search = false;
        }
        let family =
            if self.holders.is_empty() { BTreeSet::new() } else { family(source, &self.roots(), self.own_pid) };
        // Processes that hold the sockets come first.
        let (first, then): (Vec<u32>, Vec<u32>) = family.into_iter().partition(|pid| self.holders.contains(pid));
        self.follow(first.into_iter().chain(then));
        let took = Clock.thread_cpu_time() - before;
        if search {
            self.searching.spend(now, took);
        }
        self.listing.spend(now, took);
    }

    /// Finds the new children of processes that ran. This is cheaper than listing all processes, and therefore done
    /// more often.
    fn find_children(&mut self, source: &CounterSource, now: Nanos) {
        if !self.asking.is_due(now) {
            return;
        }
        let before = Clock.thread_cpu_time();
        let started: Vec<u32> =
            self.processes.values().flat_map(|followed| followed.process.new_children(source)).collect();
        self.follow(started.into_iter());
        self.asking.spend(now, Clock.thread_cpu_time() - before);
    }

    /// Returns the processes whose descendants are the service: those that hold its sockets, and its upstreams.
    fn roots(&self) -> BTreeSet<u32> {
        self.holders.union(&self.upstreams).copied().collect()
    }

    /// Finds the processes of this host that the service works with: those behind the sockets that it, or one of its
    /// upstreams, connects to. Connections may be short, so this is repeated; all descriptors are only searched when
    /// another socket was found.
    fn find_upstreams(&mut self, source: &CounterSource, now: Nanos) {
        if self.selected_pid.is_some() || self.processes.is_empty() || !self.linking.is_due(now) {
            return;
        }
        let before = Clock.thread_cpu_time();
        let found = upstream_listeners(source, self.processes.keys().copied());
        let more: BTreeSet<u32> = found.difference(&self.upstream_inodes).copied().collect();
        if !more.is_empty() {
            let held = holders(source, &more).pids;
            // brunt may serve its own metrics, which a service could read.
            let held: BTreeSet<u32> = held.into_iter().filter(|pid| *pid != self.own_pid).collect();
            self.upstream_inodes.extend(more);
            self.upstreams.extend(&held);
            let family = family(source, &held, self.own_pid);
            self.follow(family.into_iter());
        }
        self.linking.spend(now, Clock.thread_cpu_time() - before);
    }

    /// Follows these processes from now on, until they end.
    fn follow(&mut self, pids: impl Iterator<Item = u32>) {
        for pid in pids.filter(|pid| *pid != self.own_pid || self.holders.contains(pid)) {
            if self.processes.len() < MOST {
                self.processes.entry(pid).or_insert_with(|| ServiceProcess::of(pid));
            }
            if self.reported.len() < TOLD && self.processes.contains_key(&pid) {
                self.reported.insert(pid);
            }
        }
    }

    fn report_processes(&mut self, source: &CounterSource, units: Units, buffer: &mut Vec<u8>, sink: &mut CounterSink) {
        // A process that has ended stays readable until its parent has waited for it.
        let stat = |pid| source.text(&format!("/proc/{pid}/stat")).unwrap_or_default();
        if self.unobservable.is_none() && self.selected_pid.is_some_and(|pid| is_zombie(&stat(pid))) {
            self.unobservable = Some(ENDED);
        }
        if let Some(hidden) = self.unobservable {
            sink.unobservable("service", hidden);
        }
        let first = self.since.is_none();
        let since = *self.since.get_or_insert_with(|| uptime(source));
        let mut all = ServiceTotals::default();
        // CPU time of processes that ended, by their parent.
        let mut ended: BTreeMap<u32, u64> = BTreeMap::new();
        let mut befores = Vec::new();
        for pid in by_generation(&self.processes) {
            let Some(followed) = self.processes.get_mut(&pid) else { continue };
            let Some(looked) = followed.process.read(source, units, buffer) else {
                if let Some(last) = followed.last {
                    *ended.entry(last.parent).or_default() += last.cpu.saturating_add(last.reaped);
                }
                self.ended(pid);
                continue;
            };
            // Time before the first reading is not counted; a process started since then did all its work for the
            // service.
            let earlier = if first || looked.started >= since.0 { ProcessReading::default() } else { looked };
            let before = followed.last.replace(looked).unwrap_or(earlier);
            if followed.program.is_empty() {
                let name = source.text(&format!("/proc/{pid}/comm")).unwrap_or_default();
                followed.program = name.trim_end().to_owned();
            }
            self.sums.programs.add(&followed.program, looked.cpu.saturating_sub(before.cpu));
            all.add(&looked, &before, &followed.process, &mut self.sums);
            befores.push((pid, before));
            if self.reported.contains(&pid) {
                let name = format!("service.{pid}");
                report_process(&name, &looked, &followed.process, sink);
                followed.process.report_unobservable(&name, &looked, source, sink);
            }
        }
        for (pid, before) in befores {
            let Some(followed) = self.processes.get_mut(&pid) else { continue };
            self.sums.cpu += followed.new_child_time(&before, ended.get(&pid).copied().unwrap_or_default());
        }
        if all.processes >= MOST {
            sink.unobservable("service.all", &format!("more than {MOST} processes: the rest are left out"));
        }
        if all.processes > 0 {
            all.report(&mut self.sums, sink);
        }
    }

    /// Reports what other processes used, by program.
    fn report_others(&mut self, source: &CounterSource, units: Units, now: Nanos, sink: &mut CounterSink) {
        if self.comparing.is_due(now) {
            let before = Clock.thread_cpu_time();
            let (ours, followed) = (self.own_pid, &self.processes);
            let is_ours = |pid, parent| [pid, parent].contains(&ours) || followed.contains_key(&pid);
            self.others.read(source, units, is_ours);
            self.comparing.spend(now, Clock.thread_cpu_time() - before);
        }
        self.others.times.report("others", sink);
    }

    fn ended(&mut self, pid: u32) {
        self.processes.remove(&pid);
        self.reported.remove(&pid);
        // If there is a successor, it may already hold the socket.
        self.needs_search |= self.holders.remove(&pid) && self.selected_pid.is_none();
        if self.upstreams.remove(&pid) {
            self.upstream_inodes.clear();
        }
        if self.selected_pid == Some(pid) {
            self.unobservable = Some(ENDED);
        }
    }

    fn report_connections(&mut self, source: &CounterSource, now: Nanos, sink: &mut CounterSink) {
        let Some(listener) = self.listener.filter(|_| self.counting.is_due(now)) else { return };
        let before = Clock.thread_cpu_time();
        match listener.connections(source) {
            Ok(count) => sink.put(&["service", "connections"], count),
            Err(error) => sink.unobservable("service.connections", reason(&error)),
        }
        self.counting.spend(now, Clock.thread_cpu_time() - before);
    }

    fn report_transfers(&mut self, source: &CounterSource, now: Nanos, sink: &mut CounterSink) {
        let Some(listener) = self.listener else { return };
        let sampled = self.sampled.take().filter(|sampled| sampled.is_of(listener.address));
        self.sampled
            .insert(sampled.unwrap_or_else(|| TcpSample::of_service(listener.address)))
            .report(source, now, sink);
    }
}

/// Returns the processes, parents before children: if a child turns out to have disappeared, the earlier reading of its
/// parent must not already include the child's time.
fn by_generation(processes: &BTreeMap<u32, ServiceProcess>) -> Vec<u32> {
    let parent = |pid: &u32| processes.get(pid)?.last.map(|last| last.parent);
    let depth = |pid: &u32| std::iter::successors(Some(*pid), parent).take(processes.len() + 1).count();
    let mut pids: Vec<u32> = processes.keys().copied().collect();
    // Processes that have not been read yet were started last.
    pids.sort_by_cached_key(|pid| (processes[pid].last.is_none(), depth(pid)));
    pids
}

/// Returns the uptime of the host; zero if it is unknown.
fn uptime(source: &CounterSource) -> Nanos {
    let text = source.text("/proc/uptime").unwrap_or_default();
    let seconds = text.split_ascii_whitespace().next().and_then(|up| up.parse::<f64>().ok()).unwrap_or_default();
    Nanos((seconds * 1e9) as u64)
}

fn report_process(name: &str, looked: &ProcessReading, process: &Process, sink: &mut CounterSink) {
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
