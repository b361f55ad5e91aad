//! Changes of load as people ask for them while a run goes on: by keys, or from another program.

use std::time::Instant;

use engine::Control;
use measure::Nanos;
use plan::{Change, Load, Plan};

/// How much more or less one key asks for.
pub const STEP: f64 = 1.1;

/// No step asks for more than this: a key that is held down must not ask for what no machine sends or holds.
const MOST_RATE: f64 = 1e7;
const MOST_USERS: u32 = 1_000_000;

/// What has been asked for so far.
pub struct Steering {
    plan: Plan,
    control: Control,
    since: Instant,
    /// What the load was changed to.
    level: Option<f64>,
    paused: bool,
}

impl Steering {
    /// Of a run of this plan, which begins now.
    pub fn of(plan: &Plan, control: &Control) -> Steering {
        let (plan, control) = (plan.clone(), control.clone());
        Steering { plan, control, since: Instant::now(), level: None, paused: false }
    }

    /// Asks for a change; one that such a load does not have is none.
    pub fn change(&mut self, change: Change) {
        if self.control.change(&self.plan, change).is_err() {
            return;
        }
        match change {
            Change::Pause => self.paused = true,
            Change::Resume | Change::Drain => self.paused = false,
            Change::Rate(rate) => self.level = Some(rate),
            Change::Users(users) => self.level = Some(f64::from(users)),
        }
    }

    /// Asks for the end of the window; false where such a run has no end that can be waited for.
    pub fn drain(&mut self) -> bool {
        self.control.change(&self.plan, Change::Drain).is_ok()
    }

    /// A pause, or its end.
    pub fn pause_or_go_on(&mut self) {
        self.change(if self.paused { Change::Resume } else { Change::Pause });
    }

    /// So many times the load of now.
    pub fn by(&mut self, factor: f64) {
        let elapsed = Nanos::from_secs_f64(self.since.elapsed().as_secs_f64());
        let level = self.level.unwrap_or_else(|| load::level(&self.plan.load, self.plan.warmup, elapsed));
        step(&self.plan.load, level, factor).into_iter().for_each(|change| self.change(change));
    }
}

/// About so many times the level; None where there is no more, or no less.
fn step(load: &Load, level: f64, factor: f64) -> Option<Change> {
    if load.is_open() {
        return Some(stepped_rate(level, factor)).filter(|rate| *rate != level).map(Change::Rate);
    }
    let users = stepped_users(level, factor);
    (f64::from(users) != level.round()).then_some(Change::Users(users))
}

/// In three digits, so that it can be read.
fn stepped_rate(rate: f64, factor: f64) -> f64 {
    let wanted = (rate * factor).max(0.01);
    let scale = 10_f64.powf(wanted.log10().floor() - 2.0);
    if factor > 1.0 && rate.max(wanted) > MOST_RATE {
        return rate.max(MOST_RATE);
    }
    // Multiplied by what is whole above one: 0.1 has no end in binary.
    if scale >= 1.0 { (wanted / scale).round() * scale } else { (wanted / scale).round() / (1.0 / scale).round() }
}

/// At least one more or less, and at least one.
fn stepped_users(users: f64, factor: f64) -> u32 {
    let users = users.round() as u32;
    // As many more as less would be, so that one key takes back the other.
    let share = if factor >= 1.0 { factor - 1.0 } else { 1.0 / factor - 1.0 };
    let step = (f64::from(users) * share).round().max(1.0) as u32;
    if factor >= 1.0 {
        users.saturating_add(step).min(MOST_USERS.max(users))
    } else {
        users.saturating_sub(step).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_changes_nothing_asks_for_nothing() {
        let closed = |users: f64| plan::Load::Closed {
            stages: vec![plan::Stage { lasts: Nanos::from_secs(60), from: users, to: users }],
            think: None,
            together: false,
        };
        for (users, key, asked) in [(1.0, b'-', None), (1.0, b'+', Some(2)), (2.0, b'-', Some(1)), (3e6, b'+', None)] {
            let load = closed(users);
            let found = step(&load, users, if key == b'+' { STEP } else { 1.0 / STEP });
            assert_eq!(found, asked.map(Change::Users), "{users}");
        }
        let open = plan::Load::Open { stages: Vec::new(), arrivals: plan::Arrivals::Poisson };
        assert_eq!(step(&open, 0.01, 1.0 / STEP), None);
        assert_eq!(step(&open, 1e7, STEP), None);
        assert_eq!(step(&open, 100.0, STEP), Some(Change::Rate(110.0)));
    }

    #[test]
    fn a_step_is_about_a_tenth_and_can_be_read() {
        for (rate, more, less) in [
            (100.0, 110.0, 90.9),
            (110.0, 121.0, 100.0),
            (12_345.0, 13_600.0, 11_200.0),
            (1.0, 1.1, 0.909),
            (0.005, 0.01, 0.01),
            (9.5e6, 1e7, 8.64e6),
            (1e7, 1e7, 9.09e6),
            (1e9, 1e9, 9.09e8),
        ] {
            assert_eq!((stepped_rate(rate, STEP), stepped_rate(rate, 1.0 / STEP)), (more, less), "{rate}");
        }
        for (users, more, less) in [
            (1.0, 2, 1),
            (10.0, 11, 9),
            (99.6, 110, 90),
            (1000.0, 1100, 900),
            (0.0, 1, 1),
            (999_999.0, 1_000_000, 899_999),
            (2e6, 2_000_000, 1_800_000),
        ] {
            assert_eq!((stepped_users(users, STEP), stepped_users(users, 1.0 / STEP)), (more, less), "{users}");
        }
    }
}
