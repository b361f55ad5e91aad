//! Third-party servers from `tests/servers`: their dependencies are fetched or built once, into the build output, at
//! the pinned versions.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Returns the folder of a server.
pub fn sources(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("servers").join(name)
}

/// Prepares all servers, so that no test has to wait for a download or a compiler. Returns the
/// errors.
pub fn prepare_all(target: &Path) -> Vec<String> {
    let Ok(folders) = fs::read_dir(sources("")) else { return Vec::new() };
    let prepare = |folder: fs::DirEntry| {
        let name = folder.file_name().into_string().ok()?;
        let has = |file: &str| folder.path().join(file).is_file();
        let made = match () {
            () if has("go.mod") => build_go(target, &name),
            () if has("requirements.txt") => fetch_python(target, &name),
            () if has("package-lock.json") => fetch_node(target, &name),
            () => return None,
        };
        made.err()
    };
    folders.flatten().filter_map(prepare).collect()
}

/// Builds a Go server. Returns its program.
///
/// # Errors
/// Returns an error if it cannot be built.
pub fn build_go(target: &Path, name: &str) -> Result<PathBuf, String> {
    let program = output(target, name)?.join("server");
    let installed = PathBuf::from("/usr/local/go/bin/go");
    let go = if installed.is_file() { installed } else { PathBuf::from("go") };
    let mut build = Command::new(go);
    build.args(["build", "-o"]).arg(&program).arg(".").current_dir(sources(name));
    let trouble = format!("the server of tests/servers/{name} is not built (Go: apt-get install golang-go)");
    done(&mut build, &trouble).map(|()| program)
}

/// Fetches the packages of a JavaScript server. Returns the folder of its scripts, which are copied next to the
/// packages because Node looks there.
///
/// # Errors
/// Returns an error if they cannot be fetched.
pub fn fetch_node(target: &Path, name: &str) -> Result<PathBuf, String> {
    let place = output(target, name)?;
    let lock = "package-lock.json";
    let before = fs::read(place.join(lock)).unwrap_or_default();
    for file in fs::read_dir(sources(name)).map_err(|error| error.to_string())?.flatten() {
        fs::copy(file.path(), place.join(file.file_name())).map_err(|error| error.to_string())?;
    }
    if before != fs::read(place.join(lock)).unwrap_or_default() || !place.join("node_modules").is_dir() {
        let mut fetch = Command::new("npm");
        fetch.args(["ci", "--silent", "--no-audit", "--no-fund"]).current_dir(&place);
        done(&mut fetch, &format!("the packages of tests/servers/{name} are not fetched (apt-get install npm)"))?;
    }
    done(Command::new("node").arg("--version"), "node is not installed (apt-get install nodejs)")?;
    Ok(place)
}

/// Fetches the packages of a Python server, for `PYTHONPATH`.
///
/// # Errors
/// Returns an error if they cannot be fetched.
pub fn fetch_python(target: &Path, name: &str) -> Result<PathBuf, String> {
    let packages = output(target, name)?;
    let wanted = sources(name).join("requirements.txt");
    let text = fs::read_to_string(&wanted).map_err(|error| error.to_string())?;
    let mark = packages.join("fetched.txt");
    if fs::read_to_string(&mark).is_ok_and(|fetched| fetched == text) {
        return Ok(packages);
    }
    let mut fetch = Command::new("python3");
    fetch.args(["-m", "pip", "install", "--quiet", "--upgrade", "--target"]).arg(&packages).arg("-r").arg(wanted);
    done(&mut fetch, &format!("{name} is not fetched (pip: apt-get install python3-pip)"))?;
    fs::write(mark, text).map_err(|error| error.to_string())?;
    Ok(packages)
}

/// Creates a directory in the build output.
fn output(target: &Path, name: &str) -> Result<PathBuf, String> {
    let directory = target.join("servers").join(name);
    fs::create_dir_all(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    Ok(directory)
}

/// Runs a command until it exits. On failure, returns `trouble` followed by its standard error.
fn done(command: &mut Command, trouble: &str) -> Result<(), String> {
    match command.stdin(Stdio::null()).output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!("{trouble}: {}", String::from_utf8_lossy(&output.stderr).trim())),
        Err(error) => Err(format!("{trouble}: {error}")),
    }
}
