//! Requests by their traces: those that it is worth looking up where the service records what it did.

use serde::{Deserialize, Serialize};

use crate::Failure;

/// What a request is looked up by (W3C Trace Context).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TraceId {
    /// The trace, 32 hexadecimal digits.
    pub id: String,
    /// The request's own span, 16 of them: the parent of what the service records.
    pub span: String,
    /// The service was told to record it.
    pub sampled: bool,
}

/// A request that was among the slowest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Traced {
    /// What it is looked up by.
    pub trace: TraceId,
    /// What it is called, where the run has several names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<u16>,
    /// The status of its response; empty where there is none.
    pub status: String,
    /// It was given up after its timeout: its latency is a lower bound.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
    /// Its latency: from when it was due in open load, else from when it was sent (nanoseconds).
    pub latency_ns: u64,
    /// When it was due, since the start of the window (nanoseconds).
    pub scheduled_ns: i64,
    /// When it was sent, likewise.
    pub sent_ns: i64,
    /// When the first byte of its response came, likewise; None: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_byte_ns: Option<i64>,
    /// When it was over, likewise.
    pub ended_ns: i64,
}

/// A request that a span is made of: told while a run goes on, and in no record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Its trace.
    pub trace: u128,
    /// Its own span.
    pub span: u64,
    /// Its service was told to record it.
    pub sampled: bool,
    /// It is among the slowest of its second.
    pub slow: bool,
    /// Index of what it is called.
    pub name: u16,
    /// Index of its scenario, where the run has some.
    pub scenario: u8,
    /// Index of the prepared request; of one that a response asked for, none that there is.
    pub request: u32,
    /// The status of its response; empty where there is none.
    pub status: String,
    /// Why it failed.
    pub failure: Option<Failure>,
    /// When it was due, since the start of the window (nanoseconds).
    pub scheduled_ns: i64,
    /// When it was sent, or its connection opened for it, likewise.
    pub started_ns: i64,
    /// When it was written, likewise: later than that where a connection was opened for it.
    pub written_ns: i64,
    /// When the first byte of its response came, likewise; None: not known.
    pub first_byte_ns: Option<i64>,
    /// When it was over, likewise.
    pub ended_ns: i64,
}

/// Those of a second of a worker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spans {
    /// Failures, the slowest, and a fair choice of those that are sampled.
    pub spans: Vec<Span>,
    /// So many more failed or are sampled.
    pub left_out: u64,
}

/// By what requests are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rank {
    /// The service was told to record it: those and the others are kept apart.
    pub sampled: bool,
    /// What it is called.
    pub name: u16,
    /// How long it took.
    pub took: u64,
}

/// What has a rank among slow requests.
pub trait Ranks {
    /// What it is.
    fn rank(&self) -> Rank;
}

impl Ranks for Traced {
    fn rank(&self) -> Rank {
        Rank { sampled: self.trace.sampled, name: self.name.unwrap_or(0), took: self.latency_ns }
    }
}

/// Whether one of this rank would be kept beside these ([`keep_slowest`]).
#[inline]
pub fn is_slow<T: Ranks>(kept: &[T], new: Rank, most: usize) -> bool {
    let (mut alike, mut fastest, mut known) = (0, u64::MAX, false);
    for rank in kept.iter().map(Ranks::rank).filter(|rank| rank.sampled == new.sampled) {
        alike += 1;
        fastest = fastest.min(rank.took);
        known |= rank.name == new.name;
    }
    alike < most || !known || new.took > fastest
}

/// Keeps a request where it is one of the `most` slowest of its kind, sampled or not. Each name keeps its slowest as long as there is
/// room for all of them; names of which several are kept make room first.
pub fn keep_slowest<T: Ranks>(kept: &mut Vec<T>, new: T, most: usize) {
    let rank = new.rank();
    if !is_slow(kept, rank, most) {
        return;
    }
    let alike: Vec<(usize, Rank)> =
        kept.iter().map(Ranks::rank).enumerate().filter(|(_, known)| known.sampled == rank.sampled).collect();
    if alike.len() < most {
        return kept.push(new);
    }
    let of_name = |name: u16| alike.iter().filter(|(_, known)| known.name == name).count();
    let is_spare = |known: &Rank| of_name(known.name) + usize::from(known.name == rank.name) > 1;
    let spare = alike.iter().filter(|(_, known)| is_spare(known)).min_by_key(|(_, known)| known.took);
    match spare {
        // Another name's second goes for the first of a name, whatever they took.
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
    struct One(Rank);

    impl Ranks for One {
        fn rank(&self) -> Rank {
            self.0
        }
    }

    fn kept(all: &[(bool, u16, u64)]) -> Vec<(bool, u16, u64)> {
        let mut kept = Vec::new();
        for (sampled, name, took) in all {
            keep_slowest(&mut kept, One(Rank { sampled: *sampled, name: *name, took: *took }), 3);
        }
        let mut kept: Vec<_> = kept.iter().map(|One(rank)| (rank.sampled, rank.name, rank.took)).collect();
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
