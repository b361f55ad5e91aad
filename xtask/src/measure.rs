//! One child process, pinned to a core and measured by the kernel's accounting.
//!
//! CPU time is that reported by `wait4` (user and system, all threads). Peak memory is the
//! high-water mark in `/proc`, read while the child runs: the `ru_maxrss` of `wait4` starts at the
//! size of the process that forked it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The core of the servers.
pub const SERVER_CORE: usize = 0;
/// The core of the generators.
pub const GENERATOR_CORE: usize = 1;

/// A program to run and measure.
#[derive(Clone, Debug)]
pub struct Invocation {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
    pub environment: Vec<(&'static str, &'static str)>,
}

/// Resources used by a child.
#[derive(Clone, Debug)]
pub struct Usage {
    pub user_s: f64,
    pub system_s: f64,
    pub wall_s: f64,
    pub peak_kib: u64,
    pub exit: i32,
    /// The file with its output.
    pub output: PathBuf,
}

/// A sample of a running child.
pub struct ProcessSample {
    pub process: u32,
    pub since: Duration,
    /// Anonymous memory of the child.
    pub anonymous_kib: u64,
}

impl Usage {
    pub fn cpu_s(&self) -> f64 {
        self.user_s + self.system_s
    }
}

/// Restricts a command to one core, and raises its descriptor limit to the hard limit.
pub fn pin(command: &mut Command, core: usize) {
    // SAFETY: between fork and exec only async-signal-safe system calls are made, on values that live on this stack.
    unsafe {
        command.pre_exec(move || {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(core, &mut set);
            if libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) != 0 {
                return Err(io::Error::last_os_error());
            }
            let mut limit: libc::rlimit = std::mem::zeroed();
            if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 {
                limit.rlim_cur = limit.rlim_max;
                libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
            }
            Ok(())
        });
    }
}

/// Restricts the calling thread, and those that it starts, to one core.
pub fn pin_thread(core: usize) {
    // SAFETY: the set is plain bits, and lives on this stack.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set);
    }
}

/// Runs a program to completion; a child that runs longer than `longest` is killed, as its exit
/// code shows. `meanwhile` is called every few hundredths of a second while the program runs.
pub fn run(
    what: &Invocation,
    core: usize,
    output: &Path,
    longest: Duration,
    mut meanwhile: impl FnMut(ProcessSample),
) -> Result<Usage, String> {
    let to = |e: io::Error| format!("cannot write {}: {e}", output.display());
    let file = File::create(output).map_err(to)?;
    let mut command = Command::new(&what.program);
    command.args(&what.arguments).envs(what.environment.iter().copied());
    command.stdin(Stdio::null()).stderr(file.try_clone().map_err(to)?).stdout(file);
    pin(&mut command, core);
    let began = Instant::now();
    let child = command.spawn().map_err(|e| format!("cannot start {}: {e}", what.program.display()))?;
    let (mut peak_kib, mut killed) = (0, false);
    loop {
        if let Some((status, used)) = reap(&child, libc::WNOHANG)? {
            return Ok(Usage {
                user_s: seconds(used.ru_utime),
                system_s: seconds(used.ru_stime),
                wall_s: began.elapsed().as_secs_f64(),
                peak_kib: if peak_kib > 0 { peak_kib } else { used.ru_maxrss as u64 },
                exit: if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { 128 + libc::WTERMSIG(status) },
                output: output.to_owned(),
            });
        }
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        peak_kib = field_kib(&status, "VmHWM:").unwrap_or(peak_kib).max(peak_kib);
        meanwhile(ProcessSample {
            process: child.id(),
            since: began.elapsed(),
            anonymous_kib: field_kib(&status, "RssAnon:").unwrap_or(0),
        });
        if began.elapsed() > longest && !killed {
            signal(child.id(), libc::SIGKILL);
            killed = true;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Sends a signal to a child that has not been waited for.
pub fn signal(process: u32, number: i32) {
    // SAFETY: the id is that of a child of ours that was not reaped yet, so the id cannot have been
    // reused.
    unsafe { libc::kill(process as libc::pid_t, number) };
}

/// Reaps a child that has ended; returns its exit code and resource usage.
fn reap(child: &Child, flags: i32) -> Result<Option<(i32, libc::rusage)>, String> {
    let mut status = 0;
    // SAFETY: rusage is plain numbers, for which all zeroes is a valid value.
    let mut used: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to values that outlive the call.
    let found = unsafe { libc::wait4(child.id() as libc::pid_t, &mut status, flags, &mut used) };
    match found {
        0 => Ok(None),
        -1 => Err(format!("cannot wait for a child: {}", io::Error::last_os_error())),
        _ => Ok(Some((status, used))),
    }
}

fn seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 / 1e6
}

fn field_kib(status: &str, name: &str) -> Option<u64> {
    status.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.parse().ok()
}

/// Returns the CPU time (user and system) that a running process has used so far, in seconds, from
/// `/proc`.
pub fn cpu_of(process: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name in parentheses may hold spaces; fields 14 and 15 are counted from its end.
    let Some((_, rest)) = stat.rsplit_once(')') else { return 0.0 };
    let ticks: f64 = rest.split_whitespace().skip(11).take(2).filter_map(|t| t.parse::<f64>().ok()).sum();
    ticks / ticks_per_second()
}

/// Returns the CPU time of all children reaped so far, in seconds.
pub fn cpu_of_ended_children() -> f64 {
    // SAFETY: rusage is plain numbers, for which all zeroes is a valid value, and it outlives the
    // call.
    let used = unsafe {
        let mut used: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &mut used);
        used
    };
    seconds(used.ru_utime) + seconds(used.ru_stime)
}

/// Returns the clock ticks per second, the unit of times in `/proc`.
pub fn ticks_per_second() -> f64 {
    // SAFETY: sysconf has no conditions.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    if ticks > 0 { ticks as f64 } else { 100.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Invocation {
        Invocation { program: "/bin/sh".into(), arguments: vec!["-c".into(), script.into()], environment: vec![] }
    }

    #[test]
    fn reports_exit_codes_and_kills_what_does_not_end() {
        let output = std::env::temp_dir().join(format!("xtask-measure-{}", std::process::id()));
        let cases = [("exit 7", 30_000, 7), ("exec sleep 600", 100, 128 + libc::SIGKILL)];
        for (script, longest, exit) in cases {
            let used = run(&shell(script), 0, &output, Duration::from_millis(longest), |_| {}).expect("sh starts");
            assert_eq!(used.exit, exit, "{script}");
        }
        fs::remove_file(output).expect("the output was written");
    }

    #[test]
    fn reads_fields_of_status() {
        let status = "Name:\tx\nVmHWM:\t    1234 kB\nRssAnon:\t  56 kB\n";
        assert_eq!(field_kib(status, "VmHWM:"), Some(1234));
        assert_eq!(field_kib(status, "RssAnon:"), Some(56));
        assert_eq!(field_kib(status, "VmRSS:"), None);
    }
}
