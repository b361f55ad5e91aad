//! What an agent has not handed in yet: on disk, so that a coordinator that is gone for an hour costs no memory, and an
//! agent that is started again finds it; in memory if the disk is full.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

use brunt_cause::{Cause, agents};
use serde::{Deserialize, Serialize};

use crate::frame::Item;
use crate::protocol::is_run_name;

/// Bytes kept in memory while nothing can be written to disk; beyond that, the share is stopped.
const MEMORY: usize = 64 << 20;
/// Bytes that are handed in at once.
const BATCH: usize = 512 << 10;
/// Items that are handed in at once.
const BATCH_ITEMS: usize = 256;

/// Spools of an earlier agent that are handed in, the length of a head, and the items of each spool: beyond that, files are
/// not those of an agent.
const LEFT_OVER: usize = 256;
const LEFT_OVER_HEAD: u64 = 4096;
const LEFT_OVER_ITEMS: usize = 1 << 20;

/// Whose items a spool holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SpoolHead {
    pub run: String,
    pub agent: String,
}

/// The items of one share, numbered from 0.
pub(crate) struct ShareSpool {
    pub head: SpoolHead,
    /// Its files: the head, and the items.
    files: Option<(PathBuf, PathBuf)>,
    kept: Mutex<Kept>,
    more: Condvar,
    is_removed: AtomicBool,
}

#[derive(Default)]
struct Kept {
    file: Option<File>,
    written: u64,
    /// Items that were not acknowledged.
    waiting: VecDeque<WaitingItem>,
    /// Number of the first of them.
    first: u64,
    in_memory: usize,
    /// Set once the last item is there.
    complete: bool,
    /// Set once something had to be dropped because neither disk nor memory could hold it.
    overflowed: bool,
    /// The error that keeps items from the disk, until it is told.
    trouble: Option<String>,
}

enum WaitingItem {
    Disk { at: u64, length: usize },
    Memory(Vec<u8>),
}

impl ShareSpool {
    /// Creates the spool of a share; without a directory to write to, it is in memory.
    pub fn create(directory: &Path, head: SpoolHead) -> ShareSpool {
        let made = || -> io::Result<(PathBuf, PathBuf, File)> {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
            let [head_file, items] = ["json", "items"].map(|ending| directory.join(format!("{}.{ending}", head.run)));
            let mut options = File::options();
            // Only new files: nothing that is there is overwritten, not even through a link.
            options.read(true).write(true).create_new(true).mode(0o600);
            let file = options.open(&items)?;
            options.open(&head_file)?.write_all(&serde_json::to_vec(&head)?)?;
            Ok((head_file, items, file))
        };
        let (files, file, trouble) = match made() {
            Ok((head_file, items, file)) => (Some((head_file, items)), Some(file), None),
            Err(error) => (None, None, Some(error.to_string())),
        };
        let kept = Kept { file, trouble, ..Kept::default() };
        ShareSpool { head, files, kept: Mutex::new(kept), more: Condvar::new(), is_removed: AtomicBool::default() }
    }

