//! `cargo xtask truth bands`: whatever disturbs brunt, the server's quantiles lie within the bands that brunt records.
//!
//! Each line is a run of a few seconds against a server with a true log, under one disturbance. Under a busy machine the
//! bands are wide, which is their purpose; a line fails only if the server's figure is outside.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::stamped_server::{ServiceTime, StampedRequest, StampedServer};
use crate::measure::{self, GENERATOR_CORE, SERVER_CORE};
use crate::{places, shell};

/// What disturbs brunt during a run.
#[derive(Clone, Copy, Debug)]
enum Disturbance {
    None,
    /// Busy loops on its core, beside which it has this niceness.
    Loops(usize, i32),
    /// Stopped for so many milliseconds in each second.
    Stops(u64),
    /// On the core of the server.
    SharedCore,
    /// A quota of so many percent of a core.
    Quota(u32),
}

const DISTURBANCES: [(&str, ServiceTime, Disturbance); 16] = [
    ("none", ServiceTime::Fixed, Disturbance::None),
    ("nice 19, 1 loop", ServiceTime::Fixed, Disturbance::Loops(1, 19)),
    ("nice 0, 1 loop", ServiceTime::Fixed, Disturbance::Loops(1, 0)),
    ("nice 19, 2 loops", ServiceTime::Fixed, Disturbance::Loops(2, 19)),
    ("nice 0, 2 loops", ServiceTime::Fixed, Disturbance::Loops(2, 0)),
    ("stopped 100 ms/s", ServiceTime::Fixed, Disturbance::Stops(100)),
    ("stopped 30 ms/s", ServiceTime::Fixed, Disturbance::Stops(30)),
    ("one shared core", ServiceTime::Fixed, Disturbance::SharedCore),
    ("quota 50 %", ServiceTime::Fixed, Disturbance::Quota(50)),
    ("quota 5 %", ServiceTime::Fixed, Disturbance::Quota(5)),
    ("quota 2 %", ServiceTime::Fixed, Disturbance::Quota(2)),
    ("server stalls", ServiceTime::Stalling, Disturbance::None),
    ("lognormal", ServiceTime::Lognormal, Disturbance::None),
    ("lognormal, nice 19", ServiceTime::Lognormal, Disturbance::Loops(1, 19)),
    ("lognormal, nice 0", ServiceTime::Lognormal, Disturbance::Loops(1, 0)),
    ("lognormal, stopped", ServiceTime::Lognormal, Disturbance::Stops(100)),
];

const LOADS: [(&str, &str); 2] = [("open", "-r 500/s"), ("closed", "-c 10")];
const QUANTILES: [(&str, f64); 3] = [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)];
/// Share of a figure by which buckets of both sides may differ, and time for which one reading of brunt's clock may
/// serve.
const BUCKETS: f64 = 0.01;
const STAMPED: f64 = 20e3;

/// Runs all lines, and prints each.
pub(super) fn run(brunt: &Path) -> Result<(), String> {
    let (mut outside, mut skipped) = (0, 0);
    println!("server's figure in brunt's band, in ms; its width in percent of its upper end");
    for (name, service, disturbance) in DISTURBANCES {
        for (load, options) in LOADS {
            let quota = match disturbance {
                Disturbance::Quota(percent) => match CpuQuota::new(percent) {
                    Ok(quota) => Some(quota),
                    Err(why) => {
                        println!("SKIPPED  {name}, {load}: no quota can be set: {why}");
                        skipped += 1;
                        continue;
                    }
                },
                _ => None,
            };
            let server = StampedServer::start(service, SERVER_CORE)?;
            let record = disturbed_run(brunt, &server, options, disturbance, quota.as_ref())?;
            outside += usize::from(!print_line(&format!("{name}, {load}"), server.take_log(), &bands_of(&record)?));
        }
    }
    println!("{outside} lines outside, {skipped} skipped");
    if outside == 0 { Ok(()) } else { Err(format!("in {outside} lines the server's figure is outside the band")) }
}

