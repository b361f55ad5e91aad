//! The real program as a child process: built on demand, with its own home directory and with a deadline.

use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Time after which a run counts as hanging.
pub(crate) const DEADLINE: Duration = Duration::from_secs(100);

/// Returns the path of the program.
///
/// Uses `$BRUNT` if it is set, because a test run has then built the program already; otherwise
/// builds it in the directory of this test.
///
/// # Panics
/// Panics if it cannot be built.
pub fn path() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| match std::env::var_os("BRUNT") {
        Some(path) => PathBuf::from(path),
        None => build(),
    })
}

fn build() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    // target/debug/deps/test-0123 → target/debug
    let profile = test.parent().and_then(Path::parent).expect("a test lies in target/debug/deps");
    let target = profile.parent().expect("a profile lies in the target directory");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "-p", "brunt-cli", "--target-dir"]).arg(target);
    if profile.file_name() == Some(OsStr::new("release")) {
        cargo.arg("--release");
    }
    let status = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).status().expect("cargo runs");
    assert!(status.success(), "brunt does not build");
    profile.join("brunt")
}

/// A command that runs the program with its own home directory, and in English even if the tester's
/// environment differs.
pub struct ProgramCommand {
    command: Command,
    home: TempDir,
}

/// Prepares the program with these arguments.
pub fn prepare<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> ProgramCommand {
    ProgramCommand::of(Command::new(path()), args)
}

/// Prepares the program to run under another one, such as `prlimit --nofile=40 --`.
pub fn prepare_under<S: AsRef<OsStr>>(wrapper: &[&str], args: impl IntoIterator<Item = S>) -> ProgramCommand {
    let mut command = Command::new(wrapper[0]);
    command.args(&wrapper[1..]).arg(path());
    ProgramCommand::of(command, args)
}