    /// Returns the spools that an earlier agent of this machine left, each ended with a remark.
    pub fn left_over(directory: &Path) -> Vec<ShareSpool> {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        let files =
            entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file())).map(|entry| entry.path());
        let heads = files.filter(|path| path.extension().is_some_and(|ending| ending == "json"));
        heads.filter_map(|head| ShareSpool::reopen(&head)).take(LEFT_OVER).collect()
    }

    fn reopen(head_file: &Path) -> Option<ShareSpool> {
        let mut head = Vec::new();
        File::open(head_file).ok()?.take(LEFT_OVER_HEAD).read_to_end(&mut head).ok()?;
        let head: SpoolHead = serde_json::from_slice(&head).ok()?;
        let items = head_file.with_extension("items");
        let is_own = is_run_name(&head.run) && head_file.file_stem().is_some_and(|stem| stem == head.run.as_str());
        if !is_own || !fs::symlink_metadata(&items).ok()?.is_file() {
            return None;
        }
        let file = File::options().read(true).write(true).open(&items).ok()?;
        let (waiting, written, complete) = whole_items(&file).ok()?;
        // An item that was cut off when the agent died is not whole.
        file.set_len(written).ok()?;
        let kept = Kept { file: Some(file), written, waiting, complete, ..Kept::default() };
        let spool = ShareSpool {
            head,
            files: Some((head_file.to_owned(), items)),
            kept: Mutex::new(kept),
            more: Condvar::new(),
            is_removed: AtomicBool::default(),
        };
        if !complete {
            spool.push(&Item::Ended(Cause::from(agents::started_again()).to_string()));
        }
        Some(spool)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Returns the number of items that were added.
    pub fn pushed(&self) -> u64 {
        let kept = self.kept();
        kept.first + kept.waiting.len() as u64
    }

    /// Adds an item; returns `false` if neither disk nor memory can hold it.
    pub fn push(&self, item: &Item) -> bool {
        let mut bytes = Vec::new();
        item.write(&mut bytes);
        let mut kept = self.kept();
        let at = kept.written;
        let written = kept.file.as_ref().map(|file| file.write_all_at(&bytes, at));
        match written {
            Some(Ok(())) => {
                kept.written += bytes.len() as u64;
                kept.waiting.push_back(WaitingItem::Disk { at, length: bytes.len() });
            }
            failed => {
                if let Some(Err(error)) = failed {
                    kept.trouble.get_or_insert(error.to_string());
                }
                // The end is told in any case.
                let is_end = matches!(item, Item::Ended(_));
                if kept.overflowed && !is_end {
                    return false;
                }
                if kept.in_memory + bytes.len() > MEMORY && !is_end {
                    kept.overflowed = true;
                    return false;
                }
                kept.in_memory += bytes.len();
                kept.waiting.push_back(WaitingItem::Memory(bytes));
            }
        }
        kept.complete |= matches!(item, Item::Ended(_));
        drop(kept);
        self.more.notify_all();
        true
    }

    /// Returns `true` once an item was dropped, because neither disk nor memory could hold it.
    pub fn is_overflowed(&self) -> bool {
        self.kept().overflowed
    }

    /// Takes the error that keeps items from the disk; each is returned once.
    pub fn take_trouble(&self) -> Option<String> {
        self.kept().trouble.take()
    }

    /// Waits for items to hand in; returns the number of the first, how many there are, and their bytes. `None` after this
    /// time, or if all were handed in.
    pub fn next_batch(&self, within: Duration) -> Option<(u64, usize, Vec<u8>)> {
        let kept = self.kept();
        let nothing = |kept: &mut Kept| kept.waiting.is_empty() && !kept.complete;
        let (kept, _) =
            self.more.wait_timeout_while(kept, within, nothing).unwrap_or_else(|poisoned| poisoned.into_inner());
        let (mut bytes, mut count) = (Vec::new(), 0);
        for place in kept.waiting.iter().take(BATCH_ITEMS) {
            let more = match place {
                WaitingItem::Memory(bytes) => bytes.clone(),
                WaitingItem::Disk { at, length } => {
                    let mut item = vec![0; *length];
                    // A disk that cannot be read is tried again.
                    kept.file.as_ref()?.read_exact_at(&mut item, *at).ok()?;
                    item
                }
            };
            if count > 0 && bytes.len() + more.len() > BATCH {
                break;
            }
            bytes.extend(more);
            count += 1;
        }
        (count > 0).then_some((kept.first, count, bytes))
    }

    /// Notes that the first `count` items were acknowledged.
    pub fn acknowledge(&self, count: usize) {
        let mut kept = self.kept();
        for _ in 0..count {
            if let Some(WaitingItem::Memory(bytes)) = kept.waiting.pop_front() {
                kept.in_memory = kept.in_memory.saturating_sub(bytes.len());
            }
            kept.first += 1;
        }
    }

    /// Returns `true` once the last item was acknowledged.
    pub fn is_handed_in(&self) -> bool {
        let kept = self.kept();
        kept.complete && kept.waiting.is_empty()
    }

    /// Removes the files.
    pub fn remove(&self) {
        if let Some((head, items)) = &self.files {
            let _ = (fs::remove_file(head), fs::remove_file(items));
        }
        self.is_removed.store(true, Ordering::Relaxed);
    }

    /// Returns `true` once the files were removed: there is nothing left to hand in.
    pub fn is_removed(&self) -> bool {
        self.is_removed.load(Ordering::Relaxed)
    }
}

