//! Traced requests worth looking up in the traces that the service recorded.

use serde::{Deserialize, Serialize};

use crate::Failure;

/// The identifiers by which a request is looked up (W3C Trace Context).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TraceId {
    /// Trace id, 32 hexadecimal digits.
    pub id: String,
    /// Span id of the request, 16 hexadecimal digits: the parent of the spans that the service records.
    pub span: String,
    /// Set if the service was told to record the trace.
    pub sampled: bool,
}

/// One of the slowest requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TracedRequest {
    /// Identifiers to look it up by.
    pub trace: TraceId,
    /// Index of the request's name, if the run has several names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<u16>,
    /// Status of the response; empty if there is none.
    pub status: String,
    /// Set if it timed out: its latency is a lower bound.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
    /// Latency: from the intended time in open load, else from the send (nanoseconds).
    pub latency_ns: u64,
    /// Intended time, since the start of the window (nanoseconds).
    pub scheduled_ns: i64,
    /// Time of the send, since the start of the window (nanoseconds).
    pub sent_ns: i64,
    /// Time of the response's first byte, since the start of the window (nanoseconds); null if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_byte_ns: Option<i64>,
    /// Time of the end, since the start of the window (nanoseconds).
    pub ended_ns: i64,
}

/// A request to export as a span, emitted during a run and never recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestSpan {
    /// Trace id.
    pub trace: u128,
    /// Span id.
    pub span: u64,
    /// Set if the service was told to record the trace.
    pub sampled: bool,
    /// Set if the request is among the slowest of its second.
    pub slow: bool,
    /// Index of the request's name.
    pub name: u16,
    /// Index of the scenario, if the run has several.
    pub scenario: u8,
    /// Index of the prepared request; out of range for a request that a response caused.
    pub request: u32,
    /// Status of the response; empty if there is none.
    pub status: String,
    /// Failure; `None` if the request succeeded.
    pub failure: Option<Failure>,
    /// Intended time, since the start of the window (nanoseconds).
    pub scheduled_ns: i64,
    /// Time of the send, or of the start of opening a connection for it, since the start of the window (nanoseconds).
    pub started_ns: i64,
    /// Time of the write, since the start of the window (nanoseconds); later than `started_ns` if a connection was
    /// opened for the request.
    pub written_ns: i64,
    /// Time of the response's first byte, since the start of the window (nanoseconds); `None` if unknown.
    pub first_byte_ns: Option<i64>,
    /// Time of the end, since the start of the window (nanoseconds).
    pub ended_ns: i64,
}

/// The spans of one worker in a second.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestSpans {
    /// Failures, the slowest requests, and an unbiased selection of the sampled ones.
    pub spans: Vec<RequestSpan>,
    /// Number of further requests that failed or are sampled.
    pub left_out: u64,
}

/// The sort key by which slow requests are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rank {
    /// Set if the service was asked to record the trace: sampled requests are kept apart from the others.
    pub sampled: bool,
    /// Index of the request's name.
    pub name: u16,
    /// Latency (nanoseconds).
    pub took: u64,
}

/// An item that is ranked among slow requests.
pub trait HasRank {
    /// Returns the rank of the item.
    fn rank(&self) -> Rank;
}

impl HasRank for TracedRequest {
    fn rank(&self) -> Rank {
        Rank { sampled: self.trace.sampled, name: self.name.unwrap_or(0), took: self.latency_ns }
    }
}

/// Returns `true` if [`keep_slowest`] would keep a request of this rank.
#[inline]
pub fn is_slow<T: HasRank>(kept: &[T], new: Rank, most: usize) -> bool {
    let (mut alike, mut fastest, mut known) = (0, u64::MAX, false);
    for rank in kept.iter().map(HasRank::rank).filter(|rank| rank.sampled == new.sampled) {
        alike += 1;
        fastest = fastest.min(rank.took);
        known |= rank.name == new.name;
    }
    alike < most || !known || new.took > fastest
}

/// Keeps a request if it is one of the `most` slowest of its kind (sampled or not). The slowest request of each name is
/// kept as long as all names fit; a name with several kept requests loses one first.
pub fn keep_slowest<T: HasRank>(kept: &mut Vec<T>, new: T, most: usize) {
    let rank = new.rank();
    if !is_slow(kept, rank, most) {
        return;
    }
    let alike: Vec<(usize, Rank)> =
        kept.iter().map(HasRank::rank).enumerate().filter(|(_, known)| known.sampled == rank.sampled).collect();
    if alike.len() < most {
        return kept.push(new);
    }
    let of_name = |name: u16| alike.iter().filter(|(_, known)| known.name == name).count();
    let is_spare = |known: &Rank| of_name(known.name) + usize::from(known.name == rank.name) > 1;
    let spare = alike.iter().filter(|(_, known)| is_spare(known)).min_by_key(|(_, known)| known.took);
    match spare {
        // The first request of a new name replaces the fastest request among the names with several, however long
        // either took.
        Some((at, known)) if known.took < rank.took || of_name(rank.name) == 0 => kept[*at] = new,
        Some(_) => {}
        None => {
            let fastest = alike.iter().min_by_key(|(_, known)| known.took).filter(|(_, known)| known.took < rank.took);
            if let Some((at, _)) = fastest {
                kept[*at] = new;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq)]
    struct RankedItem(Rank);

    impl HasRank for RankedItem {
        fn rank(&self) -> Rank {
            self.0
        }
    }

    fn kept(all: &[(bool, u16, u64)]) -> Vec<(bool, u16, u64)> {
        let mut kept = Vec::new();
        for (sampled, name, took) in all {
            keep_slowest(&mut kept, RankedItem(Rank { sampled: *sampled, name: *name, took: *took }), 3);
        }
        let mut kept: Vec<_> = kept.iter().map(|RankedItem(rank)| (rank.sampled, rank.name, rank.took)).collect();
        kept.sort_unstable();
        kept
    }

    #[test]
    fn the_slowest_are_kept_and_sampled_ones_apart() {
        let all =
            [(false, 0, 5), (false, 0, 9), (true, 0, 1), (false, 0, 7), (false, 0, 3), (false, 0, 8), (true, 0, 2)];
        assert_eq!(kept(&all), [(false, 0, 7), (false, 0, 8), (false, 0, 9), (true, 0, 1), (true, 0, 2)]);
    }

    #[test]
    fn a_fast_name_keeps_its_slowest_beside_slow_ones() {
        let all =
            [(true, 0, 90), (true, 0, 80), (true, 0, 70), (true, 1, 2), (true, 1, 3), (true, 0, 95), (true, 1, 1)];
        assert_eq!(kept(&all), [(true, 0, 90), (true, 0, 95), (true, 1, 3)]);
    }

    #[test]
    fn of_more_names_than_there_is_room_for_the_slowest_stay() {
        let all = [(true, 0, 1), (true, 1, 2), (true, 2, 3), (true, 3, 9), (true, 4, 1)];
        assert_eq!(kept(&all), [(true, 1, 2), (true, 2, 3), (true, 3, 9)]);
    }
}
