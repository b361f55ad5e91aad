//! Packages of Python that tests use, fetched once into the build output with the versions that are written there.

use std::path::PathBuf;
use std::process::Command;

use crate::foreign::{done, output, sources};

/// The packages of a folder of `tests/servers`, for `PYTHONPATH`.
///
/// # Errors
/// They cannot be fetched.
pub fn fetch(folder: &str) -> Result<PathBuf, String> {
    let packages = output(folder)?;
    let wanted = sources(folder).join("requirements.txt");
    let text = std::fs::read_to_string(&wanted).map_err(|error| error.to_string())?;
    let mark = packages.join("fetched.txt");
    if std::fs::read_to_string(&mark).is_ok_and(|fetched| fetched == text) {
        return Ok(packages);
    }
    let mut fetch = Command::new("python3");
    fetch.args(["-m", "pip", "install", "--quiet", "--upgrade", "--target"]).arg(&packages).arg("-r").arg(wanted);
    done(&mut fetch, &format!("{folder} is not fetched (pip: apt-get install python3-pip)"))?;
    std::fs::write(mark, text).map_err(|error| error.to_string())?;
    Ok(packages)
}