/// Returns the places of the whole items of a file, where they end, and `true` if the last one is there. Only their
/// beginnings are read.
fn whole_items(file: &File) -> io::Result<(VecDeque<WaitingItem>, u64, bool)> {
    let (size, mut from) = (file.metadata()?.len(), BufReader::new(file));
    let (mut waiting, mut at, mut complete, mut beginning) = (VecDeque::new(), 0, false, [0; 5]);
    while !complete && waiting.len() < LEFT_OVER_ITEMS && from.read_exact(&mut beginning).is_ok() {
        let Some((length, is_last)) = Item::measure(&beginning).filter(|(length, _)| at + length <= size) else {
            break;
        };
        from.seek_relative(length as i64 - beginning.len() as i64)?;
        waiting.push_back(WaitingItem::Disk { at, length: length as usize });
        at += length;
        complete = is_last;
    }
    Ok((waiting, at, complete))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(run: &str) -> SpoolHead {
        SpoolHead { run: run.into(), agent: "a".into() }
    }

    fn items(bytes: &[u8]) -> Vec<Item> {
        let mut rest = bytes;
        std::iter::from_fn(|| Item::take(&mut rest)).collect()
    }

    #[test]
    fn items_wait_until_they_are_acknowledged() {
        let directory = tempfile::tempdir().unwrap();
        let spool = ShareSpool::create(directory.path(), head("a1"));
        let all: Vec<Item> = (0..600).map(Item::Ready).chain([Item::Ended("over".into())]).collect();
        all.iter().for_each(|item| assert!(spool.push(item)));
        let mut seen = Vec::new();
        while let Some((first, count, bytes)) = spool.next_batch(Duration::ZERO) {
            assert_eq!(first as usize, seen.len());
            assert_eq!(
                spool.next_batch(Duration::ZERO).map(|(again, ..)| again),
                Some(first),
                "nothing was acknowledged"
            );
            seen.extend(items(&bytes));
            spool.acknowledge(count);
        }
        assert_eq!(seen, all);
        assert!(spool.is_handed_in());
        spool.remove();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn an_agent_that_died_leaves_what_it_had_and_the_next_one_ends_it() {
        let directory = tempfile::tempdir().unwrap();
        let spool = ShareSpool::create(directory.path(), head("a1"));
        assert!(spool.push(&Item::Ready(2)) && spool.push(&Item::Event(vec![1, 2, 3])));
        drop(spool);
        // It died while it wrote.
        File::options().append(true).open(directory.path().join("a1.items")).unwrap().write_all(&[9, 0, 0]).unwrap();
        let [spool] = &ShareSpool::left_over(directory.path())[..] else { panic!("one spool") };
        assert_eq!(spool.head, head("a1"));
        let (first, _, bytes) = spool.next_batch(Duration::ZERO).unwrap();
        let found = items(&bytes);
        assert_eq!((first, &found[..2]), (0, &[Item::Ready(2), Item::Event(vec![1, 2, 3])][..]));
        assert!(matches!(&found[2..], [Item::Ended(how)] if *how == Cause::from(agents::started_again()).to_string()));
        // And once more, without a second end.
        let [again] = &ShareSpool::left_over(directory.path())[..] else { panic!("one spool") };
        assert_eq!(again.next_batch(Duration::ZERO).unwrap().1, 3);
    }

    #[test]
    fn files_that_are_there_are_neither_overwritten_nor_taken_for_a_spool() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::write(path("precious"), "mine").unwrap();
        std::os::unix::fs::symlink(path("precious"), path("a1.items")).unwrap();
        let spool = ShareSpool::create(directory.path(), head("a1"));
        assert!(spool.take_trouble().is_some() && spool.push(&Item::Ready(0)), "it is in memory");
        for (file, run) in [("a1.json", "a1"), ("a2.json", "../a2"), ("a3.json", "a4")] {
            fs::write(path(file), serde_json::to_vec(&head(run)).unwrap()).unwrap();
        }
        for file in ["a2.items", "a3.items"] {
            fs::write(path(file), "mine").unwrap();
        }
        assert!(ShareSpool::left_over(directory.path()).is_empty());
        for file in ["precious", "a2.items", "a3.items"] {
            assert_eq!(fs::read_to_string(path(file)).unwrap(), "mine", "{file}");
        }
    }

    #[test]
    fn items_of_an_earlier_agent_are_found_without_reading_them_into_memory() {
        let directory = tempfile::tempdir().unwrap();
        let spool = ShareSpool::create(directory.path(), head("a1"));
        assert!(spool.push(&Item::Event(vec![7; 1 << 20])) && spool.push(&Item::Ready(1)));
        drop(spool);
        let items = File::options().write(true).open(directory.path().join("a1.items")).unwrap();
        // More than any machine has.
        items.set_len(1 << 40).unwrap();
        let [spool] = &ShareSpool::left_over(directory.path())[..] else { panic!("one spool") };
        let (first, count, _) = spool.next_batch(Duration::ZERO).unwrap();
        assert_eq!((first, count), (0, 1), "the long one");
        spool.acknowledge(count);
        assert_eq!(spool.next_batch(Duration::ZERO).unwrap().1, 2, "the short one, and the end");
        assert!(items.metadata().unwrap().len() < 2 << 20);
    }

    #[test]
    fn without_a_disk_items_are_kept_in_memory_up_to_a_bound() {
        let spool = ShareSpool::create(Path::new("/proc/nowhere"), head("a1"));
        assert!(spool.take_trouble().is_some() && spool.take_trouble().is_none());
        let large = Item::Event(vec![0; 16 << 20 >> 1]);
        let taken = (0..20).filter(|_| spool.push(&large)).count();
        assert_eq!(taken, 7, "64 MiB with what stands around each");
        assert!(!spool.push(&Item::Ready(0)), "nothing is taken after a gap");
        assert!(spool.push(&Item::Ended("full".into())));
        let mut count = 0;
        while let Some((_, more, _)) = spool.next_batch(Duration::ZERO) {
            count += more;
            spool.acknowledge(more);
        }
        assert_eq!(count, 8);
        assert!(spool.is_handed_in());
    }
}
