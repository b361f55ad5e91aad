//! Live events of a run for its watchers. The record of the run is read while it is written, once
//! for all watchers, and a late watcher also receives the earlier messages. The run is never
//! delayed: it writes its record in any case and does not know about watchers.

mod conversion;
mod provisional;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use brunt_record::RecordReader;
use tokio::sync::watch;

use conversion::MessageConverter;
use provisional::ProvisionalReader;

/// Interval between checks for new data in the record.
const LOOK: Duration = Duration::from_millis(100);
/// Time for which the record is still read after the last watcher left.
const LINGER: Duration = Duration::from_secs(20);
/// Maximum number of seconds kept for late watchers; above it, every other one of the older seconds
/// is dropped. Messages with blocks are kept, because a late watcher would otherwise miss requests
/// of a name; they become rarer during a run (`brunt_report::formats::html::LiveLines`).
const MOST: usize = 40_000;
/// Maximum number of watchers of a run.
const MOST_WATCHERS: usize = 100;

/// A message to watchers.
#[derive(Clone, Debug, PartialEq)]
pub struct FeedMessage {
    /// Number in the run, from 1.
    pub number: u64,
    /// Kind of message: `head`, `line` …
    pub name: &'static str,
    /// JSON payload.
    pub data: Arc<str>,
}

/// The messages of a run so far.
#[derive(Default)]
struct FeedHistory {
    messages: Vec<FeedMessage>,
    last: u64,
    /// Number of messages that are seconds.
    lines: usize,
    over: bool,
}

/// The live feed of a run.
pub struct Feed {
    history: Mutex<FeedHistory>,
    news: watch::Sender<u64>,
    watchers: AtomicUsize,
}

impl Feed {
    fn new() -> Feed {
        Feed { history: Mutex::default(), news: watch::Sender::new(0), watchers: AtomicUsize::new(0) }
    }

