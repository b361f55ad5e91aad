//! Slices of JSON arrays: `[0:2]`, `[-3:]`, `[::2]` (RFC 9535 2.3.4).

use serde_json::value::RawValue;

use super::raw_json;

/// The items of an array from one index up to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemSlice {
    start: Option<i64>,
    end: Option<i64>,
    step: i64,
}

impl ItemSlice {
    /// Parses `start:end:step`, each part of which may be missing; `None` on a syntax error.
    pub fn parse(text: &str) -> Option<ItemSlice> {
        let number = |part: &str| match part.trim() {
            "" => Some(None),
            digits => digits.parse().ok().map(Some),
        };
        let mut parts = text.split(':');
        let (start, end) = (number(parts.next()?)?, number(parts.next()?)?);
        let step = parts.next().map_or(Some(None), number)?.unwrap_or(1);
        parts.next().is_none().then_some(ItemSlice { start, end, step })
    }

    /// Passes the items of an array to `seen`, in the order of the slice; does nothing for other values.
    pub fn visit<'a>(self, value: &'a RawValue, seen: &mut dyn FnMut(&'a RawValue)) {
        let mut items = Vec::new();
        raw_json::for_each_item(value, |item| items.push(item));
        let [lower, upper] = self.bounds(items.len() as i64);
        // Indices within the bounds are those of items.
        let at = |index: i64| items[index as usize];
        match usize::try_from(self.step.unsigned_abs()) {
            Ok(step @ 1..) if self.step > 0 => (lower..upper).step_by(step).for_each(|index| seen(at(index))),
            Ok(step @ 1..) => (lower + 1..=upper).rev().step_by(step).for_each(|index| seen(at(index))),
            _ => {}
        }
    }

    /// Returns the lower and the upper bound of the indices: the lower is excluded and the upper included if the slice
    /// goes backwards, and the other way round if it goes forwards.
    fn bounds(self, length: i64) -> [i64; 2] {
        let from_end = |index: i64| if index < 0 { index.saturating_add(length) } else { index };
        if self.step >= 0 {
            let bound = |index: Option<i64>, default| from_end(index.unwrap_or(default)).clamp(0, length);
            return [bound(self.start, 0), bound(self.end, length)];
        }
        let bound = |index: Option<i64>, default| index.map_or(default, from_end).clamp(-1, length - 1);
        [bound(self.end, -1), bound(self.start, length - 1)]
    }
}
