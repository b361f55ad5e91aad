//! Reports as documents: rendered by `report`, written to standard output and to `-o`.

use std::fs::OpenOptions;
use std::io;

use record::Past;
use report::formats::{self, Style};
use report::{Summary, seconds};
use wire::Complaint;

/// A report in the format of this name.
///
/// # Errors
/// What rendering said.
pub fn render(summary: &Summary, past: &dyn Past, format: &str, style: Style) -> io::Result<Vec<u8>> {
    let format = formats::format(format).ok_or(io::ErrorKind::Unsupported)?;
    let mut document = Vec::new();
    match seconds(past) {
        Ok(mut seconds) => format.write(summary, &mut seconds, style, &mut document)?,
        // Without the seconds a report still has its sums.
        Err(_) => format.write(summary, &mut std::iter::empty(), style, &mut document)?,
    }
    Ok(document)
}

/// Makes sure before a run that `-o FILE` can be written after it; what the file holds is not touched.
///
/// # Errors
/// Why it cannot.
pub fn check_writable(place: &str, path: &str) -> Result<(), Complaint> {
    let is_new = !std::path::Path::new(path).exists();
    match OpenOptions::new().create(true).append(true).open(path) {
        Ok(_) if is_new => {
            // An empty file would look like a report of a run that has not been.
            let _ = std::fs::remove_file(path);
            Ok(())
        }
        Ok(_) => Ok(()),
        Err(error) => {
            Err(Complaint::new(place, format!("{path} cannot be written ({error}); write the path of a file that can")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_written_is_refused_before_the_run() {
        let directory = tempfile::tempdir().unwrap();
        let new = directory.path().join("new.json");
        assert_eq!(check_writable("-o", &new.to_string_lossy()), Ok(()));
        assert!(!new.exists());
        let held = directory.path().join("held.json");
        std::fs::write(&held, "kept").unwrap();
        assert_eq!(check_writable("-o", &held.to_string_lossy()), Ok(()));
        assert_eq!(std::fs::read_to_string(&held).unwrap(), "kept");
        let complaint = check_writable("-o", "/nowhere/at/all.json").unwrap_err();
        assert!(complaint.to_string().starts_with("-o: /nowhere/at/all.json cannot be written"), "{complaint}");
    }
}
