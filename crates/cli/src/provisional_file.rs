//! The seconds that a silent agent holds up, for a console: the record waits for the whole, and who watches should not.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use brunt_console::run_control;
use brunt_record::{Notice, RunEvent, RunListener, Second};
use serde_json::json;

use crate::control_pipe;

/// A file beside the record of a controlled run, made when there is something to say; it ends with the run.
pub struct ProvisionalFile {
    path: Option<PathBuf>,
    file: Option<File>,
}

impl ProvisionalFile {
    /// Prepares the file; it is never made if no program controls the run.
    pub fn new() -> ProvisionalFile {
        let path = control_pipe::record().map(|mut record| {
            record.push(run_control::PROVISIONAL);
            PathBuf::from(record)
        });
        ProvisionalFile { path, file: None }
    }

    fn write(&mut self, second: &Second) -> std::io::Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        if self.file.is_none() {
            self.file = Some(OpenOptions::new().create(true).append(true).mode(0o600).open(path)?);
        }
        let line = json!({
            "from_ns": second.from_ns,
            "to_ns": second.to_ns,
            "succeeded": second.successes(),
            "failed": second.failed,
            "missing_share": second.missing_share,
        });
        self.file.iter_mut().try_for_each(|file| writeln!(file, "{line}"))
    }
}

impl RunListener for ProvisionalFile {
    fn observe(&mut self, event: &RunEvent) -> Result<(), Notice> {
        if let RunEvent::Provisional(second) = event {
            // What cannot be shown early is in the record later.
            let _ = self.write(second);
        }
        Ok(())
    }
}

impl Drop for ProvisionalFile {
    fn drop(&mut self) {
        if self.file.is_some() {
            let _ = self.path.as_ref().map(std::fs::remove_file);
        }
    }
}
