//! Counts of caches: hits, entries, and page resources that were not fetched.

use brunt_contract::CacheSavings;

use super::Recorder;
use crate::exchange::Exchange;
use crate::ids::UserId;

impl Recorder {
    /// Counts the resources of a page that are not fetched.
    pub fn skipped_resources(&mut self, warmup: bool, elsewhere: u64, beyond: u64, cut: bool) {
        if !warmup {
            self.tally.counts.resources_elsewhere += elsewhere;
            self.tally.counts.resources_beyond += beyond;
            self.tally.counts.pages_cut += u64::from(cut);
        }
    }

    /// Counts a cache hit of this many bytes. It does not count as a request, nor in any other way.
    pub fn cache_hit(&mut self, (name, user): (u16, UserId), bytes: u64, warmup: bool) {
        if warmup {
            return;
        }
        self.tally.counts.from_cache += 1;
        self.tally.counts.cache_bytes += bytes;
        if let Some(named) = &mut self.tally.named {
            named.count(name, user, |named, row| named.counts(row).from_cache += 1);
        }
    }

    /// Counts how an answer changed its user's cache.
    pub fn cache_update(&mut self, x: &Exchange, saved: CacheSavings) {
        if !x.is_warmup() {
            self.tally.counts.not_modified += u64::from(saved.confirmed);
            self.tally.counts.cache_bytes += saved.bytes;
            self.tally.counts.not_cached += u64::from(saved.not_cached);
        }
    }
}
