//! Files named by options. Each is read completely and once, before the run. The size is limited, because a device or a
//! pipe may be endless and a wrong path must not exhaust the memory.
//!
//! All processes of a run, on this machine or others, prepare the same requests. The first process gathers the files
//! that it reads into a bundle ([`gathering`]), and the others read from the bundle ([`from_bundle`]). Everything that
//! is read while a plan is prepared must go through this module.

use brunt_cause::{Complaint, complaint};
use std::cell::RefCell;
use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;
use std::sync::Arc;

use brunt_contract::UsageError;
use brunt_plan::Bundle;

use crate::data::encoding::by_start;
use crate::{pipe, standard_input};

/// The source from which the calling thread reads.
#[derive(Default)]
enum FileSource {
    #[default]
    Disk,
    /// The disk; everything read is kept.
    Gathering(Bundle),
    /// A bundle gathered elsewhere, and nothing else.
    Bundle(Bundle),
}

thread_local! {
    static SOURCE: RefCell<FileSource> = const { RefCell::new(FileSource::Disk) };
}

/// Runs `prepare` and gathers its reads on the calling thread into a bundle.
pub fn gathering<T>(prepare: impl FnOnce() -> T) -> (T, Bundle) {
    let (done, source) = with_source(FileSource::Gathering(Bundle::default()), prepare);
    (done, if let FileSource::Gathering(bundle) = source { bundle } else { Bundle::default() })
}

/// Runs `prepare` with all reads on the calling thread served from a bundle instead of this machine.
pub fn from_bundle<T>(bundle: Bundle, prepare: impl FnOnce() -> T) -> T {
    with_source(FileSource::Bundle(bundle), prepare).0
}

fn with_source<T>(source: FileSource, prepare: impl FnOnce() -> T) -> (T, FileSource) {
    let before = SOURCE.replace(source);
    let done = prepare();
    (done, SOURCE.replace(before))
}

/// Returns the bundled file of this name; `None` if files are read from disk.
fn bundled(path: &str) -> Option<Result<Arc<[u8]>, Complaint>> {
    SOURCE.with_borrow(|source| match source {
        FileSource::Bundle(bundle) => {
            let missing = || {
                complaint!(
                    "{path} did not come with the plan; this is a bug in brunt",
                    "{path} 没有随计划一起传送；这是 brunt 的缺陷"
                )
            };
            Some(bundle.files.get(path).cloned().ok_or_else(missing))
        }
        FileSource::Disk | FileSource::Gathering(_) => None,
    })
}

/// Adds the content of a file to the bundle if reads are gathered.
fn gather(path: &str, content: impl FnOnce() -> Arc<[u8]>) {
    SOURCE.with_borrow_mut(|source| {
        if let FileSource::Gathering(bundle) = source {
            bundle.files.entry(path.to_owned()).or_insert_with(content);
        }
    });
}

/// Returns `true` if there is a file of this name.
pub fn is_file(path: &Path) -> bool {
    SOURCE.with_borrow(|source| match (source, path.to_str()) {
        (FileSource::Bundle(bundle), path) => path.is_some_and(|path| bundle.files.contains_key(path)),
        (FileSource::Disk | FileSource::Gathering(_), _) => path.is_file(),
    })
}

/// Returns `true` if something can be read under this name: a file, a pipe or a device.
pub fn exists(path: &str) -> bool {
    SOURCE.with_borrow(|source| match source {
        FileSource::Bundle(bundle) => bundle.files.contains_key(path),
        FileSource::Disk | FileSource::Gathering(_) => {
            path == standard_input::NAME || std::fs::metadata(path).is_ok_and(|data| !data.is_dir())
        }
    })
}

/// Returns `true` if the path may contain files. A bundle has only the full names of files, so any path may be a
/// directory there.
pub fn is_directory(path: &Path) -> bool {
    reads_from_bundle() || path.is_dir()
}

/// Returns `true` if files come from a bundle and not from disk.
pub fn reads_from_bundle() -> bool {
    SOURCE.with_borrow(|source| matches!(source, FileSource::Bundle(_)))
}

/// Reads an environment variable.
///
/// # Errors
/// The variable is not set or not UTF-8.
pub fn environment_variable(name: &str) -> Result<String, std::env::VarError> {
    SOURCE.with_borrow_mut(|source| {
        if let FileSource::Bundle(bundle) = source {
            return bundle.variables.get(name).cloned().ok_or(std::env::VarError::NotPresent);
        }
        let value = std::env::var(name)?;
        if let FileSource::Gathering(bundle) = source {
            bundle.variables.insert(name.to_owned(), value.clone());
        }
        Ok(value)
    })
}

/// Maximum size in bytes of a text file (plan, data file, commands), and of anything other than a regular file.
pub const TEXT_BOUND: u64 = 64 << 20;