    fn history(&self) -> MutexGuard<'_, FeedHistory> {
        self.history.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn push(&self, messages: Vec<(&'static str, String)>) {
        let mut told = self.history();
        for (name, data) in messages {
            told.last += 1;
            let number = told.last;
            told.lines += usize::from(name == conversion::LINE);
            told.messages.push(FeedMessage { number, name, data: data.into() });
        }
        if told.lines > MOST {
            let half = told.messages.len() / 2;
            let (mut at, mut nth) = (0, 0);
            told.messages.retain(|message| {
                at += 1;
                let old = at <= half && message.name == conversion::LINE;
                nth += usize::from(old);
                !old || nth % 2 == 0
            });
            told.lines = told.messages.iter().filter(|message| message.name == conversion::LINE).count();
        }
        let last = told.last;
        drop(told);
        self.news.send_replace(last);
    }

    fn end(&self) {
        self.history().over = true;
        self.news.send_modify(|last| *last += 1);
    }
}

/// A watcher of a run.
pub struct Watcher {
    feed: Arc<Feed>,
    news: watch::Receiver<u64>,
    /// Number of the last message received.
    seen: u64,
}

impl Watcher {
    /// Waits for the next messages; empty at the end.
    pub async fn next(&mut self) -> Vec<FeedMessage> {
        const AT_ONCE: usize = 500;
        loop {
            self.news.mark_unchanged();
            {
                let told = self.feed.history();
                let from = told.messages.partition_point(|message| message.number <= self.seen);
                let some: Vec<FeedMessage> = told.messages[from..].iter().take(AT_ONCE).cloned().collect();
                if let Some(last) = some.last() {
                    self.seen = last.number;
                    return some;
                }
                if told.over {
                    return some;
                }
            }
            if self.news.changed().await.is_err() {
                return Vec::new();
            }
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.feed.watchers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The feeds of all runs.
#[derive(Default)]
pub struct Feeds {
    open: Mutex<HashMap<String, Arc<Feed>>>,
}

impl Feeds {
    /// Watches a run after message `seen`; `None` if there are too many watchers. `goes` returns
    /// `true` while more may be written.
    pub fn watch(
        self: &Arc<Feeds>,
        id: &str,
        record: PathBuf,
        seen: u64,
        goes: impl Fn() -> bool + Send + 'static,
    ) -> Option<Watcher> {
        let mut open = self.open.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let feed = match open.get(id) {
            Some(feed) => Arc::clone(feed),
            None => {
                let feed = Arc::new(Feed::new());
                open.insert(id.to_owned(), Arc::clone(&feed));
                let (feeds, id, listened) = (Arc::clone(self), id.to_owned(), Arc::clone(&feed));
                let listen = move || {
                    listened.follow(&record, goes);
                    feeds.close(&id);
                };
                std::thread::Builder::new().name("feed".into()).spawn(listen).ok()?;
                feed
            }
        };
        if feed.watchers.fetch_add(1, Ordering::Relaxed) >= MOST_WATCHERS {
            feed.watchers.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        let news = feed.news.subscribe();
        Some(Watcher { feed, news, seen })
    }

    fn close(&self, id: &str) {
        self.open.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).remove(id);
    }
}

impl Feed {
    /// Reads the record to its end, or until it has had no watchers for a while.
    fn follow(&self, record: &std::path::Path, goes: impl Fn() -> bool) {
        let mut left = Instant::now();
        let mut provisional = ProvisionalReader::beside(record);
        let mut wait = || {
            provisional.news().into_iter().for_each(|message| self.push(vec![message]));
            // Checked before the wait, so that everything written until then is read after it.
            let more = goes();
            std::thread::sleep(if more { LOOK } else { Duration::ZERO });
            if self.watchers.load(Ordering::Relaxed) > 0 {
                left = Instant::now();
            }
            more && left.elapsed() < LINGER
        };
        while !record.exists() && wait() {}
        let mut teller = MessageConverter::default();
        match RecordReader::follow(record, wait) {
            Err(fault) => self.push(teller.fault(&fault.sentence)),
            Ok(events) => {
                for event in events {
                    match event {
                        Ok(event) => self.push(teller.see(&event)),
                        Err(fault) => self.push(teller.fault(&fault.to_string())),
                    }
                }
                self.push(teller.finish());
            }
        }
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use brunt_record::RecordWriter;

    fn all(watcher: &mut Watcher) -> Vec<FeedMessage> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut all = Vec::new();
            loop {
                let some = watcher.next().await;
                if some.is_empty() {
                    return all;
                }
                all.extend(some);
            }
        })
    }

    #[test]
    fn who_comes_late_hears_all_and_each_the_same() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run");
        let mut writer = RecordWriter::create(&path).unwrap();
        let events = testing::a_run(3);
        events[..3].iter().for_each(|event| writer.write(event).unwrap());
        let feeds = Arc::new(Feeds::default());
        let written = path.clone();
        let watch = |seen| {
            let written = written.clone();
            feeds.watch("a", path.clone(), seen, move || brunt_record::is_being_written(&written)).unwrap()
        };
        let mut first = watch(0);
        let (told, mut late) = std::thread::scope(|scope| {
            let told = scope.spawn(|| all(&mut first));
            let late = watch(0);
            events[3..].iter().for_each(|event| writer.write(event).unwrap());
            drop(writer);
            (told.join().unwrap(), late)
        });
        assert_eq!(told, all(&mut late));
        let names: Vec<&str> = told.iter().map(|message| message.name).collect();
        assert_eq!(names.iter().filter(|name| **name == conversion::LINE).count(), 3, "{names:?}");
        assert_eq!((names.first(), &names[names.len() - 2..]), (Some(&"head"), &["head", "over"][..]));
        // A watcher that lost its connection continues after its last message.
        let rest = all(&mut watch(told[1].number));
        assert_eq!(rest, told[2..]);
    }

    #[test]
    fn of_a_long_run_what_is_kept_is_bounded_and_its_end_is_whole() {
        let feed = Feed::new();
        feed.push(vec![("head", "{}".into()), (conversion::BLOCK, "{}".into())]);
        (0..3 * MOST).for_each(|at| feed.push(vec![(conversion::LINE, at.to_string())]));
        let told = feed.history();
        assert!(told.messages.len() <= MOST + 2);
        assert_eq!(
            told.messages.iter().filter(|message| message.name == conversion::BLOCK).count(),
            1,
            "a block is not let go"
        );
        assert_eq!(told.messages[0].name, "head");
        let last: Vec<&str> = told.messages.iter().rev().take(3).map(|message| &*message.data).collect();
        assert_eq!(last, [3 * MOST - 1, 3 * MOST - 2, 3 * MOST - 3].map(|at| at.to_string()));
        assert!(told.messages.windows(2).all(|two| two[0].number < two[1].number));
    }
}
