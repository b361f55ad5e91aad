//! The counters of a host, by name: what the kernel tells in `/proc`, `/sys` and over netlink.
//!
//! A [`Host`] is read once a second into [`Counters`]; a [`Sampler`] does that on a thread of its own. A [`Service`] on this host
//! adds its listen queue and its processes. Nothing here knows what the counters mean for a run: diagnosis does.
//!
//! What cannot be read is absent, and said so ([`Counters::unobservable`]); it is never zero and never guessed. All texts are
//! read by pure functions (`parse`), the kernel's answers about sockets likewise (`sock_diag`); around them is a thin shell over
//! a root that tests make up ([`Source`]). The names:
//!
//! | names | unit |
//! |---|---|
//! | `cpu.{N,all}.{user,system,idle,iowait,irq,softirq,steal}` (`user` with `nice`), `cpu.count` | ns |
//! | `psi.cpu.some`, `psi.{io,memory}.{some,full}` | µs |
//! | `load.running` | threads that run or could |
//! | `Tcp.*`, `Udp.*`, `Ip.*`, `TcpExt.*`, `IpExt.*` …: every name of `/proc/net/snmp` and `/proc/net/netstat` | the kernel's |
//! | `sockstat.{TCP,TCP6,UDP …}.{inuse,orphan,tw,alloc,mem}`, `sockstat.sockets.used` | sockets; `mem` pages |
//! | `softnet.{N,all}.{processed,dropped,squeezed}` | packets; times |
//! | `conntrack.{count,max,drop,early_drop,insert_failed}` | connections |
//! | `net.IFACE.{rx_bytes,tx_bytes,rx_dropped,tx_dropped,rx_errors,speed_mbps}` | as they say |
//! | `mem.{total,available,swap_free}`, `vm.oom_kill`, `files.{open,max}` | bytes; processes; files |
//! | `setting.*`: port range, listen limits, TIME_WAIT, memory and file limits, clock source (a label), timer slack | the kernel's |
//! | `self.{rss,fds,fd_limit}`, `self.thread.LABEL.{cpu,wait,voluntary,involuntary}` | bytes; ns and switches |
//! | `self.cgroup.{quota_us,period_us}` (the tightest), `.{periods,throttled,throttled_us}` | µs; periods |
//! | `listener.ADDR.{queue,limit,sockets,drops}` | connections |
//! | `service.{PID,all}.{cpu,wait,threads,fds,rss,swap,voluntary,involuntary}`, `service.PID.fd_limit`, `service.all.processes` | as `self` |
//! | `service.{PID,all}.busiest.{cpu,tid}` and the label `.comm` | ns |
//! | `service.cgroup.*`, `service.connections` | as `self`; connections |
//! | `{target,service}.tcp.{sockets,unread,rtt}`: 64 connections to the address under load at the most, and of the service | connections; bytes; µs |
//! | `{target,service}.tcp.{time,busy,window_limited,buffer_limited,retransmits}`, of the same, summed up | µs; segments |
//!
//! Another host tells its counters through a probe there ([`remote`]).
//!
//! `busiest.cpu` is a sum over intervals between samples: of each, the time on a core of the thread that had most of it. Where it
//! grows by a second each second, one thread is full, whichever it is.

mod counters;
mod delta;
#[cfg(test)]
mod fake;
mod host;
mod interfaces;
mod listener;
mod netlink;
mod own;
mod owners;
mod pace;
mod parse;
mod process;
mod quotas;
pub mod remote;
mod sampled;
mod sampler;
mod service;
mod sock_diag;
mod source;
mod threads;

pub use counters::{Counters, Name, Sink, is_name};
pub use delta::{Delta, delta};
pub use host::Host;
pub use own::Labels;
pub use sampler::Sampler;
pub use service::{ENDED, Service};
pub use source::Source;