/// Maximum size of a body, in bytes.
pub const BODY_BOUND: u64 = 1 << 30;

/// Reads a body named by the option `place`.
///
/// # Errors
/// The file cannot be read, or is too large.
pub fn body(place: &str, path: &str) -> Result<Vec<u8>, UsageError> {
    read_bounded(place, path, BODY_BOUND).map_err(|trouble| UsageError::new(place, trouble))
}

/// Like [`body`], for content that is sent unchanged and shared, so that it is in memory only once.
///
/// # Errors
/// The file cannot be read, or is too large.
pub fn shared_body(place: &str, path: &str) -> Result<Arc<[u8]>, UsageError> {
    if let Some(content) = bundled(path) {
        return content.map_err(|trouble| UsageError::new(place, trouble));
    }
    let size = |data: &Metadata| Some(data.len()).filter(|size| data.is_file() && *size <= BODY_BOUND);
    // The size is checked without opening the file, because only regular files can be opened repeatedly.
    if let Some(size) = std::fs::metadata(path).ok().as_ref().and_then(size)
        && let (Ok(mut file), Ok(size)) = (File::open(path), usize::try_from(size))
    {
        let mut bytes: Arc<[u8]> = std::iter::repeat_n(0, size).collect();
        let read = Arc::get_mut(&mut bytes).map_or(Ok(()), |bytes| file.read_exact(bytes));
        gather(path, || Arc::clone(&bytes));
        return read.map(|()| bytes).map_err(|error| UsageError::new(place, unreadable(path, &error)));
    }
    body(place, path).map(Arc::from)
}

/// Reads a text named by the option `place`: UTF-8, or UTF-16, as some shells write it.
///
/// # Errors
/// The file cannot be read, is too large, or is not text.
pub fn text(place: &str, path: &str) -> Result<String, UsageError> {
    let text = read_bounded(place, path, TEXT_BOUND).and_then(|bytes| {
        String::from_utf8(by_start(bytes)).map_err(|_| {
            complaint!("{path} is not text (UTF-8); name a text file", "{path} 不是文本（UTF-8）；请写文本文件的名称")
        })
    });
    text.map_err(|trouble| UsageError::new(place, trouble))
}

/// Returns the complaint about a file that cannot be read.
pub fn unreadable(path: &str, error: &io::Error) -> Complaint {
    complaint!(
        "{path} cannot be read ({error}); write the path of a readable file",
        "{path} 无法读取（{error}）；请写可读文件的路径"
    )
}

/// The byte-order mark that some editors write at the beginning of a UTF-8 file.
const MARK: &str = "\u{feff}";

/// Strips a byte-order mark.
pub fn without_byte_order_mark(text: &str) -> &str {
    text.strip_prefix(MARK).unwrap_or(text)
}

/// Checks that a file can be opened for reading. Only regular files are tried, because a pipe can be opened only once.
///
/// # Errors
/// The file cannot be opened.
pub fn check_readable(path: &str) -> io::Result<()> {
    if path == standard_input::NAME {
        return Ok(());
    }
    let data = std::fs::metadata(path)?;
    if data.is_file() { File::open(path).map(drop) } else { Ok(()) }
}

/// The content of a file of any size.
pub enum FileContent {
    /// All of it.
    Memory(Arc<[u8]>),
    /// An open file that is too large to be held in memory.
    File(File),
}

/// Opens a file of any size. Whatever is not a regular file is read up to [`TEXT_BOUND`], and a file that other processes
/// need up to [`BODY_BOUND`].
///
/// # Errors
/// The file cannot be read, or is too large.
pub fn content(path: &str) -> Result<FileContent, Complaint> {
    if let Some(content) = bundled(path) {
        return content.map(FileContent::Memory);
    }
    let travels = SOURCE.with_borrow(|source| matches!(source, FileSource::Gathering(_)));
    let is_large = |data: Metadata| data.is_file() && data.len() > TEXT_BOUND;
    if !travels && std::fs::metadata(path).is_ok_and(is_large) {
        return File::open(path).map(FileContent::File).map_err(|error| unreadable(path, &error));
    }
    read_bounded("{csv …}", path, BODY_BOUND).map(|bytes| FileContent::Memory(bytes.into()))
}

