//! Counters of a host over the window: their increases and their ranges.

use std::collections::BTreeMap;

/// Minimum time span for a rate, in seconds: readings are a second apart.
const RATED_LEAST_S: f64 = 0.9;

/// Summary of a counter's readings; of constant size, however long the run.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ReadingSummary {
    /// Time of the first reading.
    from_ns: i64,
    first: f64,
    last: f64,
    min: f64,
    max: f64,
    sum: f64,
    readings: u32,
    /// The lowest reading between the first and the last, and how many of these were above zero.
    inner_min: f64,
    inner_positive: u32,
    /// Time of the last reading, and the times between which the counter rose: of the reading before the first increase,
    /// and of that after the last one.
    read_ns: i64,
    rose_ns: Option<[i64; 2]>,
}

impl ReadingSummary {
    fn of(value: f64, from_ns: i64) -> ReadingSummary {
        ReadingSummary {
            from_ns,
            first: value,
            last: value,
            min: value,
            max: value,
            sum: value,
            readings: 1,
            inner_min: f64::INFINITY,
            inner_positive: 0,
            read_ns: from_ns,
            rose_ns: None,
        }
    }

    fn add(&mut self, value: f64, at_ns: i64) {
        if value > self.last {
            self.rose_ns = Some([self.rose_ns.map_or(self.read_ns, |[from, _]| from), at_ns]);
        }
        self.read_ns = at_ns;
        if self.readings > 1 {
            self.inner_min = self.inner_min.min(self.last);
            self.inner_positive += u32::from(self.last > 0.0);
        }
        self.last = value;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.sum += value;
        self.readings += 1;
    }
}

/// The counters of a host during the window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CounterSummary {
    summaries: BTreeMap<String, ReadingSummary>,
    /// Labels at the last reading.
    labels: BTreeMap<String, String>,
    from_ns: i64,
    to_ns: i64,
    readings: u32,
}

