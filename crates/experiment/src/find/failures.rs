//! How far failures come together: a service that refuses for a second makes many failures, and one event.

use brunt_measure::Estimate;
use brunt_record::{Notice, RunEvent, RunListener, RunPart};

/// Number of blocks compared, and the least with which anything can be told.
const COMPARED: usize = 10;
const LEAST: usize = 5;

/// Failures and requests of each second of a window.
#[derive(Debug, Default)]
pub(super) struct FailedSeconds(Vec<(f64, f64)>);

impl RunListener for FailedSeconds {
    fn observe(&mut self, event: &RunEvent) -> Result<(), Notice> {
        if let RunEvent::Second(second) = event
            && second.part == RunPart::Window
        {
            let counts = second.counts();
            let failed = (counts.failed + counts.censored) as f64;
            self.0.push((failed, failed + counts.finished as f64));
        }
        Ok(())
    }
}

impl FailedSeconds {
    /// Returns the number of requests that are worth one independent request; `None` if the window is too short.
    pub fn design_effect(&self) -> Option<f64> {
        if self.0.len() < LEAST {
            return None;
        }
        let many = self.0.len().min(COMPARED);
        let mut blocks = vec![(0.0, 0.0); many];
        for (i, (failed, all)) in self.0.iter().enumerate() {
            let block = &mut blocks[i * many / self.0.len()];
            *block = (block.0 + failed, block.1 + all);
        }
        Estimate::design_effect(&blocks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_of_refusals_is_one_event() {
        let effect = |failed: &[f64]| FailedSeconds(failed.iter().map(|n| (*n, 1000.0)).collect()).design_effect();
        let spread = effect(&[10.0; 10]).expect("an effect");
        let burst = effect(&[0.0, 0.0, 100.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]).expect("an effect");
        assert!(spread < 1.5 && burst > 100.0, "{spread} {burst}");
        assert_eq!(effect(&[0.0; 4]), None, "too short");
        let long = effect(&[10.0; 60]).expect("an effect");
        assert!((long - spread).abs() < 1e-9, "ten blocks, however long: {long}");
    }
}
