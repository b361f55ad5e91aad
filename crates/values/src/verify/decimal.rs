//! Exact comparison of JSON numbers.
//!
//! A double has 16 significant digits, so two different ids of twenty digits could compare as equal. Numbers of any
//! length are therefore compared digit by digit; 1, 1.0 and 10e-1 are equal.

use std::cmp::Ordering;

/// The parts of a JSON number. The exponent saturates at 128 bits, far beyond any number in use.
struct DecimalNumber<'a> {
    negative: bool,
    whole: &'a [u8],
    part: &'a [u8],
    exponent: i128,
}

/// Compares two numbers in JSON notation.
pub fn compare(a: &str, b: &str) -> Ordering {
    if a == b {
        return Ordering::Equal;
    }
    let (a, b) = (DecimalNumber::of(a), DecimalNumber::of(b));
    match (a.sign(), b.sign()) {
        (1, 1) => a.compare_magnitude(&b),
        (-1, -1) => b.compare_magnitude(&a),
        (a, b) => a.cmp(&b),
    }
}

impl<'a> DecimalNumber<'a> {
    fn of(text: &'a str) -> DecimalNumber<'a> {
        let (negative, rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (digits, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
        let held = if exponent.starts_with('-') { i128::MIN / 2 } else { i128::MAX / 2 };
        let exponent = exponent.parse::<i128>().map_or(held, |e| e.clamp(i128::MIN / 2, i128::MAX / 2));
        let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
        DecimalNumber { negative, whole: whole.as_bytes(), part: part.as_bytes(), exponent }
    }

    /// Returns the digits without leading zeros; none for zero.
    fn digits(&self) -> impl Iterator<Item = u8> {
        self.whole.iter().chain(self.part).copied().skip_while(|digit| *digit == b'0')
    }

    fn sign(&self) -> i8 {
        match self.digits().next() {
            None => 0,
            Some(_) if self.negative => -1,
            Some(_) => 1,
        }
    }

    /// Returns the number of digits before the decimal point; negative if zeros follow the point.
    fn magnitude(&self) -> i128 {
        let zeros = self.whole.iter().chain(self.part).take_while(|digit| **digit == b'0').count();
        self.whole.len() as i128 - zeros as i128 + self.exponent
    }

    /// Compares the absolute values of two numbers that are not zero.
    fn compare_magnitude(&self, other: &DecimalNumber<'_>) -> Ordering {
        self.magnitude().cmp(&other.magnitude()).then_with(|| {
            let (mut a, mut b) = (self.digits(), other.digits());
            loop {
                match (a.next(), b.next()) {
                    (None, None) => return Ordering::Equal,
                    (a, b) => match a.unwrap_or(b'0').cmp(&b.unwrap_or(b'0')) {
                        Ordering::Equal => {}
                        unequal => return unequal,
                    },
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_are_compared_by_their_value_and_all_their_digits() {
        for (a, b, order) in [
            ("1", "1.0", Ordering::Equal),
            ("1", "10e-1", Ordering::Equal),
            ("1E2", "100.00", Ordering::Equal),
            ("0", "-0.0e7", Ordering::Equal),
            ("0.001", "1e-3", Ordering::Equal),
            ("12345678901234567890123", "12345678901234567890124", Ordering::Less),
            ("12345678901234567890123", "1.2345678901234567890123e+22", Ordering::Equal),
            ("9007199254740993", "9007199254740992", Ordering::Greater),
            ("0.1", "0.10000000000000000000001", Ordering::Less),
            ("-2", "1", Ordering::Less),
            ("-2", "-1", Ordering::Less),
            ("-1", "0", Ordering::Less),
            ("0", "1e-400", Ordering::Less),
            ("1e400", "1e401", Ordering::Less),
            ("1e400", "9e399", Ordering::Greater),
            ("1e99999999999999999999999999999999999999999999", "1", Ordering::Greater),
            ("1e-99999999999999999999999999999999999999999999", "1", Ordering::Less),
        ] {
            assert_eq!(compare(a, b), order, "{a} {b}");
            assert_eq!(compare(b, a), order.reverse(), "{b} {a}");
        }
    }

    proptest! {
        #[test]
        fn as_whole_numbers_and_doubles_are(a in any::<i64>(), b in any::<i64>(), x in any::<i32>(), y in any::<i32>()) {
            prop_assert_eq!(compare(&a.to_string(), &b.to_string()), a.cmp(&b));
            let text = |n: i32| format!("{:e}", f64::from(n) / 1024.0);
            prop_assert_eq!(compare(&text(x), &text(y)), x.cmp(&y));
        }
    }
}
