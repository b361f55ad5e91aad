//! The source of counters: the files of this host, or of a simulated one in a folder.
//!
//! Files of `/proc` are generated when they are read, so an open file is read again from its beginning, without
//! resolving its path again. All text is parsed elsewhere, by pure functions.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

use crate::netlink;
use crate::sock_diag::{Socket, SocketQuery, UnixSocket};

/// Maximum size of a file; no real one is longer.
const LONGEST: usize = 16 << 20;
/// Maximum number of descriptors of a process that are counted one by one, if the kernel does not report their number
/// (before 6.2).
const COUNTED: usize = 20_000;

/// A host, represented by its files.
#[derive(Debug)]
pub struct CounterSource {
    pub(crate) root: PathBuf,
    /// Files with descriptors below this number are kept open; half of the table is left to others.
    pub(crate) max_kept_fd: i32,
    /// Paths that simulate a lack of permission.
    #[cfg(test)]
    pub(crate) denied: Vec<&'static str>,
    /// Sockets of the simulated kernel.
    #[cfg(test)]
    pub(crate) sockets: Vec<Socket>,
    /// Unix sockets of the simulated kernel.
    #[cfg(test)]
    pub(crate) unix_sockets: Vec<UnixSocket>,
}

impl CounterSource {
    /// Returns the host that this process runs on.
    pub fn here() -> CounterSource {
        CounterSource::under("/")
    }

    /// Returns a host whose `/proc` and `/sys` are in a folder. It has no sockets to query.
    pub fn under(root: impl Into<PathBuf>) -> CounterSource {
        CounterSource {
            root: root.into(),
            max_kept_fd: getrlimit(Resource::Nofile)
                .current
                .map_or(i32::MAX, |limit| i32::try_from(limit / 2).unwrap_or(i32::MAX)),
            #[cfg(test)]
            denied: Vec::new(),
            #[cfg(test)]
            sockets: Vec::new(),
            #[cfg(test)]
            unix_sockets: Vec::new(),
        }
    }

    fn is_here(&self) -> bool {
        self.root == Path::new("/")
    }

    fn path(&self, path: &str) -> io::Result<PathBuf> {
        #[cfg(test)]
        if self.denied.iter().any(|denied| Path::new(path).starts_with(denied)) {
            return Err(ErrorKind::PermissionDenied.into());
        }
        Ok(self.root.join(path.trim_start_matches('/')))
    }

    /// Reads a file once.
    pub(crate) fn text(&self, path: &str) -> io::Result<String> {
        let mut buffer = Vec::new();
        PersistentFile::new(path).read(self, &mut buffer).map(Cow::into_owned)
    }

    /// Lists the names in a folder.
    pub(crate) fn list(&self, path: &str) -> io::Result<impl Iterator<Item = String>> {
        let entries = fs::read_dir(self.path(path)?)?;
        Ok(entries.map_while(Result::ok).filter_map(|entry| entry.file_name().into_string().ok()))
    }

    /// Lists the names in a folder that are numbers: processes, threads, descriptors.
    pub(crate) fn numbers(&self, path: &str) -> io::Result<impl Iterator<Item = u32>> {
        Ok(self.list(path)?.filter_map(|name| name.parse().ok()))
    }

    /// Returns the target of a link.
    pub(crate) fn link(&self, path: &str) -> io::Result<PathBuf> {
        fs::read_link(self.path(path)?)
    }

    /// Returns the number of descriptors in a folder; `None` if there are too many to count.
    pub(crate) fn count_descriptors(&self, path: &str) -> io::Result<Option<u64>> {
        let told = fs::metadata(self.path(path)?)?.len();
        if self.is_here() && told > 0 {
            return Ok(Some(told));
        }
        let counted = self.list(path)?.take(COUNTED + 1).count();
        Ok((counted <= COUNTED).then_some(counted as u64))
    }

    /// Queries the kernel's Unix sockets that listen or are connected.
    pub(crate) fn unix_sockets(&self, each: &mut dyn FnMut(UnixSocket)) -> io::Result<()> {
        if self.is_here() {
            return netlink::unix_sockets(each);
        }
        #[cfg(test)]
        {
            self.unix_sockets.iter().cloned().for_each(each);
            Ok(())
        }
        #[cfg(not(test))]
        {
            Err(ErrorKind::Unsupported.into())
        }
    }

    /// Queries the kernel's sockets.
    pub(crate) fn sockets(&self, query: &SocketQuery, each: &mut dyn FnMut(Socket)) -> io::Result<()> {
        if self.is_here() {
            return netlink::query(query, each);
        }
        #[cfg(test)]
        {
            self.sockets.iter().filter(|socket| query.matches(socket)).cloned().for_each(each);
            Ok(())
        }
        #[cfg(not(test))]
        {
            Err(ErrorKind::Unsupported.into())
        }
    }
}

/// A file that is read repeatedly.
#[derive(Debug)]
pub(crate) struct PersistentFile {
    path: String,
    file: Option<File>,
}

