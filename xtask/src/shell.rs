//! Running other programs: cargo and the package managers.
//!
//! Output goes directly to the terminal, or passes line by line through a task that also reads it.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::places;

/// Creates a cargo command that runs in the root of the repository, with the cargo that runs this
/// task.
pub fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(places::root());
    command
}

/// Runs a command to completion; a failure is an error that shows the command.
pub fn run(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|e| format!("cannot start {}: {e}", shown(command)))?;
    if status.success() { Ok(()) } else { Err(format!("{} ended with {status}", shown(command))) }
}

/// Runs a command without showing its output, for use alongside other steps; the error includes the
/// output.
pub fn quietly(command: &mut Command) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).output().map_err(|e| format!("cannot start {}: {e}", shown(command)))?;
    if output.status.success() {
        return Ok(());
    }
    let told = [output.stdout, output.stderr].concat();
    Err(format!("{} ended with {}\n{}", shown(command), output.status, String::from_utf8_lossy(&told).trim_end()))
}

/// Runs a command to completion and returns its standard output.
pub fn capture(command: &mut Command) -> Result<String, String> {
    let output =
        command.stderr(Stdio::inherit()).output().map_err(|e| format!("cannot start {}: {e}", shown(command)))?;
    if !output.status.success() {
        return Err(format!("{} ended with {}", shown(command), output.status));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("{} wrote output that is not UTF-8", shown(command)))
}

/// Runs a command to completion, printing its standard output as it arrives and passing each line to `reader`.
pub fn watch(command: &mut Command, mut reader: impl FnMut(&str)) -> Result<(), String> {
    let mut child =
        command.stdout(Stdio::piped()).spawn().map_err(|e| format!("cannot start {}: {e}", shown(command)))?;
    if let Some(output) = child.stdout.take() {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            println!("{line}");
            reader(&line);
        }
    }
    let status = child.wait().map_err(|e| format!("cannot wait for {}: {e}", shown(command)))?;
    if status.success() { Ok(()) } else { Err(format!("{} ended with {status}", shown(command))) }
}

/// Formats a command line as typed, without the program's directory.
pub fn shown(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    let mut text = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned();
    for argument in command.get_args() {
        text.push(' ');
        text.push_str(&argument.to_string_lossy());
    }
    text
}