/// Runs brunt under a disturbance and returns its record.
fn disturbed_run(
    brunt: &Path,
    server: &StampedServer,
    load: &str,
    disturbance: Disturbance,
    quota: Option<&CpuQuota>,
) -> Result<PathBuf, String> {
    let record = places::scratch("bands")?.join("run.brunt");
    // A record left by an earlier run must not be taken for that of this run.
    let _ = fs::remove_file(&record);
    let mut command = Command::new(brunt);
    command.arg(format!("http://127.0.0.1:{}/", server.port)).args(load.split_whitespace());
    command.args(["-d", "6s", "-w", "1", "--quiet", "--record"]).arg(&record);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let core = if matches!(disturbance, Disturbance::SharedCore) { SERVER_CORE } else { GENERATOR_CORE };
    measure::pin(&mut command, core);
    let mut loops = Vec::new();
    if let Disturbance::Loops(many, niceness) = disturbance {
        for _ in 0..many {
            let mut busy = Command::new("sh");
            busy.args(["-c", "while :; do :; done"]);
            measure::pin(&mut busy, core);
            loops.push(EndedOnDrop(busy.spawn().map_err(|e| format!("sh: {e}"))?));
        }
        // SAFETY: nice is async-signal-safe and has no pointers.
        unsafe {
            command.pre_exec(
                move || if libc::nice(niceness) == -1 { Err(std::io::Error::last_os_error()) } else { Ok(()) },
            )
        };
    }
    let mut child = EndedOnDrop(command.spawn().map_err(|e| format!("cannot start {}: {e}", brunt.display()))?);
    if let Some(quota) = quota {
        quota.add(child.0.id())?;
    }
    let began = Instant::now();
    while !matches!(child.0.try_wait(), Ok(Some(_)) | Err(_)) {
        if began.elapsed() > Duration::from_secs(60) {
            return Err("brunt did not end".into());
        }
        if let Disturbance::Stops(millis) = disturbance {
            std::thread::sleep(Duration::from_millis(1000 - millis));
            measure::signal(child.0.id(), libc::SIGSTOP);
            std::thread::sleep(Duration::from_millis(millis));
            measure::signal(child.0.id(), libc::SIGCONT);
        } else {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    Ok(record)
}

/// Returns the bands of a record, by the crate that knows its format.
fn bands_of(record: &Path) -> Result<Value, String> {
    let mut read = shell::cargo(&["run", "--quiet", "-p", "brunt-record", "--example", "band", "--"]);
    let output = read.arg(record).output().map_err(|e| format!("cargo: {e}"))?;
    serde_json::from_slice(&output.stdout).map_err(|e| format!("{}: {e}", String::from_utf8_lossy(&output.stderr)))
}

/// Prints a line; returns whether all quantiles are inside.
fn print_line(name: &str, mut log: Vec<StampedRequest>, bands: &Value) -> bool {
    // The first is the probe before the run.
    log = log.split_off(log.len().min(1));
    let resolution = bands["resolution"].as_f64().unwrap_or_default();
    let sorted = |of: fn(&StampedRequest) -> u64| {
        let mut values: Vec<u64> = log.iter().map(of).collect();
        values.sort_unstable();
        values
    };
    let (least, most) = (sorted(|request| request.least), sorted(|request| request.most));
    let (mut text, mut inside) = (String::new(), !log.is_empty());
    for (nth, (quantile, q)) in QUANTILES.into_iter().enumerate() {
        let at = |values: &[u64]| {
            let rank = (q * values.len() as f64).ceil().max(1.0) as usize;
            values.get(rank - 1).map_or(f64::NAN, |ns| *ns as f64)
        };
        let (low, high) = (at(&least), at(&most));
        let [from, to] = [0, 1].map(|end| bands["bands"][nth][end].as_f64().unwrap_or(f64::NAN));
        let good = from <= high * (1.0 + BUCKETS) + resolution + STAMPED && to >= low * (1.0 - BUCKETS);
        inside &= good;
        let (mark, width) = (if good { "in" } else { "OUTSIDE" }, 100.0 * (to - from) / to);
        let [high, from, to] = [high, from, to].map(|ns| ns / 1e6);
        text += &format!("  {quantile} {high:.2} {mark} {from:.2}…{to:.2} ({width:.0} %)");
    }
    println!("{name:<26}{text}  ρ {:.0} µs, n {}", resolution / 1e3, bands["count"]);
    inside
}

/// A child that is killed when it is dropped.
struct EndedOnDrop(Child);

impl Drop for EndedOnDrop {
    fn drop(&mut self) {
        // An error means that the process has already exited.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A control group with a limit of CPU time; removed when it is dropped.
struct CpuQuota(PathBuf);

impl CpuQuota {
    fn new(percent: u32) -> Result<CpuQuota, String> {
        let name = format!("brunt-truth-{}", std::process::id());
        let unified = Path::new("/sys/fs/cgroup/cgroup.controllers").exists();
        let group = Path::new(if unified { "/sys/fs/cgroup" } else { "/sys/fs/cgroup/cpu" }).join(name);
        fs::create_dir_all(&group).map_err(|e| format!("{}: {e}", group.display()))?;
        let quota = CpuQuota(group);
        let micros = percent * 1000;
        let (file, text) =
            if unified { ("cpu.max", format!("{micros} 100000")) } else { ("cpu.cfs_quota_us", micros.to_string()) };
        fs::write(quota.0.join(file), text).map_err(|e| format!("{file}: {e}"))?;
        Ok(quota)
    }

    fn add(&self, process: u32) -> Result<(), String> {
        fs::write(self.0.join("cgroup.procs"), process.to_string()).map_err(|e| format!("cgroup.procs: {e}"))
    }
}

impl Drop for CpuQuota {
    fn drop(&mut self) {
        // An error means that the group is not empty, or was never made.
        let _ = fs::remove_dir(&self.0);
    }
}