impl PersistentFile {
    /// Creates a handle; the file is opened at the first read.
    pub fn new(path: impl Into<String>) -> PersistentFile {
        PersistentFile { path: path.into(), file: None }
    }

    /// Reads the current content. A file that could not be read is opened again the next time.
    pub fn read<'b>(&mut self, source: &CounterSource, buffer: &'b mut Vec<u8>) -> io::Result<Cow<'b, str>> {
        let file = match self.file.take() {
            Some(file) => file,
            None => File::open(source.path(&self.path)?)?,
        };
        let length = fill(&file, buffer)?;
        self.file = Some(file).filter(|file| file.as_raw_fd() < source.max_kept_fd);
        Ok(String::from_utf8_lossy(&buffer[..length]))
    }
}

/// Reads a file from beginning to end; the buffer keeps its length, so that it is allocated once.
fn fill(file: &File, buffer: &mut Vec<u8>) -> io::Result<usize> {
    let mut length = 0;
    loop {
        if length == buffer.len() {
            if length >= LONGEST {
                return Err(ErrorKind::FileTooLarge.into());
            }
            buffer.resize((2 * length).max(8192), 0);
        }
        match file.read_at(&mut buffer[length..], length as u64) {
            Ok(0) => return Ok(length),
            Ok(more) => length += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Returns why something cannot be read, in a word or two.
pub(crate) fn reason(error: &io::Error) -> &'static str {
    match (error.kind(), Errno::from_io_error(error)) {
        (ErrorKind::PermissionDenied, _) => "permission",
        (ErrorKind::NotFound | ErrorKind::NotADirectory, _) => "no such file",
        (ErrorKind::Unsupported, _) | (_, Some(Errno::OPNOTSUPP)) => "not supported",
        (ErrorKind::FileTooLarge, _) => "too much to read",
        (ErrorKind::InvalidData, _) => "not understood",
        (_, Some(Errno::SRCH)) => "it has ended",
        _ => "the system refused",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_host::FakeHost;

    #[test]
    fn a_kept_file_is_read_as_it_is_now() {
        let fake = FakeHost::new(&[("proc/loadavg", "1"), ("proc/empty", "")]);
        let (source, mut buffer) = (fake.source(), Vec::new());
        let mut kept = PersistentFile::new("/proc/loadavg");
        assert_eq!(kept.read(&source, &mut buffer).unwrap(), "1");
        let long = "0123456789".repeat(5000);
        for text in [&*long, "", "22"] {
            fake.write("proc/loadavg", text);
            assert_eq!(kept.read(&source, &mut buffer).unwrap(), text);
        }
        assert_eq!(PersistentFile::new("/proc/empty").read(&source, &mut buffer).unwrap(), "");
        let mut missing = PersistentFile::new("/proc/later");
        assert_eq!(reason(&missing.read(&source, &mut buffer).unwrap_err()), "no such file");
        fake.write("proc/later", "here");
        assert_eq!(missing.read(&source, &mut buffer).unwrap(), "here");
    }

    #[test]
    fn files_are_kept_open_only_in_a_table_that_has_room() {
        let fake = FakeHost::new(&[("proc/loadavg", "1\n")]);
        for (kept, open) in [(i32::MAX, true), (0, false)] {
            let (source, mut file) =
                (CounterSource { max_kept_fd: kept, ..fake.source() }, PersistentFile::new("/proc/loadavg"));
            for _ in 0..2 {
                assert_eq!(file.read(&source, &mut Vec::new()).unwrap(), "1\n");
                assert_eq!(file.file.is_some(), open);
            }
        }
    }

    #[test]
    fn why_something_cannot_be_read() {
        let fake = FakeHost::new(&[("proc/1/fd/0", ""), ("proc/1/fd/7", ""), ("proc/1/fd/x", ""), ("proc/2/fd/0", "")]);
        let source = CounterSource { denied: vec!["/proc/2/fd"], ..fake.source() };
        assert_eq!(source.count_descriptors("/proc/1/fd").unwrap(), Some(3));
        let mut numbers: Vec<u32> = source.numbers("/proc/1/fd").unwrap().collect();
        numbers.sort_unstable();
        assert_eq!(numbers, [0, 7]);
        assert_eq!(reason(&source.count_descriptors("/proc/2/fd").unwrap_err()), "permission");
        assert_eq!(reason(&source.count_descriptors("/proc/3/fd").unwrap_err()), "no such file");
        assert_eq!(reason(&io::Error::from_raw_os_error(95)), "not supported");
        assert_eq!(reason(&io::Error::from_raw_os_error(3)), "it has ended");
        assert_eq!(reason(&io::Error::from_raw_os_error(5)), "the system refused");
    }

    #[test]
    fn of_this_host_the_kernel_counts_or_they_are_counted() {
        let before = CounterSource::here().count_descriptors("/proc/self/fd").unwrap().unwrap();
        let more: Vec<File> = (0..300).map(|_| File::open("/dev/null").unwrap()).collect();
        assert!(CounterSource::here().count_descriptors("/proc/self/fd").unwrap().unwrap() > before, "{before}");
        drop(more);
    }
}
