//! Values that a flow takes out of answers and puts into later requests.

/// What one user knows by name in a flow: values by the index of their names, in the order of the run's variables
/// ([`crate::Asked::variables`]).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values(Vec<Value>);

/// Its memory stays when it is forgotten, so that the next iteration allocates nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Value {
    known: bool,
    bytes: Vec<u8>,
}

impl Values {
    /// None known; where nobody asks for a value of a run without a flow.
    pub const NONE: &'static Values = &Values(Vec::new());

    /// A value; None: it is not known.
    #[inline]
    pub fn get(&self, index: u16) -> Option<&[u8]> {
        self.0.get(usize::from(index)).filter(|value| value.known).map(|value| &*value.bytes)
    }

    /// It is this from now on.
    pub fn set(&mut self, index: u16, bytes: &[u8]) {
        let index = usize::from(index);
        if self.0.len() <= index {
            self.0.resize_with(index + 1, Value::default);
        }
        let value = &mut self.0[index];
        value.known = true;
        value.bytes.clear();
        value.bytes.extend_from_slice(bytes);
    }

    /// None of them is known any more.
    pub fn forget(&mut self) {
        self.0.iter_mut().for_each(|value| value.known = false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_known_from_when_they_are_set_until_they_are_forgotten() {
        let mut values = Values::default();
        assert_eq!((values.get(3), Values::NONE.get(0)), (None, None));
        values.set(3, b"abc");
        values.set(1, b"");
        values.set(3, b"de");
        assert_eq!([0, 1, 2, 3, 4].map(|at| values.get(at)), [None, Some(&b""[..]), None, Some(b"de"), None]);
        values.forget();
        assert_eq!((values.get(1), values.get(3)), (None, None));
    }
}
