//! The pages of experiments that are going, each kept for as long as making it costs next to nothing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::problem::Problem;

/// A page as last made.
#[derive(Clone)]
struct LivePage {
    text: Arc<str>,
    /// Size of the record from which it was made.
    bytes: u64,
    made: Instant,
    took: Duration,
}

/// The pages by the ids of their experiments.
#[derive(Default)]
pub struct LivePages(Mutex<HashMap<String, LivePage>>);

impl LivePages {
    /// Returns the page of an experiment whose record has this size, or an earlier one if it was made a moment ago.
    ///
    /// # Errors
    /// Returns the error of `make`.
    pub fn page(
        &self,
        id: &str,
        bytes: u64,
        make: impl FnOnce() -> Result<Arc<str>, Problem>,
    ) -> Result<Arc<str>, Problem> {
        let known = self.lock().get(id).cloned();
        if let Some(known) = known.filter(|page| page.bytes == bytes || page.made.elapsed() < lasts(page.took)) {
            return Ok(known.text);
        }
        let begun = Instant::now();
        let text = make()?;
        let page = LivePage { text: Arc::clone(&text), bytes, made: Instant::now(), took: begun.elapsed() };
        self.lock().insert(id.to_owned(), page);
        Ok(text)
    }

    /// Forgets the page of an experiment that has ended.
    pub fn forget(&self, id: &str) {
        self.lock().remove(id);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, LivePage>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns for how long a page is shown that took so long to make: whoever watches must not disturb what is measured by
/// more than a hundredth of a core.
fn lasts(took: Duration) -> Duration {
    (took * 100).max(Duration::from_secs(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_takes_long_is_made_seldom() {
        let lasts = |ms| lasts(Duration::from_millis(ms)).as_millis();
        assert_eq!((lasts(0), lasts(5), lasts(200)), (1000, 1000, 20_000));
    }

    #[test]
    fn what_did_not_grow_is_not_made_again_and_what_was_forgotten_is() {
        let pages = LivePages::default();
        let page = |bytes, text: &str| pages.page("a", bytes, || Ok(text.into())).unwrap().to_string();
        assert_eq!((page(1, "x"), page(1, "y")), ("x".to_owned(), "x".to_owned()));
        pages.forget("a");
        assert_eq!(page(1, "z"), "z");
        assert!(pages.page("b", 1, || Err(Problem::no_experiment())).is_err());
        assert_eq!(&*pages.page("b", 1, || Ok("w".into())).unwrap(), "w");
    }
}
