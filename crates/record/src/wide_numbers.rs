//! Deserialization of 128-bit numbers from a record.
//!
//! serde cannot read `u128` and `i128` in an internally tagged enum such as [`crate::RunEvent`]. In practice, the
//! numbers in a record fit into 64 bits (those of a million requests in flight for an hour do); wider ones are read as
//! floating point with 53 bits of precision.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserializer, Error, Visitor};

/// Reads a number of any width.
pub(crate) fn read<'de, D: Deserializer<'de>, T: TryFrom<i128>>(from: D) -> Result<T, D::Error> {
    struct NumberVisitor<T>(PhantomData<T>);
    impl<T: TryFrom<i128>> NumberVisitor<T> {
        fn make<E: Error>(v: i128) -> Result<T, E> {
            T::try_from(v).map_err(|_| E::custom(format!("{v} is out of range")))
        }
    }
    impl<T: TryFrom<i128>> Visitor<'_> for NumberVisitor<T> {
        type Value = T;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a whole number")
        }
        fn visit_u64<E: Error>(self, v: u64) -> Result<T, E> {
            Self::make(i128::from(v))
        }
        fn visit_i64<E: Error>(self, v: i64) -> Result<T, E> {
            Self::make(i128::from(v))
        }
        fn visit_f64<E: Error>(self, v: f64) -> Result<T, E> {
            Self::make(v as i128)
        }
    }
    from.deserialize_any(NumberVisitor(PhantomData))
}
