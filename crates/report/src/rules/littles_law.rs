//! The rule based on Little's law (V3): in each second, requests in flight are compared with throughput × service time,
//! which is counted independently.

use brunt_measure::Nanos;
use brunt_record::{RunEvent, RunPart, Second};

use super::{Evidence, TrustRule};
use crate::finding::{Finding, Grade};
use crate::numbers;
use crate::text::{Text, text};

const LITTLE: Text = text(
    "Little's law holds: off by at most {worst}, in the second at {at} ({judged} checked)",
    "符合利特尔法则：最大偏差 {worst}，出现在 {at}（共检查 {judged} 秒）",
);
const LITTLE_EXACT: Text =
    text("Little's law holds in every second ({judged} checked)", "每一秒都符合利特尔法则（共检查 {judged} 秒）");
const LITTLE_BROKEN: Text = text(
    "Little's law: requests in flight and throughput × service time differ by {worst} in the second at {at}",
    "利特尔法则：在 {at} 这一秒，在途请求数与吞吐量 × 服务时间相差 {worst}",
);
const LITTLE_NOT_JUDGED: Text =
    text("Little's law: too few requests in flight to check", "利特尔法则：在途请求太少，无法检查");

/// Deviation up to which a second is fine; a deviation above [`FAIL`] means that requests were not counted.
const OK: f64 = 0.02;
const FAIL: f64 = 0.05;
/// Deviation shown as zero.
const EXACT: f64 = 0.0005;
/// Average number of requests in flight, and length, below which a second is too coarse to judge.
const IN_FLIGHT: f64 = 0.5;
const LENGTH: Nanos = Nanos::from_millis(100);

/// The second with the largest deviation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct LittlesLawRule {
    /// Deviation as a fraction, and the beginning of the second.
    worst: Option<(f64, i64)>,
    judged: u64,
}

impl LittlesLawRule {
    fn second(&mut self, s: &Second) {
        let in_flight_ns = s.in_flight_ns as f64;
        if s.length() < LENGTH || in_flight_ns < IN_FLIGHT * s.length().0 as f64 {
            return;
        }
        self.judged += 1;
        let off = (in_flight_ns - s.service_ns as f64).abs() / in_flight_ns;
        if self.worst.is_none_or(|(worst, _)| off > worst) {
            self.worst = Some((off, s.from_ns));
        }
    }

    fn finding(&self) -> Finding {
        let found = |grade, text, facts| Finding::new("little", grade, text, facts);
        let Some((worst, at)) = self.worst else {
            return Finding::new("little", Grade::Unchecked, LITTLE_NOT_JUDGED, []);
        };
        let grade = match worst {
            worst if worst < OK => Grade::Ok,
            worst if worst <= FAIL => Grade::Warn,
            _ => Grade::Fail,
        };
        let text = match grade {
            Grade::Ok if worst < EXACT => LITTLE_EXACT,
            Grade::Ok => LITTLE,
            _ => LITTLE_BROKEN,
        };
        let at = Nanos(u64::try_from(at).unwrap_or(0)).as_secs_f64();
        let facts =
            [("worst", numbers::share(worst)), ("at", format!("{at:.0} s")), ("judged", numbers::count(self.judged))];
        found(grade, text, facts)
    }
}

impl TrustRule for LittlesLawRule {
    fn see(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Second(second) if second.part == RunPart::Window => self.second(second),
            _ => {}
        }
    }

    fn findings(&self, _: &Evidence<'_>) -> Vec<Finding> {
        vec![self.finding()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn little(seconds: &[(u128, i128)]) -> Finding {
        let mut little = LittlesLawRule::default();
        for (n, &(in_flight_ns, service_ns)) in seconds.iter().enumerate() {
            let (from_ns, to_ns) = (n as i64 * 1_000_000_000, (n as i64 + 1) * 1_000_000_000);
            little.second(&Second { from_ns, to_ns, in_flight_ns, service_ns, ..Second::default() });
        }
        little.finding()
    }

    #[test]
    fn littles_law_is_judged_by_its_worst_second() {
        const G: u128 = 1_000_000_000;
        let g = G as i128;
        for (seconds, grade) in [
            (vec![(10 * G, 10 * g)], Grade::Ok),
            (vec![(100 * G, 101 * g), (100 * G, 99 * g)], Grade::Ok),
            (vec![(100 * G, 97 * g)], Grade::Warn),
            (vec![(100 * G, 103 * g)], Grade::Warn),
            (vec![(100 * G, 106 * g), (100 * G, 100 * g)], Grade::Fail),
            (vec![(100 * G, -g)], Grade::Fail),
            // Hardly any requests in flight: not judged, however large the deviation.
            (vec![(G / 10, 0)], Grade::Unchecked),
            (vec![], Grade::Unchecked),
        ] {
            assert_eq!(little(&seconds).grade, grade, "{seconds:?}");
        }
        let said = little(&[(100 * G, 100 * g), (100 * G, 110 * g), (100 * G, 99 * g)]).sentence(crate::Lang::En);
        assert!(said.ends_with("differ by 10.0 % in the second at 1 s"), "{said}");
    }
}
