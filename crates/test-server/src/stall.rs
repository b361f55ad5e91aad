//! Scheduled stalls: periods in which the whole server does nothing, as if stopped by a signal or a garbage
//! collector.
//!
//! A request that arrives in a stall is received at its end, a delay that ends in one ends with it,
//! and a station's servers make no progress meanwhile. Times are relative to the first request, so
//! that a test knows where in its run the stalls fall.

use brunt_cause::{Complaint, complaint};
use std::str::FromStr;

use brunt_measure::Nanos;
use brunt_plan::quantity::duration;

/// One stall, or a repeated one: `5s+1s`, `5s+1s/10s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerStall {
    /// Time from the first request to the beginning of the stall.
    pub start: Nanos,
    /// Length of the stall.
    pub length: Nanos,
    /// Time from one beginning to the next; `None` if the stall is not repeated.
    pub period: Option<Nanos>,
}

impl FromStr for ServerStall {
    type Err = Complaint;

    fn from_str(text: &str) -> Result<ServerStall, Complaint> {
        let wrong = || {
            complaint!(
                "\"{text}\" is not a stall: use 5s+1s (at 5 s for 1 s) or 5s+1s/10s (and then every 10 s)",
                "“{text}”不是停顿；请用 5s+1s（第 5 s 起停 1 s）或 5s+1s/10s（此后每 10 s 一次）"
            )
        };
        let (after, rest) = text.split_once('+').ok_or_else(wrong)?;
        let (lasts, every) = match rest.split_once('/') {
            Some((lasts, every)) => (lasts, Some(duration(every)?)),
            None => (rest, None),
        };
        let stall = ServerStall { start: duration(after)?, length: duration(lasts)?, period: every };
        if every.is_some_and(|every| every <= stall.length) {
            return Err(complaint!(
                "\"{text}\": the period must be longer than the stall, as in 5s+1s/10s",
                "“{text}”：周期必须长于停顿，例如 5s+1s/10s"
            ));
        }
        Ok(stall)
    }
}

impl ServerStall {
    /// Returns the end of the stall that contains `t`.
    fn end_around(&self, t: u64) -> Option<u64> {
        let since = t.checked_sub(self.start.0)?;
        let round = self.period.map_or(0, |every| since / every.0 * every.0);
        (since - round < self.length.0).then(|| self.start.0 + round + self.length.0)
    }

    /// Returns the first beginning at or after `t`.
    fn next_begin(&self, t: u64) -> Option<u64> {
        match (t.checked_sub(self.start.0), self.period) {
            (None | Some(0), _) => Some(self.start.0),
            (Some(since), Some(every)) => Some(self.start.0 + since.div_ceil(every.0) * every.0),
            (Some(_), None) => None,
        }
    }
}

/// All stalls of a target, with times relative to the first request.
#[derive(Clone, Debug, Default)]
pub struct ServerStalls(Vec<ServerStall>);

impl ServerStalls {
    /// Creates the stalls of a configuration; empty ones are left out.
    pub fn new(stalls: &[ServerStall]) -> ServerStalls {
        ServerStalls(stalls.iter().copied().filter(|stall| stall.length.0 > 0).collect())
    }

    /// Returns `true` if there are no stalls.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns `t`, or the end of the stall that contains it.
    pub fn resume(&self, first: Nanos, t: Nanos) -> Nanos {
        let mut since = t.0.saturating_sub(first.0);
        if t == Nanos::MAX {
            return t;
        }
        // Stalls may overlap: the end of one may lie in another.
        while let Some(end) = self.0.iter().find_map(|stall| stall.end_around(since)) {
            since = end;
        }
        first.saturating_add(Nanos(since)).max(t)
    }

    /// Returns the time at which work of `amount` that begins at `start` is done if it rests during stalls.
    pub fn work(&self, first: Nanos, start: Nanos, amount: Nanos) -> Nanos {
        let (mut t, mut left) = (self.resume(first, start), amount.0);
        loop {
            let since = t.0.saturating_sub(first.0);
            let begin = self.0.iter().filter_map(|stall| stall.next_begin(since)).min();
            match begin {
                Some(begin) if begin - since < left => {
                    left -= begin - since;
                    t = self.resume(first, first + Nanos(begin));
                }
                _ => return t.saturating_add(Nanos(left)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stalls(texts: &[&str]) -> ServerStalls {
        ServerStalls::new(&texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<_>>())
    }

    #[test]
    fn stalls_are_read() {
        let stall = |after, lasts, every| {
            Ok(ServerStall { start: Nanos::from_millis(after), length: Nanos::from_millis(lasts), period: every })
        };
        assert_eq!("5s+1s".parse(), stall(5000, 1000, None));
        assert_eq!("0s+20ms/1s".parse(), stall(0, 20, Some(Nanos::from_secs(1))));
        for (text, right) in
            [("5s", "use 5s+1s"), ("5+1", "is missing its unit"), ("5s+2s/1s", "longer than the stall")]
        {
            let trouble = text.parse::<ServerStall>().unwrap_err();
            assert!(trouble.contains(right), "{trouble}");
        }
    }

    #[test]
    fn a_moment_in_a_stall_waits_for_its_end() {
        let first = Nanos::from_secs(100);
        for (texts, at_ms, resumes_ms) in [
            (&["5s+1s"][..], 4999, 4999),
            (&["5s+1s"], 5000, 6000),
            (&["5s+1s"], 5999, 6000),
            (&["5s+1s"], 6000, 6000),
            (&["5s+1s"], 25_500, 25_500),
            (&["5s+1s/10s"], 25_500, 26_000),
            (&["5s+1s/10s"], 24_999, 24_999),
            (&["1s+1s", "1500ms+2s"], 1200, 3500),
            (&["0s+1s", "1s+1s"], 0, 2000),
            (&["5s+0s"], 5000, 5000),
        ] {
            let resumed = stalls(texts).resume(first, first + Nanos::from_millis(at_ms));
            assert_eq!(resumed, first + Nanos::from_millis(resumes_ms), "{texts:?} at {at_ms} ms");
        }
        assert_eq!(stalls(&["5s+1s/10s"]).resume(first, Nanos::MAX), Nanos::MAX);
    }

    #[test]
    fn work_rests_during_stalls() {
        let first = Nanos::from_secs(7);
        for (texts, start_ms, amount_ms, done_ms) in [
            (&[][..], 100, 50, 150),
            (&["5s+1s"], 4990, 10, 5000),
            (&["5s+1s"], 4990, 11, 6001),
            (&["5s+1s"], 5500, 10, 6010),
            (&["1s+1s/2s"], 0, 3000, 5000),
            (&["1s+1s/2s"], 0, 3500, 6500),
        ] {
            let done = stalls(texts).work(first, first + Nanos::from_millis(start_ms), Nanos::from_millis(amount_ms));
            assert_eq!(done, first + Nanos::from_millis(done_ms), "{texts:?}: {amount_ms} ms from {start_ms} ms");
        }
    }
}
