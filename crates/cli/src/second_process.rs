//! The built-in target in a separate process, so that its CPU time is counted separately.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use brunt_cause::complaint;
use brunt_contract::UsageError;

use crate::serve;

/// The target process. `Drop` ends it, or the kernel does if this process is killed.
pub struct SecondProcess {
    child: Child,
    /// The URL of the target.
    pub url: String,
}

impl SecondProcess {
    /// Starts the process for the command with this name.
    ///
    /// # Errors
    /// Returns an error if the process does not start.
    pub fn start(command: &str) -> Result<SecondProcess, UsageError> {
        SecondProcess::start_with(command, &[])
    }

    /// Like [`SecondProcess::start`], with further options of `brunt target`.
    ///
    /// # Errors
    /// Returns an error if the process does not start.
    pub fn start_with(command: &str, options: &[&str]) -> Result<SecondProcess, UsageError> {
        let failed = |error: std::io::Error| {
            UsageError::new(
                command,
                complaint!("the second process did not start ({error})", "第二个进程没有启动（{error}）"),
            )
        };
        let program = std::env::current_exe().map_err(failed)?;
        let mut child = Command::new(program)
            .args(["target", "127.0.0.1:0", "--with-parent"])
            .args(options)
            .env(serve::PARENT, std::process::id().to_string())
            .env("LC_ALL", "C")
            // Ctrl-C is sent to the whole process group of a terminal: the target must outlive the orderly end of the
            // run.
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let mut line = String::new();
        let read = child.stdout.take().map(|out| BufReader::new(out).read_line(&mut line));
        let url = line.split_whitespace().next_back().filter(|word| word.starts_with("http://")).map(String::from);
        // From here on, dropping this value ends the child, even if its output is not understood.
        let second = SecondProcess { child, url: url.unwrap_or_default() };
        match (read, second.url.is_empty()) {
            (Some(Ok(_)), false) => Ok(second),
            _ => Err(UsageError::new(
                command,
                complaint!(
                    "the second process did not report its address; try `brunt target`",
                    "第二个进程没有报告地址；请试试 `brunt target`"
                ),
            )),
        }
    }

    /// Returns its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for SecondProcess {
    fn drop(&mut self) {
        // Both fail only if the process has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
