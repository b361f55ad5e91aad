//! Output of documents, in large writes and either completely or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Seek as _, Write};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use brunt_cause::complaint;
use brunt_contract::UsageError;

/// Size of a write in bytes.
const PIECE: usize = 1 << 16;

/// Buffers the output of `fill` into large writes.
///
/// # Errors
/// Returns the error of a write or of `fill`.
pub fn in_pieces<W: Write>(to: W, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<W> {
    let mut pieces = BufWriter::with_capacity(PIECE, to);
    fill(&mut pieces)?;
    pieces.into_inner().map_err(io::IntoInnerError::into_error)
}

/// Replaces a file with the complete output of `fill`, or leaves it unchanged.
///
/// # Errors
/// Returns the error of the operating system or of `fill`.
pub fn replace(path: &str, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    // A symbolic link is followed: the file it points to is replaced.
    let path = fs::canonicalize(path).unwrap_or_else(|_| PathBuf::from(path));
    let old = fs::metadata(&path).ok();
    if old.as_ref().is_some_and(|old| !old.is_file()) {
        return in_pieces(File::create(&path)?, fill).map(drop);
    }
    let beside = temporary_path(&path);
    let Ok(file) = OpenOptions::new().write(true).create_new(true).open(&beside) else {
        // A file may be writable although no file can be created next to it; it is then written
        // once the output is complete.
        let mut whole = in_pieces(tempfile::tempfile()?, fill)?;
        whole.rewind()?;
        return io::copy(&mut whole, &mut File::create(&path)?).map(drop);
    };
    let written = in_pieces(file, fill)
        .and_then(|file| old.map_or(Ok(()), |old| file.set_permissions(old.permissions())))
        .and_then(|()| fs::rename(&beside, &path));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

/// Returns the path of the temporary file that is renamed once it is complete.
fn temporary_path(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    path.with_file_name(format!(".{name}.{}.part", std::process::id()))
}

/// Checks before a run that `-o FILE` can be written after it. An existing file is not modified,
/// and no new one remains, because a script that waits for the file would take it for the report of
/// a finished run.
///
/// # Errors
/// Returns the reason why it cannot be written.
pub fn check_writable(place: &str, path: &str) -> Result<(), UsageError> {
    let wrong = |error: io::Error| {
        UsageError::new(
            place,
            complaint!(
                "{path} cannot be written ({error}); use a path that can be written",
                "无法写入 {path}（{error}）；请用可写的路径"
            ),
        )
    };
    if is_named_pipe(path.as_ref()) {
        return hold_pipe(path).map_err(wrong);
    }
    let is_new = !Path::new(path).exists();
    let part = temporary_path(path.as_ref());
    if is_new && File::create_new(&part).is_ok() {
        let _ = fs::remove_file(part);
        return Ok(());
    }
    match OpenOptions::new().create(true).append(true).open(path) {
        Ok(_) if is_new => {
            let _ = fs::remove_file(path);
            Ok(())
        }
        Ok(_) => Ok(()),
        Err(error) => Err(wrong(error)),
    }
}

/// Type of the file system of anonymous pipes (`PIPEFS_MAGIC` in linux/magic.h); named pipes are in
/// other file systems.
const NAMELESS: i64 = 0x5049_5045;

/// Returns `true` for a pipe with a name in the file system, which may not have a reader yet.
pub fn is_named_pipe(path: &Path) -> bool {
    let is_pipe = fs::metadata(path).is_ok_and(|data| data.file_type().is_fifo());
    // The width of the field differs between architectures.
    #[allow(clippy::unnecessary_cast)]
    let nameless = || rustix::fs::statfs(path).is_ok_and(|system| system.f_type as i64 == NAMELESS);
    is_pipe && !nameless()
}

/// Opens a named pipe that has a reader, and keeps it open until the process ends. The reader would
/// take an earlier close for the end of the document.
fn hold_pipe(path: &str) -> io::Result<()> {
    let pipe = OpenOptions::new().write(true).custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32).open(path);
    let unread = |error: &io::Error| error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error());
    pipe.map(std::mem::forget)
        .map_err(|error| if unread(&error) { io::Error::other("nothing reads from this pipe") } else { error })
}

