//! Selection of data file rows by the number of a request. Within a run, or each of its scenarios, every request (in a
//! flow, every iteration) has its own number, so that only `random` reuses rows before all have been taken, whatever
//! the number of workers and processes.

use brunt_cause::{Complaint, complaint};
use brunt_contract::SlotContext;

/// The order in which rows are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowOrder {
    /// File order, starting over after the last row.
    #[default]
    Sequential,
    /// Each row once in random order, then again in another random order.
    Shuffle,
    /// A random row each time.
    Random,
}

/// The row selection of a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowChoice {
    /// Order of the rows.
    pub order: RowOrder,
    /// Set if the run ends after the last row.
    pub stops: bool,
    /// Set if the first row has values instead of the names of columns.
    pub no_header: bool,
}

impl RowChoice {
    /// Keywords of row selection.
    pub const WORDS: [&str; 7] = ["sequential", "shuffle", "random", "recycle", "stop", "unique", "no-header"];

    /// Parses the keywords at the end of a slot; returns the selection and the remaining text.
    ///
    /// # Errors
    /// Keywords contradict each other.
    pub fn read(words: &str) -> Result<(RowChoice, &str), Complaint> {
        let (mut order, mut end, mut unique, mut no_header) = (None, None, false, false);
        let mut rest = words.trim_end();
        while let Some((before, word)) = rest.rsplit_once(' ') {
            let twice = match word {
                "sequential" => order.replace((RowOrder::Sequential, word)).is_some(),
                "shuffle" => order.replace((RowOrder::Shuffle, word)).is_some(),
                "random" => order.replace((RowOrder::Random, word)).is_some(),
                "recycle" => end.replace(false).is_some(),
                "stop" => end.replace(true).is_some(),
                "unique" => std::mem::replace(&mut unique, true),
                "no-header" => std::mem::replace(&mut no_header, true),
                _ => break,
            };
            if twice {
                return Err(complaint!(
                    "{{csv {words}}} says twice how rows are chosen; use one of sequential, shuffle and random, \
                        one of recycle, stop and unique, and no-header once",
                    "{{csv {words}}} 重复指定了行的选取方式；sequential、shuffle、random 任选其一，recycle、stop、unique 任选其一，no-header 只写一次"
                ));
            }
            rest = before.trim_end();
        }
        let stops = unique || end == Some(true);
        let order = order.map_or(RowOrder::Sequential, |(order, _)| order);
        if unique && end == Some(false) {
            return Err(complaint!(
                "{{csv {words}}}: unique uses rows once, and recycle reuses them; leave one out",
                "{{csv {words}}}：unique 让每行只用一次，recycle 则重复使用；请去掉其中一个"
            ));
        }
        if stops && order == RowOrder::Random {
            return Err(complaint!(
                "{{csv {words}}}: random rows never run out; write shuffle for each row once in \
                random order",
                "{{csv {words}}}：随机取行永远取不完；若要乱序且每行一次，请写 shuffle"
            ));
        }
        Ok((RowChoice { order, stops, no_header }, rest))
    }

    /// Returns the row for a request, less than `rows`. Files with different `salt` have independent orders.
    #[inline]
    pub fn row(self, context: &SlotContext, rows: u64, salt: u64) -> u64 {
        // Number 0 is the trial request before the run.
        let number = context.number.saturating_sub(1);
        match self.order {
            RowOrder::Sequential => number % rows,
            RowOrder::Random => {
                let bits = scramble(context.run ^ salt ^ scramble(number));
                ((u128::from(bits) * u128::from(rows)) >> 64) as u64
            }
            RowOrder::Shuffle => {
                let pass = number / rows;
                permute(number % rows, rows, scramble(context.run ^ salt).wrapping_add(scramble(pass)))
            }
        }
    }
}

/// Permutes the numbers below `count`. Uses a Feistel network of four rounds over the next power of four, repeated
/// until the result is below `count` (Black and Rogaway, 2002), so that no permutation is kept in memory.
fn permute(number: u64, count: u64, key: u64) -> u64 {
    let bits = (u64::BITS - (count - 1).leading_zeros()).div_ceil(2).max(1);
    let mask = (1 << bits) - 1;
    let mut at = number;
    loop {
        let (mut left, mut right) = (at >> bits, at & mask);
        for round in 0..4 {
            let next = left ^ (scramble(right ^ key.rotate_left(16 * round)) & mask);
            (left, right) = (right, next);
        }
        at = left << bits | right;
        if at < count {
            return at;
        }
    }
}

/// Returns pseudorandom bits derived from `bits`.
#[inline]
pub fn scramble(mut bits: u64) -> u64 {
    brunt_measure::random::splitmix64(&mut bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(words: &str, numbers: std::ops::Range<u64>, count: u64, run: u64) -> Vec<u64> {
        let (choice, _) = RowChoice::read(&format!("u.csv.a {words}")).expect(words);
        numbers
            .map(|number| choice.row(&SlotContext { number: number + 1, run, ..SlotContext::default() }, count, 5))
            .collect()
    }

    #[test]
    fn a_shuffle_takes_each_row_once_and_then_each_once_again_in_another_order() {
        for count in [1, 2, 3, 7, 64, 1000] {
            let passes: Vec<Vec<u64>> =
                (0..3).map(|pass| rows("shuffle", pass * count..(pass + 1) * count, count, 9)).collect();
            for pass in &passes {
                let mut sorted = pass.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, (0..count).collect::<Vec<_>>(), "{count}");
            }
            let other = rows("shuffle", 0..count, count, 10);
            let differ = passes[0] != passes[1] && passes[0] != other && passes[0] != (0..count).collect::<Vec<_>>();
            assert!(differ || count < 64, "{count}");
        }
    }

    /// With 6,400 picks from 64 rows, each is picked 100 times on average; 50 to 150 is 5 standard deviations.
    #[test]
    fn random_rows_come_about_equally_often_and_repeat_with_the_run() {
        let taken = rows("random", 0..6400, 64, 3);
        for row in 0..64 {
            assert!((50..150).contains(&taken.iter().filter(|taken| **taken == row).count()), "{row}");
        }
        assert_eq!(taken, rows("random", 0..6400, 64, 3));
        assert_ne!(taken, rows("random", 0..6400, 64, 4));
    }

    #[test]
    fn words_are_read_from_the_end_and_must_agree() {
        let read = |words| RowChoice::read(words).map(|(choice, rest)| (choice.order, choice.stops, rest));
        assert_eq!(read("u.csv.a"), Ok((RowOrder::Sequential, false, "u.csv.a")));
        assert_eq!(read("my users.csv.a shuffle stop"), Ok((RowOrder::Shuffle, true, "my users.csv.a")));
        assert_eq!(read("u.csv.a unique"), Ok((RowOrder::Sequential, true, "u.csv.a")));
        assert_eq!(read("u.csv.a recycle sequential"), Ok((RowOrder::Sequential, false, "u.csv.a")));
        for (words, wanted) in [
            ("u.csv.a random shuffle", "says twice how rows are chosen"),
            ("u.csv.a stop recycle", "says twice"),
            ("u.csv.a unique recycle", "leave one out"),
            ("u.csv.a random stop", "random rows never run out"),
        ] {
            let wrong = read(words).expect_err(words);
            assert!(wrong.contains(wanted) && wrong.is_translated(), "{words}");
        }
    }
}
