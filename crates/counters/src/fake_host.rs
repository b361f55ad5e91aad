//! Simulated hosts for the tests of this crate: a folder with files as the kernel writes them.

use std::fs;
use std::os::unix::fs::symlink;

use tempfile::TempDir;

use crate::CounterSource;

pub(crate) struct FakeHost(TempDir);

impl FakeHost {
    /// Creates a host with these files: path and content.
    pub fn new(files: &[(&str, &str)]) -> FakeHost {
        let fake = FakeHost(tempfile::tempdir().unwrap());
        files.iter().for_each(|(path, text)| fake.write(path, text));
        fake
    }

    /// Writes a file, in place if it exists, as the kernel's files change.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Creates a link, possibly dangling.
    pub fn link(&self, path: &str, to: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(to, path).unwrap();
    }

    /// Removes a file or folder: a process ends, an interface disappears.
    pub fn remove(&self, path: &str) {
        let path = self.0.path().join(path);
        if path.is_dir() { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
    }

    pub fn source(&self) -> CounterSource {
        CounterSource::under(self.0.path())
    }
}
