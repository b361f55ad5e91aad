//! Conversion between seconds since 1970 and calendar dates and times in UTC.
//!
//! The date is computed from the number of days by Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms"
//! (2014), `civil_from_days`, for days from 1970 on.

/// A date and time of day in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calendar {
    /// The year, `2026`.
    pub year: u64,
    /// The month, from 1.
    pub month: u64,
    /// The day of the month, from 1.
    pub day: u64,
    /// The hour, from 0.
    pub hour: u64,
    /// The minute, from 0.
    pub minute: u64,
    /// The second, from 0.
    pub second: u64,
}

impl Calendar {
    /// Returns the date and time for a number of seconds since 1970.
    pub fn of(unix_s: u64) -> Calendar {
        let (days, second) = (unix_s / 86_400 + 719_468, unix_s % 86_400);
        let (era, of_era) = (days / 146_097, days % 146_097);
        let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted = (5 * of_year + 2) / 153;
        let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
        Calendar {
            year: year_of_era + era * 400 + u64::from(month <= 2),
            month,
            day: of_year - (153 * shifted + 2) / 5 + 1,
            hour: second / 3600,
            minute: second / 60 % 60,
            second: second % 60,
        }
    }

    /// Returns the number of days from 1970 to a date, negative for earlier dates (`days_from_civil`).
    pub fn days(year: i64, month: i64, day: i64) -> i64 {
        // Years begin in March, so that the leap day is the last day.
        let year = year - i64::from(month <= 2);
        let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
        era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
    }

    /// Returns the date: `2031-05-20`.
    pub fn date(&self) -> String {
        format!("{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }

    /// Returns the time of day: `18:07:41`.
    pub fn time(&self) -> String {
        format!("{:02}:{:02}:{:02}", self.hour, self.minute, self.second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_the_calendar() {
        for (unix_s, date, time) in [
            (0, "1970-01-01", "00:00:00"),
            (951_782_400, "2000-02-29", "00:00:00"),
            (951_868_800, "2000-03-01", "00:00:00"),
            (1_735_689_599, "2024-12-31", "23:59:59"),
            (1_790_000_000, "2026-09-21", "14:13:20"),
            (4_102_444_800, "2100-01-01", "00:00:00"),
        ] {
            let moment = Calendar::of(unix_s);
            assert_eq!((moment.date().as_str(), moment.time().as_str()), (date, time), "{unix_s}");
            let days = Calendar::days(moment.year as i64, moment.month as i64, moment.day as i64);
            assert_eq!(days, (unix_s / 86_400) as i64);
        }
    }
}