impl ProgramCommand {
    fn of<S: AsRef<OsStr>>(mut command: Command, args: impl IntoIterator<Item = S>) -> ProgramCommand {
        let home = tempfile::tempdir().expect("a directory for the kept runs");
        command.args(args).env("XDG_STATE_HOME", home.path()).env("LC_ALL", "C");
        for name in ["http_proxy", "https_proxy", "all_proxy", "HTTPS_PROXY", "ALL_PROXY", "no_proxy", "NO_PROXY"] {
            command.env_remove(name);
        }
        command.env_remove("NO_COLOR").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        ProgramCommand { command, home }
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> ProgramCommand {
        self.command.env(name, value);
        self
    }

    /// Redirects standard output.
    pub fn out(mut self, to: impl Into<Stdio>) -> ProgramCommand {
        self.command.stdout(to);
        self
    }

    /// Redirects standard error.
    pub fn err(mut self, to: impl Into<Stdio>) -> ProgramCommand {
        self.command.stderr(to);
        self
    }

    /// Sets standard input.
    pub fn input(mut self, from: impl Into<Stdio>) -> ProgramCommand {
        self.command.stdin(from);
        self
    }

    /// Starts the program.
    pub fn start(self) -> RunningProgram {
        let ProgramCommand { mut command, home } = self;
        let own = command.get_envs().find(|(name, _)| *name == "XDG_STATE_HOME").and_then(|(_, value)| value);
        let state = own.map_or_else(|| home.path().to_owned(), PathBuf::from);
        let mut child = command.spawn().expect("brunt starts");
        let out = child.stdout.take().map(read_all);
        let err = child.stderr.take().map(read_all);
        RunningProgram { child, out, err, state, _home: home }
    }

    /// Starts the program and waits for it to exit.
    pub fn run(self) -> ProgramOutput {
        self.start().end()
    }
}

fn read_all(mut from: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // The output before an error is still worth showing.
        let _ = from.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Starts the program with these arguments.
pub fn start<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> RunningProgram {
    prepare(args).start()
}

/// Runs the program with these arguments until it exits.
pub fn brunt<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> ProgramOutput {
    prepare(args).run()
}

/// The running program; killed on drop.
pub struct RunningProgram {
    child: Child,
    out: Option<JoinHandle<String>>,
    err: Option<JoinHandle<String>>,
    /// The folder where its runs are kept.
    state: PathBuf,
    _home: TempDir,
}

impl RunningProgram {
    /// Sends a signal to the program.
    pub fn signal(&self, signal: rustix::process::Signal) {
        let id = rustix::process::Pid::from_child(&self.child);
        // An error means that it has exited already, which the test will notice.
        let _ = rustix::process::kill_process(id, signal);
    }

    /// Returns its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns its peak memory so far, in bytes; 0 once it has exited.
    pub fn resident(&self) -> u64 {
        resident(self.id())
    }

    /// Returns `true` while the program runs.
    pub fn runs(&mut self) -> bool {
        self.child.try_wait().expect("it is our child").is_none()
    }

    /// Waits for the program to exit.
    ///
    /// # Panics
    /// Panics if it does not exit before the deadline.
    pub fn end(mut self) -> ProgramOutput {
        let began = Instant::now();
        let mut peak = 0;
        let status = loop {
            peak = peak.max(self.resident());
            if let Some(status) = self.child.try_wait().expect("it is our child") {
                break status;
            }
            if began.elapsed() > DEADLINE {
                let _ = self.child.kill();
                let _ = self.child.wait();
                panic!("brunt hangs; it said\n{}\n{}", text(self.out.take()), text(self.err.take()));
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        ProgramOutput::new(status, text(self.out.take()), text(self.err.take()), peak, &self.state)
    }
}

fn text(reader: Option<JoinHandle<String>>) -> String {
    reader.map(|reader| reader.join().expect("the reader does not panic")).unwrap_or_default()
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        // Both fail only if it has exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns `true` if every reason against the last run kept in this home concerns the generator itself. It is read from
/// the document of that run, because its summary shows the first reason alone.
fn only_the_generator_is_doubted(home: &Path) -> bool {
    let mut report = Command::new(path());
    report.args(["report", "--format", "json"]).env("XDG_STATE_HOME", home).stdin(Stdio::null());
    let output = report.output().expect("brunt starts");
    serde_json::from_slice(&output.stdout).is_ok_and(|json| crate::report::is_doubted_for_the_generator_alone(&json))
}

/// Returns `true` if a run exited with 20 instead of the expected code only because of doubts about the generator.
/// Tests run in parallel with each other and with other work, which brunt rightly reports in any of them.
pub(crate) fn is_generator_doubt(got: i32, expected: i32, only_the_generator_is_doubted: bool) -> bool {
    got == 20 && matches!(expected, 0 | 10) && only_the_generator_is_doubted
}

/// The program after it has exited.
#[derive(Debug)]
pub struct ProgramOutput {
    /// Exit code; `None` if it was killed by a signal.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
    /// Peak memory observed, in bytes.
    pub peak: u64,
    /// Set if the figures are not trusted because of the generator alone.
    only_the_generator_is_doubted: bool,
}

impl ProgramOutput {
    /// Returns the output of a process that some other program started, and that kept its runs in the folder `state`.
    pub fn of(output: &std::process::Output, state: &Path) -> ProgramOutput {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        ProgramOutput::new(output.status, text(&output.stdout), text(&output.stderr), 0, state)
    }

    fn new(status: ExitStatus, out: String, err: String, peak: u64, state: &Path) -> ProgramOutput {
        let code = status.code();
        let only_the_generator_is_doubted = code == Some(20) && only_the_generator_is_doubted(state);
        ProgramOutput { code, out, err, peak, only_the_generator_is_doubted }
    }

    /// Returns the output if the exit code is the expected one, apart from doubts caused by a busy machine.
    ///
    /// # Panics
    /// Panics if the exit code is another one, or if the program itself panicked.
    #[track_caller]
    pub fn with_code(self, code: i32) -> ProgramOutput {
        assert!(!self.err.contains("panicked"), "brunt panicked:\n{}", self.err);
        let is_doubt = |got| is_generator_doubt(got, code, self.only_the_generator_is_doubted);
        let as_expected = self.code == Some(code) || self.code.is_some_and(is_doubt);
        assert!(as_expected, "exit code {:?}, not {code}; it said\n{}\n{}", self.code, self.out, self.err);
        self
    }

    /// Returns the output if standard output or standard error contains `text`.
    ///
    /// # Panics
    /// Panics if neither does.
    #[track_caller]
    pub fn containing(self, text: &str) -> ProgramOutput {
        assert!(self.out.contains(text) || self.err.contains(text), "`{text}` in\n{}\n{}", self.out, self.err);
        self
    }
}

/// Returns the peak memory of a process so far, in bytes; 0 once it has exited.
pub fn resident(id: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

/// Waits until a condition holds.
///
/// # Panics
/// Panics if it never holds.
#[track_caller]
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < DEADLINE, "never: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