impl CounterSummary {
    /// Adds the next reading, with its time since the start of the window (nanoseconds) and all counters by name. Of
    /// the readings before the window only the last is kept, as the base of increases.
    pub fn add_reading<'a>(&mut self, at_ns: i64, values: impl IntoIterator<Item = (&'a str, f64)>) {
        if self.readings == 0 || at_ns <= 0 {
            *self = CounterSummary { from_ns: at_ns, ..CounterSummary::default() };
        }
        self.to_ns = at_ns;
        self.readings += 1;
        for (name, value) in values.into_iter().filter(|(_, value)| value.is_finite()) {
            match self.summaries.get_mut(name) {
                Some(course) => course.add(value, at_ns),
                None => drop(self.summaries.insert(name.to_owned(), ReadingSummary::of(value, at_ns))),
            }
        }
    }

    /// Sets the labels.
    pub fn set_labels<'a>(&mut self, names: impl IntoIterator<Item = (&'a str, &'a str)>) {
        self.labels = names.into_iter().map(|(name, word)| (name.to_owned(), word.to_owned())).collect();
    }

    /// Returns the times since the start of the window between which a counter rose, in seconds; `None` if it did not.
    pub fn rose_within(&self, name: &str) -> Option<[f64; 2]> {
        self.summaries.get(name)?.rose_ns.map(|times| times.map(|ns| ns as f64 / 1e9))
    }

    /// Returns the value of a label at the last reading.
    pub fn label(&self, name: &str) -> Option<&str> {
        self.labels.get(name).map(String::as_str)
    }

    /// Returns `true` if there are no two readings at different times.
    pub fn is_empty(&self) -> bool {
        self.readings < 2 || self.span_s() <= 0.0
    }

    /// Returns the time from the first reading to the last, in seconds.
    pub fn span_s(&self) -> f64 {
        (self.to_ns - self.from_ns) as f64 / 1e9
    }

    /// Returns the increase of a counter; `None` if it was not read, or if it fell (for example, because the process
    /// was replaced).
    pub fn increase(&self, name: &str) -> Option<f64> {
        let course = self.summaries.get(name).filter(|course| course.readings > 1)?;
        Some(course.last - course.first).filter(|rise| *rise >= 0.0)
    }

    /// Like [`CounterSummary::increase`], for a counter that is absent while it is zero: if it first appeared within
    /// the window, its whole value counts as increase.
    pub fn increase_from_zero(&self, name: &str) -> Option<f64> {
        let course = self.summaries.get(name)?;
        let from = if course.from_ns > self.from_ns { 0.0 } else { course.first };
        Some(course.last - from).filter(|rise| *rise >= 0.0)
    }

    /// Returns `true` if the counter increased.
    pub fn has_increased(&self, name: &str) -> bool {
        self.increase(name).is_some_and(|rise| rise > 0.0)
    }

    /// Returns the increase per second; `None` also if the span is too short for a rate, because CPU times are counted
    /// in ticks of 4 or 10 ms, and not every reading covers all processes of a service.
    pub fn per_s(&self, name: &str) -> Option<f64> {
        (self.span_s() >= RATED_LEAST_S).then(|| self.increase(name))?.map(|rise| rise / self.span_s())
    }

    /// Returns the highest reading.
    pub fn max(&self, name: &str) -> Option<f64> {
        self.summaries.get(name).map(|course| course.max)
    }

    /// Returns the lowest reading.
    pub fn min(&self, name: &str) -> Option<f64> {
        self.summaries.get(name).map(|course| course.min)
    }

    /// Returns the mean of the readings.
    pub fn mean(&self, name: &str) -> Option<f64> {
        self.summaries.get(name).map(|course| course.sum / f64::from(course.readings))
    }

    /// Returns the mean of the readings and the number of readings averaged, without the first and the last, which may
    /// have been taken without load. `None` if no others exist.
    pub fn mean_within(&self, name: &str) -> Option<(f64, u32)> {
        let course = self.summaries.get(name)?;
        let within = course.readings.checked_sub(2).filter(|within| *within > 0)?;
        Some(((course.sum - course.first - course.last) / f64::from(within), within))
    }

    /// Returns the lowest of the readings that [`CounterSummary::mean_within`] averages.
    pub fn min_within(&self, name: &str) -> Option<f64> {
        self.summaries.get(name).filter(|course| course.readings > 2).map(|course| course.inner_min)
    }

    /// Returns how many of the readings that [`CounterSummary::mean_within`] averages were above zero, and their number.
    pub fn positive_within(&self, name: &str) -> Option<(u32, u32)> {
        let course = self.summaries.get(name).filter(|course| course.readings > 2)?;
        Some((course.inner_positive, course.readings - 2))
    }

    /// Returns the last reading.
    pub fn last(&self, name: &str) -> Option<f64> {
        self.summaries.get(name).map(|course| course.last)
    }

    /// Iterates over the parts of counter names between `before` and `after`: `eth0` in `net.eth0.rx_bytes`.
    pub fn name_middles<'a>(&'a self, before: &'a str, after: &'a str) -> impl Iterator<Item = &'a str> {
        let middle = move |name: &'a String| name.strip_prefix(before)?.strip_suffix(after);
        self.summaries.keys().filter_map(middle)
    }

    /// Returns the cores used by each program counted under `kind` (`service.program`, `others`), the busiest first;
    /// those below a hundredth of a core are left out.
    pub fn program_cores(&self, kind: &str) -> Vec<(String, f64)> {
        if self.span_s() < RATED_LEAST_S {
            return Vec::new();
        }
        let cores = |place: &str| {
            // A program is counted from the moment at which it has used some time.
            let used = self.increase_from_zero(&format!("{kind}.{place}.cpu"))? / 1e9 / self.span_s();
            // A program chooses its own name.
            let name = self.label(&format!("{kind}.{place}.comm"))?.chars().filter(|c| !c.is_control()).collect();
            Some((name, used)).filter(|_| used >= 0.01)
        };
        let before = format!("{kind}.");
        let mut all: Vec<(String, f64)> = self.name_middles(&before, ".cpu").filter_map(cores).collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        all
    }

    /// Returns the number of busy cores and the number of cores of the host; `None` if the span is too short.
    pub fn busy_cores(&self) -> Option<(f64, f64)> {
        if self.span_s() < RATED_LEAST_S {
            return None;
        }
        let cores = self.last("cpu.count")?;
        let all = ["user", "system", "irq", "softirq", "steal", "idle", "iowait"];
        let rises: Vec<f64> = all.iter().filter_map(|part| self.increase(&format!("cpu.all.{part}"))).collect();
        let (whole, idle): (f64, f64) = (rises.iter().sum(), rises.iter().skip(all.len() - 2).sum());
        (rises.len() == all.len() && whole > 0.0).then(|| ((whole - idle) / whole * cores, cores))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    #[test]
    fn rises_are_counted_from_the_last_reading_before_the_window() {
        let mut counted = CounterSummary::default();
        for (at, value) in [(-2, 100.0), (0, 110.0), (1, 111.0), (2, 130.0)] {
            counted.add_reading(at * S, [("a", value)]);
        }
        assert_eq!(
            (counted.increase("a"), counted.per_s("a"), counted.max("a")),
            (Some(20.0), Some(10.0), Some(130.0))
        );
        assert_eq!((counted.increase("b"), counted.has_increased("a"), counted.is_empty()), (None, true, false));
    }

    #[test]
    fn what_is_told_only_once_it_happened_rose_by_all_of_it() {
        let mut counted = CounterSummary::default();
        counted.add_reading(-S, [("a", 5.0)]);
        counted.add_reading(S, [("a", 6.0), ("late", 7.0)]);
        assert_eq!((counted.increase_from_zero("a"), counted.increase_from_zero("late")), (Some(1.0), Some(7.0)));
        assert_eq!(counted.increase_from_zero("never"), None);
    }

    #[test]
    fn what_went_back_or_was_read_once_did_not_rise() {
        let mut counted = CounterSummary::default();
        counted.add_reading(0, [("back", 5.0)]);
        counted.add_reading(S, [("back", 4.0), ("late", 7.0), ("none", f64::NAN)]);
        assert_eq!((counted.increase("back"), counted.increase("late"), counted.last("none")), (None, None, None));
        assert_eq!((counted.min("back"), counted.last("late")), (Some(4.0), Some(7.0)));
    }

    #[test]
    fn the_mean_within_leaves_out_both_ends() {
        let mut counted = CounterSummary::default();
        for (at, value) in [100.0, 3.0, 5.0, 50.0].into_iter().enumerate() {
            assert_eq!(counted.mean_within("a"), (at == 3).then_some((3.0, 1)));
            counted.add_reading(at as i64 * S, [("a", value)]);
        }
        assert_eq!((counted.mean_within("a"), counted.mean_within("b")), (Some((4.0, 2)), None));
    }

    #[test]
    fn cores_are_busy_but_for_idle_time() {
        let mut counted = CounterSummary::default();
        let parts = |busy: f64, idle: f64| {
            let all = ["cpu.all.system", "cpu.all.irq", "cpu.all.softirq", "cpu.all.steal", "cpu.all.iowait"];
            let known = [("cpu.all.user", busy), ("cpu.all.idle", idle), ("cpu.count", 2.0)];
            all.map(|name| (name, 0.0)).into_iter().chain(known)
        };
        counted.add_reading(0, parts(0.0, 0.0));
        counted.add_reading(S, parts(1.5e9, 0.5e9));
        assert_eq!(counted.busy_cores(), Some((1.5, 2.0)));
    }

    #[test]
    fn names_are_found_by_what_surrounds_them() {
        let mut counted = CounterSummary::default();
        counted.add_reading(0, ["net.eth0.rx_bytes", "net.eth0.tx_bytes", "net.lo.rx_bytes"].map(|name| (name, 1.0)));
        let found: Vec<&str> = counted.name_middles("net.", ".rx_bytes").collect();
        assert_eq!(found, ["eth0", "lo"]);
    }
}
