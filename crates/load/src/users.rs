//! Closed load: the number of active users.
//!
//! The number of users is a function of time, so that workers agree on it without communication: it is the rounded
//! level of the stages, divided among the shares.

use brunt_measure::Nanos;
use brunt_plan::{Change, Load, Share, Stage};

use crate::{NumberSequence, stages_last};

/// A stretch of time in which the number of users changes linearly.
#[derive(Clone, Copy, Debug)]
struct UserPiece {
    start: Nanos,
    end: Nanos,
    from: f64,
    to: f64,
}

/// The number of users of one share over time.
#[derive(Clone, Debug)]
pub struct UserProfile {
    /// Warm-up, stages and the time after them, in order and without gaps.
    stretches: Vec<UserPiece>,
    share: Share,
    /// The planned pieces; empty until the number is changed.
    planned: Vec<UserPiece>,
    /// The current number after a change.
    level: Option<u32>,
    paused: bool,
    /// Number of requests that each user keeps in flight; each counts as a user.
    each: u32,
    ends: Option<Nanos>,
}

impl UserProfile {
    /// Creates the profile of one share of a closed load. The warm-up has as many users as the beginning of the first
    /// stage, and the time after the last stage as many as its end. An open load has none.
    pub fn new(load: &Load, warmup: Nanos, share: Share) -> UserProfile {
        let stages: &[Stage] = match load {
            Load::Closed { stages, .. } => stages,
            Load::Open { .. } => &[],
        };
        let mut users = UserProfile {
            stretches: Vec::new(),
            share,
            planned: Vec::new(),
            level: None,
            paused: false,
            each: 1,
            ends: None,
        };
        let first = stages.first().map_or(0.0, |stage| stage.from);
        users.push(Nanos::ZERO, warmup, first, first);
        let mut at = warmup;
        for stage in stages {
            let end = at.saturating_add(stage.lasts);
            users.push(at, end, stage.from, stage.to);
            at = end;
        }
        let last = stages.last().map_or(0.0, |stage| stage.to);
        users.push(at, Nanos::MAX, last, last);
        users.ends = (stages.len() > 1).then(|| warmup.saturating_add(stages_last(stages)));
        users
    }

    /// Multiplies the users if each keeps `each` requests in flight. The engine then handles `each` times as many
    /// users, dealt to the shares in groups of `each`.
    pub fn each(self, each: u32) -> UserProfile {
        UserProfile { each: each.max(1), ..self }
    }

    /// Delays the profile by a span, before which there are no users.
    pub fn delayed(mut self, by: Nanos) -> UserProfile {
        for stretch in &mut self.stretches {
            (stretch.start, stretch.end) = (stretch.start.saturating_add(by), stretch.end.saturating_add(by));
        }
        if by > Nanos::ZERO {
            self.stretches.insert(0, UserPiece { start: Nanos::ZERO, end: by, from: 0.0, to: 0.0 });
        }
        self
    }

    /// Ends the profile at a time, after which there are no users.
    pub fn until(mut self, end: Nanos) -> UserProfile {
        self.stretches.retain(|stretch| stretch.start < end);
        if let Some(cut) = self.stretches.last_mut().filter(|stretch| stretch.end > end) {
            (cut.to, cut.end) = (cut.level(end), end);
        }
        self.push(end, Nanos::MAX, 0.0, 0.0);
        self
    }

    fn push(&mut self, start: Nanos, end: Nanos, from: f64, to: f64) {
        if start < end {
            self.stretches.push(UserPiece { start, end, from, to });
        }
    }

