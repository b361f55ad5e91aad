//! Paths: the repository, its build output, and programs.

use std::env;
use std::path::{Path, PathBuf};

/// Returns the root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

/// Returns cargo's build directory, which `CARGO_TARGET_DIR` may change.
pub fn target_dir() -> PathBuf {
    match env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => root().join(dir),
        None => root().join("target"),
    }
}

/// Returns the path of the program built by `cargo build`.
pub fn brunt(profile: &str) -> PathBuf {
    target_dir().join(profile).join("brunt")
}

/// Returns the directory for peers that have no Debian package.
pub fn peers() -> PathBuf {
    target_dir().join("peers")
}

/// Returns a directory for the files of a task; creates it if it is missing.
pub fn scratch(name: &str) -> Result<PathBuf, String> {
    let dir = target_dir().join("xtask").join(name);
    std::fs::create_dir_all(&dir).map_err(|e| format!("cannot create {}: {e}", dir.display()))?;
    Ok(dir)
}

/// Finds a program on the path, in Debian's server directories, or among the installed peers.
pub fn find(program: &str) -> Option<PathBuf> {
    brunt_programs::find(program).or_else(|| Some(peers().join("bin").join(program)).filter(|file| file.is_file()))
}

/// Returns a free TCP port.
pub fn free_port() -> Result<u16, String> {
    brunt_programs::free_port().map_err(|e| format!("no free port: {e}"))
}