/// Checks that a report and another file do not go to the same place, where one would overwrite the other; devices
/// accept both. `option` names the other file.
///
/// # Errors
/// Returns an error if both go to the same file.
pub fn check_apart(report: &str, (option, other): (&str, &str)) -> Result<(), UsageError> {
    let place = |path: &str| {
        let path = std::path::absolute(path).ok()?;
        // The file need not exist yet.
        let new = || Some(fs::canonicalize(path.parent()?).ok()?.join(path.file_name()?));
        fs::canonicalize(&path).ok().or_else(new)
    };
    let is_device = fs::metadata(report).is_ok_and(|data| !data.is_file());
    if is_device || place(report).is_none_or(|report| place(other) != Some(report)) {
        return Ok(());
    }
    let said = match option {
        "-o" => complaint!(
            "{other} is the file of another -o, too; use another path",
            "{other} 也是另一个 -o 的文件；请换一个路径"
        ),
        _ => complaint!("{other} is also the -o file; use another path", "{other} 也是 -o 的文件；请换一个路径"),
    };
    Err(UsageError::new(option, said))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_pipe_is_written_where_somebody_reads_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pipe").display().to_string();
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
        let said = check_writable("-o", &path).unwrap_err().to_string();
        let why = "cannot be written (nothing reads from this pipe); use a path that can be written";
        assert_eq!(said, format!("-o: {path} {why}"));
        let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
        let reader = OpenOptions::new().read(true).custom_flags(flags).open(&path).unwrap();
        let nameless = std::io::pipe().unwrap().0;
        let nameless = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&nameless));
        assert!(is_named_pipe(path.as_ref()) && !is_named_pipe(nameless.as_ref()));
        check_writable("-o", &path).unwrap();
        replace(&path, |out| out.write_all(b"report")).unwrap();
        let read = rustix::io::read(&reader, &mut [0; 9]).unwrap();
        assert_eq!(read, 6, "and no end before it");
    }

    #[test]
    fn a_report_and_a_record_in_one_file_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name).display().to_string();
        assert!(check_apart(&path("a"), ("--record", &path("a"))).is_err(), "neither is there yet");
        assert!(check_apart(&path("a"), ("--record", &path("b"))).is_ok());
        fs::write(path("a"), "").unwrap();
        std::os::unix::fs::symlink(path("a"), path("link")).unwrap();
        let said = check_apart(&path("link"), ("--record", &path("./a"))).unwrap_err().to_string();
        assert!(said.ends_with("is also the -o file; use another path"), "{said}");
        assert!(check_apart("/dev/null", ("--record", "/dev/null")).is_ok());
    }

    #[test]
    fn a_document_replaces_the_whole_file_and_keeps_its_mode_and_its_links() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name).display().to_string();
        let write = |path: &str, bytes: &'static [u8]| replace(path, |out| out.write_all(bytes));
        write(&path("new.json"), b"one").unwrap();
        fs::set_permissions(path("new.json"), fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(path("new.json"), path("link.json")).unwrap();
        write(&path("link.json"), b"two").unwrap();
        assert_eq!(fs::read_to_string(path("new.json")).unwrap(), "two");
        assert_eq!(fs::metadata(path("new.json")).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(fs::symlink_metadata(path("link.json")).unwrap().is_symlink());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2, "nothing is left beside it");
        write("/dev/null", b"three").unwrap();
        assert_eq!(write("/dev/full", b"four").unwrap_err().kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn a_document_that_breaks_off_leaves_the_file_before_it_as_it_was() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("report.json");
        fs::write(&path, "a good one").unwrap();
        let half = |out: &mut dyn Write| {
            out.write_all(&vec![b'x'; 3 * PIECE])?;
            Err(io::Error::other("the seconds cannot be read"))
        };
        let said = replace(&path.to_string_lossy(), half).unwrap_err();
        assert_eq!(said.to_string(), "the seconds cannot be read");
        assert_eq!(fs::read_to_string(&path).unwrap(), "a good one");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left beside it");
        // A new file does not remain either.
        let new = directory.path().join("new.json");
        assert!(replace(&new.to_string_lossy(), half).is_err() && !new.exists());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn no_report_appears_before_its_run_not_even_for_a_moment() {
        use rustix::fs::inotify;
        let directory = tempfile::tempdir().unwrap();
        let watch = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
        inotify::add_watch(&watch, directory.path(), inotify::WatchFlags::CREATE).unwrap();
        assert_eq!(check_writable("-o", &directory.path().join("new.json").to_string_lossy()), Ok(()));
        let mut room = [const { std::mem::MaybeUninit::uninit() }; 4096];
        let mut events = inotify::Reader::new(&watch, &mut room);
        while let Ok(event) = events.next() {
            assert_ne!(event.file_name(), Some(c"new.json"));
        }
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

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