/// Reads a file of at most `bound` bytes, or standard input for the name `-`. `place` is the option that names it.
///
/// # Errors
/// The file cannot be read, is larger than `bound`, or is standard input that another option reads.
pub fn read_bounded(place: &str, path: &str, bound: u64) -> Result<Vec<u8>, Complaint> {
    if let Some(content) = bundled(path) {
        return content.map(|bytes| bytes.to_vec());
    }
    if path == standard_input::NAME {
        let content = standard_input::read(place, bound)?;
        gather(path, || Arc::clone(&content));
        return Ok(content.to_vec());
    }
    let unreadable = |error| unreadable(path, &error);
    let data = std::fs::metadata(path).map_err(unreadable)?;
    let bound = if data.is_file() { bound } else { bound.min(TEXT_BOUND) };
    let mut bytes = Vec::new();
    if data.file_type().is_fifo() {
        bytes = pipe::read(path.as_ref(), bound, pipe::PATIENCE).map_err(unreadable)?;
    } else if data.len() <= bound {
        let file = File::open(path).map_err(unreadable)?;
        file.take(bound + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    }
    if data.len() > bound || bytes.len() as u64 > bound {
        return Err(complaint!(
            "{path} is larger than {} MiB, or endless; use a smaller file",
            "{path} 超过 {} MiB，或没有尽头；请用更小的文件",
            bound >> 20
        ));
    }
    gather(path, || Arc::from(&bytes[..]));
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{BODY_BOUND, TEXT_BOUND, body, read_bounded, shared_body, text};

    #[test]
    fn files_are_read_up_to_a_bound() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name).display().to_string();
        let sparse = |name: &str, size: u64| {
            std::fs::File::create(path(name)).and_then(|file| file.set_len(size)).expect("made");
            path(name)
        };
        assert_eq!(read_bounded("--form", &sparse("fits", 10), 10), Ok(vec![0; 10]));
        let said = |path: &str| format!("{path} is larger than 64 MiB, or endless; use a smaller file");
        let large = sparse("large", TEXT_BOUND + 1);
        assert_eq!(read_bounded("--form", &large, TEXT_BOUND), Err(said(&large).into()));
        assert_eq!(body("--data-file", &large).map(|bytes| bytes.len() as u64), Ok(TEXT_BOUND + 1));
        assert_eq!(shared_body("--data-file", &sparse("held once", 10)), Ok(Arc::from([0; 10])));
        assert!(shared_body("--data-file", &sparse("too large", BODY_BOUND + 1)).is_err());
        let larger = body("--form", &sparse("larger", (1 << 30) + 1)).expect_err("too large").to_string();
        assert!(larger.starts_with("--form: ") && larger.contains("larger than 1024 MiB"), "{larger}");
    }

    #[test]
    fn what_is_read_is_gathered_and_read_again_where_the_files_are_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name).display().to_string();
        let (body_path, text_path, other) = (path("body"), path("text"), path("other"));
        for name in [&body_path, &text_path, &other] {
            std::fs::write(name, format!("content of {name}")).expect("written");
        }
        let read = || {
            (shared_body("--data-file", &body_path), text("--urls", &text_path), super::environment_variable("PATH"))
        };
        let (here, bundle) = super::gathering(|| {
            let _ = body("--form", &body_path);
            assert!(body("--form", &path("missing")).is_err());
            read()
        });
        assert_eq!(bundle.files.keys().collect::<Vec<_>>(), [&body_path, &text_path], "each once, and no other");
        assert_eq!(bundle.variables.keys().collect::<Vec<_>>(), ["PATH"]);
        drop(folder);
        let (there, another) = super::from_bundle(bundle, || {
            assert!(super::is_file(body_path.as_ref()) && !super::is_file(other.as_ref()));
            assert_eq!(super::environment_variable("HOME"), Err(std::env::VarError::NotPresent));
            (read(), text("--urls", "Cargo.toml"))
        });
        assert_eq!(there, here);
        assert!(another.expect_err("it was not gathered").to_string().contains("did not come with the plan"));
        assert!(text("--urls", "Cargo.toml").is_ok(), "afterwards the disk is read again");
    }

    #[test]
    fn what_has_no_end_is_refused() {
        assert_eq!(
            body("--data-file", "/dev/zero").expect_err("endless").to_string(),
            "--data-file: /dev/zero is larger than 64 MiB, or endless; use a smaller file"
        );
        assert!(text("PLAN", "/dev/zero").is_err());
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let said = text("--urls", "/nowhere/x").expect_err("no such file").to_string();
        assert!(said.starts_with("--urls: /nowhere/x cannot be read (No such file"), "{said}");
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), b"caf\xe9").expect("written");
        let path = file.path().display().to_string();
        let marked = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(marked.path(), "\u{feff}url: h").expect("written");
        assert_eq!(text("PLAN", &marked.path().display().to_string()).as_deref(), Ok("url: h"));
        std::fs::write(marked.path(), b"\xff\xfeu\0:\0\xe9\0").expect("written");
        assert_eq!(text("PLAN", &marked.path().display().to_string()).as_deref(), Ok("u:é"));
        let said = text("--urls", &path).expect_err("no text").to_string();
        assert_eq!(said, format!("--urls: {path} is not text (UTF-8); name a text file"));
    }
}