    /// Changes the number from `at` on. Every share must apply the same changes, in chronological order.
    pub fn change(&mut self, at: Nanos, change: Change) {
        if self.planned.is_empty() {
            self.planned.clone_from(&self.stretches);
        }
        match change {
            Change::Users(users) => self.level = Some(users),
            Change::Rate(_) => {}
            Change::Pause | Change::Drain => self.paused = true,
            Change::Resume => self.paused = false,
        }
        self.stretches.retain(|stretch| stretch.start < at);
        if let Some(cut) = self.stretches.last_mut().filter(|stretch| stretch.end > at) {
            (cut.to, cut.end) = (cut.level(at), at);
        }
        match self.level {
            _ if self.paused => self.push(at, Nanos::MAX, 0.0, 0.0),
            Some(level) => self.push(at, Nanos::MAX, f64::from(level), f64::from(level)),
            None => {
                for stretch in self.planned.clone().into_iter().filter(|stretch| stretch.end > at) {
                    let start = stretch.start.max(at);
                    self.push(start, stretch.end, stretch.level(start), stretch.to);
                }
            }
        }
    }

    /// Returns the target number of users of this share at a time since the start of the run.
    pub fn at(&self, time: Nanos) -> u32 {
        self.share_of(self.level_at(time))
    }

    /// Returns the number of users of all shares.
    fn level_at(&self, time: Nanos) -> f64 {
        let stretch = self.stretches.iter().find(|s| time < s.end).or(self.stretches.last());
        stretch.map_or(0.0, |s| s.level(time))
    }

    /// Returns the fraction of a round of dealing that precedes this share's first user, for users that start at `time`
    /// and are dealt to the shares in turn.
    pub fn part_before(&self, time: Nanos) -> f64 {
        let there = if time == Nanos::ZERO { 0 } else { self.level_at(time - Nanos(1)).round() as u64 };
        let (index, of) = (u64::from(self.share.index), u64::from(self.share.of));
        ((index + of - there % of) % of) as f64 / of as f64
    }

    /// Returns the earliest time after `time` at which [`UserProfile::at`] changes; `None` if it never does.
    pub fn next_change(&self, time: Nanos) -> Option<Nanos> {
        let now = self.at(time);
        for stretch in self.stretches.iter().filter(|s| s.end.0 - 1 > time.0) {
            let (first, last) = (Nanos(stretch.start.0.max(time.0 + 1)), Nanos(stretch.end.0 - 1));
            if self.at(first) != now {
                return Some(first);
            }
            if self.at(last) == now {
                continue;
            }
            let (mut same, mut other) = (first, last);
            // Within a stretch the number only rises or only falls, so bisection finds the exact time.
            while other.0 - same.0 > 1 {
                let middle = Nanos(same.0 + (other.0 - same.0) / 2);
                if self.at(middle) == now { same = middle } else { other = middle }
            }
            return Some(other);
        }
        None
    }

    /// Returns the maximum number of users of this share.
    pub fn peak(&self) -> u32 {
        self.share_of(self.highest())
    }

    fn highest(&self) -> f64 {
        self.stretches.iter().fold(0.0_f64, |peak, s| peak.max(s.from).max(s.to))
    }

    /// Returns this share of `total` requests, in proportion to its peak number of users. With an even split, a share
    /// with fewer users would still be running after the others are done. The requests have the numbers of
    /// [`UserProfile::numbers`].
    pub fn of_requests(&self, total: u64) -> u64 {
        let Some(rounds) = total.checked_div(self.most()) else { return 0 };
        rounds * self.share.of_total(self.most()) + self.share.of_total(total % self.most())
    }

    /// Returns the sequence numbers of the requests that this share's users start.
    pub fn numbers(&self) -> NumberSequence {
        NumberSequence::of_users(self.share, self.most())
    }

    /// Returns the maximum number of users, over all shares.
    fn most(&self) -> u64 {
        self.highest().round() as u64
    }

    /// Returns the end of the stages; `None` for a single stage, whose level is kept indefinitely.
    pub fn ends(&self) -> Option<Nanos> {
        self.ends
    }

    fn share_of(&self, level: f64) -> u32 {
        // The cast turns negative values and NaN into zero.
        u32::try_from(self.share.of_total(level.round() as u64)).unwrap_or(u32::MAX).saturating_mul(self.each)
    }
}

impl UserPiece {
    fn level(&self, time: Nanos) -> f64 {
        let done = (time - self.start).0 as f64 / (self.end - self.start).0 as f64;
        self.from + (self.to - self.from) * done.min(1.0)
    }
}

#[cfg(test)]
mod tests;
