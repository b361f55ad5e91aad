//! The figures of a run by stretches of its load: stages of the plan, changes during the run, pauses.
//!
//! A figure over several loads describes a load that never ran. Seconds are the grain of a record: one in which the
//! load changed belongs to no stretch.

use std::collections::VecDeque;

use brunt_measure::{Histogram, Nanos};
use brunt_plan::{Change, Plan, Stage};
use brunt_record::{RunEvent, RunPart, Second};

use crate::ranked::{RankedLatency, headline};

/// Maximum number of stretches: a plan or a record from another source may contain any number.
const MOST: usize = 100;
/// Maximum distance of a change from the end of a second that contains nothing of the other load (nanoseconds).
const CLOSE: i64 = 1_000_000;

/// The event that begins a stretch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LoadTurn {
    /// A stage of the plan, counted from 0.
    Stage(usize),
    /// A change during the run.
    Change(Change),
}

/// A stretch of a run between two turns of its load, and its figures.
#[derive(Clone, Debug)]
pub struct LoadStretch {
    /// Beginning, in nanoseconds since the start of the window.
    pub from_ns: i64,
    /// End, in the same format.
    pub to_ns: i64,
    /// The event at its beginning.
    pub turn: LoadTurn,
    /// Planned load at its beginning and at its end: arrivals per second, or users.
    pub levels: [f64; 2],
    /// Total length of its seconds within the window.
    pub measured: Nanos,
    /// Scheduled requests of its seconds.
    pub due: u64,
    /// Those that succeeded.
    pub finished: u64,
    /// Those that failed.
    pub failed: u64,
    /// Successes within the window, including those of warm-up requests.
    finished_in_window: u64,
    latency: Histogram,
    at_least: Histogram,
    /// Latency of the requests that brunt may have delayed, and the same without the delays.
    own: [Histogram; 2],
}

impl LoadStretch {
    fn beginning(from_ns: i64, turn: LoadTurn, level: f64) -> LoadStretch {
        LoadStretch {
            from_ns,
            to_ns: from_ns,
            turn,
            levels: [level; 2],
            measured: Nanos::ZERO,
            due: 0,
            finished: 0,
            failed: 0,
            finished_in_window: 0,
            latency: Histogram::new(),
            at_least: Histogram::new(),
            own: Default::default(),
        }
    }

    fn add(&mut self, second: &Second, open: bool) {
        self.due = self.due.saturating_add(second.due);
        self.finished = self.finished.saturating_add(second.finished);
        self.failed = self.failed.saturating_add(second.failed);
        if second.part == RunPart::Window {
            self.finished_in_window = self.finished_in_window.saturating_add(second.successes());
            self.measured = self.measured.saturating_add(second.length());
        }
        let ranked = headline(&second.latency, open);
        self.latency.merge(ranked.finished);
        ranked.at_least.iter().for_each(|bounds| self.at_least.merge(bounds));
        if let Some(own) = ranked.own {
            self.own[0].merge(own.delayed);
            self.own[1].merge(own.undelayed);
        }
    }

    /// Returns its latency: response time under open load, service time under closed load.
    pub fn ranked(&self) -> RankedLatency<'_> {
        RankedLatency::with_unfinished(&self.latency, &self.at_least).with_own(&self.own[0], &self.own[1])
    }

    /// Returns the successes ÷ the length of its seconds; `None` if it has none.
    pub fn throughput_per_s(&self) -> Option<f64> {
        let length = self.measured.as_secs_f64();
        (length > 0.0).then(|| self.finished_in_window as f64 / length)
    }

    /// Returns `true` if nothing was scheduled in it.
    pub fn is_pause(&self) -> bool {
        self.turn == LoadTurn::Change(Change::Pause)
    }
}

/// The collector of a run's stretches.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoadStretches {
    open: bool,
    stages: Vec<Stage>,
    /// Turns that lie ahead, in the order of time.
    ahead: VecDeque<(i64, LoadTurn)>,
    /// Level set by a change, instead of the stages.
    set: Option<f64>,
    paused: bool,
    stretches: Vec<LoadStretch>,
    until: i64,
    is_full: bool,
}

