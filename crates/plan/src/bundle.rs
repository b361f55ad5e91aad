//! What a plan names and does not hold: files and variables of the environment, as they were read where the plan was made. They
//! travel with it, so that a process or a machine that has none of them prepares the very same requests.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Contents by the name under which they were asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bundle {
    /// Files, by their paths as written.
    pub files: BTreeMap<String, Arc<[u8]>>,
    /// Variables of the environment.
    pub variables: BTreeMap<String, String>,
}

impl Bundle {
    /// The most bytes that travel with a plan.
    pub const BOUND: u64 = 1 << 30;

    /// How many bytes its files have.
    pub fn bytes(&self) -> u64 {
        self.files.values().map(|content| content.len() as u64).sum()
    }

    /// Refuses what is too much to travel.
    ///
    /// # Errors
    /// How large it is, and what may be.
    pub fn check(&self) -> Result<(), String> {
        if self.bytes() <= Bundle::BOUND {
            return Ok(());
        }
        let largest = self.files.iter().max_by_key(|(_, content)| content.len()).map_or("", |(path, _)| path);
        Err(format!(
            "every process gets the files of the plan, which are {} MiB, of at most {} MiB; use smaller ones than {largest}, or \
             leave it out",
            self.bytes().div_ceil(1 << 20),
            Bundle::BOUND >> 20
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much_to_travel_is_told_with_its_largest_file() {
        let mut bundle = Bundle::default();
        assert_eq!(bundle.check(), Ok(()));
        let half: Arc<[u8]> = std::iter::repeat_n(0, 1 << 29).collect();
        for name in ["a", "b"] {
            bundle.files.insert(name.into(), Arc::clone(&half));
        }
        assert_eq!((bundle.bytes(), bundle.check()), (Bundle::BOUND, Ok(())));
        bundle.files.insert("c".into(), Arc::from([1]));
        let said = bundle.check().expect_err("one byte too many");
        assert!(said.contains("are 1025 MiB, of at most 1024 MiB; use smaller ones than b"), "{said}");
    }
}
