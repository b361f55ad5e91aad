//! A link over the standard input and output of a child process.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard};

use brunt_measure::Nanos;

use super::link::{ClockOffset, ProcessHandle, ProcessLink};

/// Starts a command whose standard input and output form the link.
///
/// # Errors
/// The error of the operating system.
pub fn child(command: &mut Command) -> io::Result<ProcessLink> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::Error::other("its stdin and stdout are not connected to brunt"));
    };
    let ending = Arc::new(ChildEnding(Mutex::new(child)));
    Ok(ProcessLink { to: Box::new(to), from: Box::new(from), process: ending, clock: ClockOffset::default() })
}

struct ChildEnding(Mutex<Child>);

impl ChildEnding {
    fn child(&self) -> MutexGuard<'_, Child> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Returns what `/proc/PID/stat` says of the process from its state on; empty if it is gone.
    fn status(&self) -> String {
        let status = std::fs::read_to_string(format!("/proc/{}/stat", self.child().id())).unwrap_or_default();
        // The format is `pid (name) state`, and the name may contain anything.
        status.rsplit_once(") ").map(|(_, rest)| rest.to_owned()).unwrap_or_default()
    }
}

impl ProcessHandle for ChildEnding {
    fn exit_text(&self) -> io::Result<Option<String>> {
        Ok(self.child().try_wait()?.map(exit_text))
    }

    fn kill(&self) {
        // The pid cannot be reused before the process has been waited for.
        let _ = self.child().kill();
    }

    fn is_stopped(&self) -> bool {
        self.status().starts_with(['T', 't'])
    }

    fn cpu_time(&self) -> Option<Nanos> {
        let status = self.status();
        // `utime` and `stime` of proc_pid_stat(5), the 14th and 15th of its fields, in ticks.
        let mut fields = status.split(' ').skip(11).map(|field| field.parse::<u64>().ok());
        let ticks = fields.next()?? + fields.next()??;
        Some(Nanos(ticks.saturating_mul(1_000_000_000 / rustix::param::clock_ticks_per_second().max(1))))
    }
}

/// Returns the exit status of a process as text: `killed by SIGKILL`.
fn exit_text(status: ExitStatus) -> String {
    let name = |signal| match signal {
        libc::SIGHUP => "SIGHUP".to_owned(),
        libc::SIGINT => "SIGINT".to_owned(),
        libc::SIGABRT => "SIGABRT".to_owned(),
        libc::SIGBUS => "SIGBUS".to_owned(),
        libc::SIGKILL => "SIGKILL".to_owned(),
        libc::SIGSEGV => "SIGSEGV".to_owned(),
        libc::SIGTERM => "SIGTERM".to_owned(),
        other => format!("signal {other}"),
    };
    match (status.signal(), status.code()) {
        (Some(signal), _) => brunt_cause::run::killed(name(signal)).to_string(),
        (None, Some(code)) => brunt_cause::run::exited(code.to_string()).to_string(),
        (None, None) => status.to_string(),
    }
}
