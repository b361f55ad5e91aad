//! Values that a flow captures from responses and puts into later requests.

/// Values that one user of a flow has captured, indexed like the run's variables
/// ([`crate::ProtocolConfig::variables`]).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserValues(Vec<CapturedValue>);

/// A captured value. Its buffer is kept when the value is cleared, so that the next iteration does not allocate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct CapturedValue {
    is_set: bool,
    bytes: Vec<u8>,
    /// Ends of the elements of a list, which are separated by commas; empty for a single value.
    ends: Vec<u32>,
}

impl UserValues {
    /// Empty values, for runs without a flow.
    pub const NONE: &'static UserValues = &UserValues(Vec::new());

    /// Returns a value; `None` if it is not set.
    #[inline]
    pub fn get(&self, index: u16) -> Option<&[u8]> {
        self.0.get(usize::from(index)).filter(|value| value.is_set).map(|value| &*value.bytes)
    }

    /// Returns an element of a list, counted from 0. A single value is a list of one element, or of none if it is
    /// empty.
    #[inline]
    pub fn element(&self, index: u16, nth: usize) -> Option<&[u8]> {
        let value = self.0.get(usize::from(index)).filter(|value| value.is_set)?;
        if value.ends.is_empty() {
            return (nth == 0 && !value.bytes.is_empty()).then_some(&*value.bytes);
        }
        let end = *value.ends.get(nth)? as usize;
        let from = nth.checked_sub(1).map_or(0, |before| value.ends[before] as usize + 1);
        value.bytes.get(from..end)
    }

    /// Sets a value.
    pub fn set(&mut self, index: u16, bytes: &[u8]) {
        self.set_list(index, bytes, &[]);
    }

    /// Sets a list: its elements separated by commas, and the end of each.
    pub fn set_list(&mut self, index: u16, bytes: &[u8], ends: &[u32]) {
        let index = usize::from(index);
        if self.0.len() <= index {
            self.0.resize_with(index + 1, CapturedValue::default);
        }
        let value = &mut self.0[index];
        value.is_set = true;
        value.bytes.clear();
        value.bytes.extend_from_slice(bytes);
        value.ends.clear();
        value.ends.extend_from_slice(ends);
    }

    /// Clears all values except those marked in `lasting`.
    pub fn retain(&mut self, lasting: &[bool]) {
        for (at, value) in self.0.iter_mut().enumerate() {
            value.is_set &= lasting.get(at).copied().unwrap_or(false);
        }
    }

    /// Replaces all values with those of `others`, reusing the buffers.
    pub fn copy_from(&mut self, others: &UserValues) {
        self.clear();
        for (at, other) in others.0.iter().enumerate().filter(|(_, other)| other.is_set) {
            self.set_list(at as u16, &other.bytes, &other.ends);
        }
    }

    /// Returns the ends of the elements of a list; empty if the value is not a list.
    pub fn ends(&self, index: u16) -> &[u32] {
        self.0.get(usize::from(index)).map_or(&[], |value| &value.ends)
    }

    /// Clears all values.
    pub fn clear(&mut self) {
        self.0.iter_mut().for_each(|value| value.is_set = false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_known_from_when_they_are_set_until_they_are_forgotten() {
        let mut values = UserValues::default();
        assert_eq!((values.get(3), UserValues::NONE.get(0)), (None, None));
        values.set(3, b"abc");
        values.set(1, b"");
        values.set(3, b"de");
        assert_eq!([0, 1, 2, 3, 4].map(|at| values.get(at)), [None, Some(&b""[..]), None, Some(b"de"), None]);
        values.clear();
        assert_eq!((values.get(1), values.get(3)), (None, None));
    }

    #[test]
    fn lists_have_elements_and_a_value_is_a_list_of_one() {
        let mut values = UserValues::default();
        values.set_list(0, b"a,b,c,,d", &[1, 5, 6, 8]);
        let all =
            |values: &UserValues| (0..5).map_while(|n| values.element(0, n).map(<[u8]>::to_vec)).collect::<Vec<_>>();
        assert_eq!(all(&values), [&b"a"[..], b"b,c", b"", b"d"]);
        values.set(0, b"a,b");
        assert_eq!(all(&values), [b"a,b"]);
        values.set(0, b"");
        assert_eq!(all(&values), [[0; 0]; 0]);
        values.set_list(0, b"", &[0]);
        assert_eq!(all(&values), [b""], "one that is empty");
        let mut others = UserValues::default();
        others.set(2, b"gone");
        others.copy_from(&values);
        assert_eq!((others.get(0), others.ends(0), others.get(2)), (Some(&b""[..]), &[0][..], None));
        others.set(1, b"b");
        others.retain(&[false, true]);
        assert_eq!((others.get(0), others.get(1)), (None, Some(&b"b"[..])));
        values.clear();
        assert_eq!(values.element(0, 0), None);
    }
}
