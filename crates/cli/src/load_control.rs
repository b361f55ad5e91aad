//! Changes of load requested during a run: by keys, or by another program.

use std::time::Instant;

use brunt_engine::Control;
use brunt_measure::Nanos;
use brunt_plan::{Change, Load, Plan, public_load};

/// Factor by which one key press changes the load.
pub const STEP: f64 = 1.1;

/// Limits of a step, so that holding down a key does not exceed what any machine can send or hold.
const MOST_RATE: f64 = 1e7;
const MOST_USERS: u32 = 1_000_000;

/// The state of the requested changes.
pub struct LoadControl {
    plan: Plan,
    control: Control,
    since: Instant,
    /// The last level set.
    level: Option<f64>,
    paused: bool,
    /// Set if a load that needs confirmation on a public address is refused.
    limited: bool,
}

impl LoadControl {
    /// Creates the state for a run of this plan that begins now; a `limited` one is not raised to a load that needs
    /// confirmation.
    pub fn new(plan: &Plan, control: &Control, limited: bool) -> LoadControl {
        let (plan, control) = (plan.clone(), control.clone());
        LoadControl { plan, control, since: Instant::now(), level: None, paused: false, limited }
    }

    /// Confirms that the target may be put under any load.
    pub fn confirm(&mut self) {
        self.limited = false;
    }

    /// Requests a change; ignores one that this load does not support, or that was not confirmed.
    pub fn change(&mut self, change: Change) {
        if (self.limited && public_load::is_heavy_after(&self.plan, change))
            || self.control.change(&self.plan, change).is_err()
        {
            return;
        }
        match change {
            Change::Pause => self.paused = true,
            Change::Resume | Change::Drain => self.paused = false,
            Change::Rate(rate) => self.level = Some(rate),
            Change::Users(users) => self.level = Some(f64::from(users)),
        }
    }

    /// Requests the end of the window; returns `false` if this kind of run cannot drain.
    pub fn drain(&mut self) -> bool {
        self.control.change(&self.plan, Change::Drain).is_ok()
    }

    /// Pauses or resumes.
    pub fn toggle_pause(&mut self) {
        self.change(if self.paused { Change::Resume } else { Change::Pause });
    }

    /// Multiplies the current load.
    pub fn scale(&mut self, factor: f64) {
        let elapsed = Nanos::from_secs_f64(self.since.elapsed().as_secs_f64());
        let level = self.level.unwrap_or_else(|| brunt_load::level(&self.plan.load, self.plan.warmup, elapsed));
        step(&self.plan.load, level, factor).into_iter().for_each(|change| self.change(change));
    }
}

/// Returns the change to about `factor` times the level; `None` at the limits.
fn step(load: &Load, level: f64, factor: f64) -> Option<Change> {
    if load.is_open() {
        return Some(stepped_rate(level, factor)).filter(|rate| *rate != level).map(Change::Rate);
    }
    let users = stepped_users(level, factor);
    (f64::from(users) != level.round()).then_some(Change::Users(users))
}

/// Rounds the new rate to three digits, for readability.
fn stepped_rate(rate: f64, factor: f64) -> f64 {
    let wanted = (rate * factor).max(0.01);
    let scale = 10_f64.powf(wanted.log10().floor() - 2.0);
    if factor > 1.0 && rate.max(wanted) > MOST_RATE {
        return rate.max(MOST_RATE);
    }
    // Divides by an integer, since 0.1 has no finite binary representation.
    if scale >= 1.0 { (wanted / scale).round() * scale } else { (wanted / scale).round() / (1.0 / scale).round() }
}

/// Changes users by at least one, and keeps at least one.
fn stepped_users(users: f64, factor: f64) -> u32 {
    let users = users.round() as u32;
    // The step up equals the step down, so that one key undoes the other.
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
        let closed = |users: f64| brunt_plan::Load::Closed {
            stages: vec![brunt_plan::Stage { lasts: Nanos::from_secs(60), from: users, to: users }],
            think: None,
            together: false,
        };
        for (users, key, asked) in [(1.0, b'-', None), (1.0, b'+', Some(2)), (2.0, b'-', Some(1)), (3e6, b'+', None)] {
            let load = closed(users);
            let found = step(&load, users, if key == b'+' { STEP } else { 1.0 / STEP });
            assert_eq!(found, asked.map(Change::Users), "{users}");
        }
        let open = brunt_plan::Load::Open { stages: Vec::new(), arrivals: brunt_plan::Arrivals::Poisson };
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