impl LoadStretches {
    /// Handles the next event.
    pub fn see(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Started(started) => self.plan(&started.plan),
            RunEvent::Changed(changed) => {
                let place = self.ahead.partition_point(|(at, _)| *at <= changed.at_ns);
                self.ahead.insert(place, (changed.at_ns, LoadTurn::Change(changed.change)));
            }
            RunEvent::Second(second) => self.second(second),
            _ => {}
        }
    }

    fn plan(&mut self, plan: &Plan) {
        self.open = plan.load.is_open();
        self.stages = plan.load.stages().to_vec();
        let mut at = 0_i64;
        for (number, stage) in self.stages.iter().enumerate() {
            self.ahead.push_back((at, LoadTurn::Stage(number)));
            at = at.saturating_add(i64::try_from(stage.lasts.0).unwrap_or(i64::MAX));
        }
    }

    fn second(&mut self, second: &Second) {
        let is_window = second.part == RunPart::Window;
        let turned = is_window && self.turn_until(second.from_ns, second.to_ns);
        if second.part == RunPart::Warmup || turned || self.is_full {
            return;
        }
        let open = self.open;
        self.stretches.last_mut().iter_mut().for_each(|stretch| stretch.add(second, open));
    }

    /// Passes the turns before the end of a second; returns `true` if one lies within the second.
    fn turn_until(&mut self, from_ns: i64, to_ns: i64) -> bool {
        let mut is_within = false;
        while let Some((at, turn)) = self.ahead.pop_front_if(|(at, _)| *at < to_ns.saturating_sub(CLOSE)) {
            is_within |= self.turn(at, turn) && at > from_ns.saturating_add(CLOSE);
        }
        self.until = self.until.max(to_ns);
        is_within
    }

    /// Passes a turn; returns `true` if it changes the load.
    fn turn(&mut self, at: i64, turn: LoadTurn) -> bool {
        let from = at.max(0);
        let ends_at = self.last_level(from);
        let is_effective = match turn {
            // A level that was set replaces the stages, and a pause outlasts them.
            LoadTurn::Stage(_) => self.set.is_none() && !self.paused,
            LoadTurn::Change(Change::Rate(level)) => self.set_level(level),
            LoadTurn::Change(Change::Users(users)) => self.set_level(f64::from(users)),
            LoadTurn::Change(Change::Pause) => !std::mem::replace(&mut self.paused, true),
            LoadTurn::Change(Change::Resume) => std::mem::replace(&mut self.paused, false),
            LoadTurn::Change(Change::Drain) => false,
        };
        if !is_effective {
            return false;
        }
        // What had no time was no load.
        self.stretches.pop_if(|last| from - last.from_ns < CLOSE);
        self.end_last(from, ends_at);
        self.is_full |= self.stretches.len() >= MOST;
        if !self.is_full {
            let level = if self.paused { 0.0 } else { self.level(from, from) };
            self.stretches.push(LoadStretch::beginning(from, turn, level));
        }
        true
    }

    fn set_level(&mut self, level: f64) -> bool {
        self.set = Some(level);
        !self.paused
    }

    /// Returns the level at the end of the last stretch.
    fn last_level(&self, at: i64) -> f64 {
        match self.stretches.last() {
            Some(last) if !last.is_pause() => self.level(last.from_ns, at),
            _ => 0.0,
        }
    }

    fn end_last(&mut self, at: i64, level: f64) {
        if let Some(last) = self.stretches.last_mut() {
            (last.to_ns, last.levels[1]) = (at, level);
        }
    }

    /// Returns the planned level at a time, in the stage of `within`.
    fn level(&self, within: i64, at: i64) -> f64 {
        if let Some(level) = self.set {
            return level;
        }
        let mut begins = 0_i64;
        for stage in &self.stages {
            let lasts = i64::try_from(stage.lasts.0).unwrap_or(i64::MAX);
            if within < begins.saturating_add(lasts) {
                let share = ((at - begins) as f64 / lasts.max(1) as f64).clamp(0.0, 1.0);
                return stage.from + (stage.to - stage.from) * share;
            }
            begins = begins.saturating_add(lasts);
        }
        self.stages.last().map_or(0.0, |stage| stage.to)
    }

    /// Returns the stretches of a run that ended, or goes on; none if its load never turned.
    pub fn finish(mut self) -> Vec<LoadStretch> {
        if !self.is_full {
            self.end_last(self.until, self.last_level(self.until));
        }
        if self.stretches.len() < 2 { Vec::new() } else { self.stretches }
    }
}
