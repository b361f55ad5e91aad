//! The counters of a host, by name: read from `/proc`, from `/sys` and over netlink.
//!
//! A [`HostReader`] is read once a second into [`Counters`]; a [`Sampler`] does that on its own thread. A [`Service`]
//! on this host adds its listen queue and its processes. This crate does not interpret the counters: diagnosis does.
//!
//! Counters that cannot be read are absent, never zero or guessed, and are listed ([`Counters::unobservable`]). All
//! texts are parsed by pure functions (`parse`), as are the kernel's answers about sockets (`sock_diag`); the thin
//! layer of I/O around them works on a root that tests can simulate ([`CounterSource`]). The names:
//!
//! | names | unit |
//! |---|---|
//! | `cpu.{N,all}.{user,system,idle,iowait,irq,softirq,steal}` (`user` with `nice`), `cpu.count` | ns |
//! | `psi.cpu.some`, `psi.{io,memory}.{some,full}` | µs |
//! | `load.running` | threads that run or could run |
//! | `Tcp.*`, `Udp.*`, `Ip.*`, `TcpExt.*`, `IpExt.*` …: every name of `/proc/net/snmp` and `/proc/net/netstat` | the kernel's |
//! | `sockstat.{TCP,TCP6,UDP …}.{inuse,orphan,tw,alloc,mem}`, `sockstat.sockets.used` | sockets; `mem` pages |
//! | `softnet.{N,all}.{processed,dropped,squeezed}` | packets; times |
//! | `conntrack.{count,max,drop,early_drop,insert_failed}` | connections |
//! | `net.IFACE.{rx_bytes,tx_bytes,rx_dropped,tx_dropped,rx_errors,speed_mbps}` | as named |
//! | `mem.{total,available,swap_free}`, `vm.oom_kill`, `files.{open,max}` | bytes; processes; files |
//! | `setting.*`: port range, listen limits, TIME_WAIT, memory and file limits, clock source (a label), timer slack | the kernel's |
//! | `self.{rss,fds,fd_limit}`, `self.thread.LABEL.{cpu,wait,voluntary,involuntary}` | bytes; ns and switches |
//! | `self.cgroup.{quota_us,period_us}` (the tightest), `.{periods,throttled,throttled_us}` | µs; periods |
//! | `listener.ADDR.{queue,limit,sockets,drops}` | connections |
//! | `service.{PID,all}.{cpu,wait,threads,fds,rss,swap,voluntary,involuntary}`, `service.PID.fd_limit`, `service.all.processes` | as `self` |
//! | `service.{PID,all}.busiest.{cpu,tid}` and the label `.comm` | ns |
//! | `service.program.N.cpu`: all processes of the service with the same name, the label `.comm`; `others.N.cpu`: processes that are neither the service nor brunt | ns |
//! | `service.cgroup.*`, `service.connections` | as `self`; connections |
//! | `{target,service}.tcp.{sockets,unread,rtt}`: up to 64 connections to the address under load, and of the service | connections; bytes; µs |
//! | `{target,service}.tcp.{time,busy,window_limited,buffer_limited,retransmits}`: sums over these connections | µs; segments |
//!
//! Counters of another host are served by a probe there ([`remote`]).
//!
//! `busiest.cpu` is a sum over the intervals between samples: for each, the CPU time of the thread that used the most.
//! If it grows by a second each second, a thread is saturated in every interval, though not necessarily always the same
//! one.

mod counters;
mod cpu_budget;
mod delta;
#[cfg(test)]
mod fake_host;
mod host;
mod interfaces;
mod listener;
mod machine_load;
mod netlink;
mod own_process;
mod parse;
mod process;
mod programs;
mod quotas;
pub mod remote;
mod sampler;
mod service;
mod sock_diag;
mod socket_holders;
mod source;
mod tcp_sample;
mod threads;
mod upstreams;

pub use counters::{CounterName, CounterSink, Counters, is_name};
pub use delta::{Delta, delta};
pub use host::HostReader;
pub use machine_load::{MachineLoad, MachineLoadMeter};
pub use own_process::ThreadLabels;
pub use sampler::Sampler;
pub use service::{ENDED, Service};
pub use source::CounterSource;
