//! A generator and a target that are both brunt: finding the program, starting it, and reading the report and the log
//! of one run.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::measure::{self, GENERATOR_CORE, Invocation, ProcessSample, SERVER_CORE, Usage};
use crate::{places, shell};

/// Returns the given program, or builds one with optimisation; `None` if the build fails.
pub fn program(given: Option<PathBuf>) -> Result<Option<PathBuf>, String> {
    if let Some(path) = given {
        return match path.canonicalize() {
            Ok(path) => Ok(Some(path)),
            Err(e) => Err(format!("--brunt {}: {e}", path.display())),
        };
    }
    if let Err(why) = shell::run(&mut shell::cargo(&["build", "--profile", "dist", "-p", "brunt-cli"])) {
        eprintln!("skipping brunt: {why}");
        return Ok(None);
    }
    Ok(Some(places::brunt("dist")).filter(|path| Path::is_file(path)))
}

/// The built-in target on the first core, logging every arrival; killed on drop.
pub struct LoggingTarget {
    child: Child,
    port: u16,
    log: PathBuf,
}

/// A line of the target's log: times in nanoseconds, on the same clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LoggedArrival {
    pub arrived: u64,
    /// Time of the answer; 0 if there was none.
    pub answered: u64,
}

impl LoggingTarget {
    /// Starts the target with additional options and waits until it answers.
    pub fn start(brunt: &Path, name: &str, options: &str) -> Result<Self, String> {
        let port = places::free_port()?;
        let log = places::scratch("target")?.join(format!("{name}.arrivals"));
        let mut command = Command::new(brunt);
        command.args(["target", &format!("127.0.0.1:{port}"), "-w", "1", "--log-arrivals"]).arg(&log);
        command.args(options.split_whitespace()).stdin(Stdio::null()).stdout(Stdio::null());
        measure::pin(&mut command, SERVER_CORE);
        let child = command.spawn().map_err(|e| format!("cannot start the target: {e}"))?;
        let mut target = Self { child, port, log };
        let answers = || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok();
        let up = brunt_programs::wait_until_up(&mut target.child, Duration::from_secs(10), answers);
        up.map_err(|why| format!("the target {why}"))?;
        Ok(target)
    }

    /// Returns the URL of a path on the target.
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Stops the target gracefully and returns its log, sorted by arrival.
    pub fn finish(mut self) -> Result<Vec<LoggedArrival>, String> {
        measure::signal(self.child.id(), libc::SIGTERM);
        let began = Instant::now();
        while !matches!(self.child.try_wait(), Ok(Some(_)) | Err(_)) {
            if began.elapsed() > Duration::from_secs(10) {
                return Err("the target did not stop".into());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let text = fs::read_to_string(&self.log).map_err(|e| format!("cannot read {}: {e}", self.log.display()))?;
        read_arrivals(&text).ok_or_else(|| format!("{} is not a log of arrivals", self.log.display()))
    }
}

impl Drop for LoggingTarget {
    fn drop(&mut self) {
        // An error means that the process has already exited.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read_arrivals(text: &str) -> Option<Vec<LoggedArrival>> {
    let line = |line: &str| {
        let mut numbers = line.split_whitespace().map(|word| word.parse().ok());
        Some(LoggedArrival { arrived: numbers.next()??, answered: numbers.next()?? })
    };
    let mut arrivals = text.lines().map(line).collect::<Option<Vec<_>>>()?;
    arrivals.sort_unstable();
    Some(arrivals)
}

/// Runs brunt on the second core against a URL and returns its JSON report and resource usage. The report is
/// null if the run wrote none.
pub fn generate(
    brunt: &Path,
    name: &str,
    url: &str,
    options: &str,
    meanwhile: impl FnMut(ProcessSample),
) -> Result<(Value, Usage), String> {
    let folder = places::scratch("pair")?;
    let document = folder.join(format!("{name}.json"));
    // A report left by an earlier run must not be taken for that of this run.
    let _ = fs::remove_file(&document);
    let mut arguments: Vec<OsString> = vec![url.into()];
    arguments.extend(options.split_whitespace().map(OsString::from));
    arguments.extend(["-w", "1", "--quiet", "--format", "json", "-o"].map(OsString::from));
    arguments.push(document.clone().into());
    let what = Invocation { program: brunt.to_owned(), arguments, environment: vec![] };
    let output = folder.join(format!("{name}.out"));
    let usage = measure::run(&what, GENERATOR_CORE, &output, Duration::from_secs(120), meanwhile)?;
    let report = fs::read_to_string(&document).ok().and_then(|text| serde_json::from_str(&text).ok());
    Ok((report.unwrap_or(Value::Null), usage))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_arrivals_in_their_order() {
        let text = "20 25 200 /\n10 30 200 /delay/10ms\n15 0 0 /hang\n";
        let arrival = |arrived, answered| LoggedArrival { arrived, answered };
        assert_eq!(read_arrivals(text), Some(vec![arrival(10, 30), arrival(15, 0), arrival(20, 25)]));
        assert_eq!(read_arrivals("no log"), None);
    }
}
