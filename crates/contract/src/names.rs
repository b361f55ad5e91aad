//! Names of a run's requests in its reports.

use std::collections::HashMap;

/// Maximum number of distinct names; the requests of all further ones share the row [`OTHER`].
pub const MAX_NAMES: usize = 1000;
/// Name shared by all requests whose own names come after the first [`MAX_NAMES`].
pub const OTHER: &str = "(other)";
/// Maximum length of a name, in characters: it heads a row of a table.
const MAX_NAME_CHARS: usize = 80;

/// Names of a run's requests; requests with equal names share a row in reports.
#[derive(Clone, Debug, Default)]
pub struct RequestNames {
    list: Vec<String>,
    index_by_name: HashMap<String, u16>,
    /// Index of each request's name; empty while all requests have the first name.
    index_of_request: Vec<u16>,
    requests: usize,
}

impl RequestNames {
    /// Adds the name of the next request.
    pub fn add(&mut self, name: &str) {
        let index = self.intern(name);
        if index > 0 && self.index_of_request.is_empty() {
            self.index_of_request = vec![0; self.requests];
        }
        if index > 0 || !self.index_of_request.is_empty() {
            self.index_of_request.push(index);
        }
        self.requests += 1;
    }

    /// Registers the name of requests that are made during the run, such as the resources of a page; returns its
    /// index.
    pub fn intern(&mut self, name: &str) -> u16 {
        let name = shortened(name);
        match self.index_by_name.get(&*name) {
            Some(index) => *index,
            None if self.list.len() < MAX_NAMES => self.list_name(&name),
            None => self.index_by_name.get(OTHER).copied().unwrap_or_else(|| self.list_name(OTHER)),
        }
    }

    fn list_name(&mut self, name: &str) -> u16 {
        let index = self.list.len() as u16;
        self.list.push(name.to_owned());
        self.index_by_name.insert(name.to_owned(), index);
        index
    }

    /// Returns all names, in the order of their first requests.
    pub fn list(&self) -> &[String] {
        &self.list
    }

    /// Returns the index of a request's name; 0 if all requests share one.
    #[inline]
    pub fn index_of(&self, request: usize) -> u16 {
        self.index_of_request.get(request).copied().unwrap_or(0)
    }
}

/// Returns the name on one line, truncated to [`MAX_NAME_CHARS`] characters.
fn shortened(name: &str) -> String {
    let words: Vec<&str> = name.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(MAX_NAME_CHARS) {
        None => line,
        Some(_) => line.chars().take(MAX_NAME_CHARS - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_share_a_row_and_one_name_costs_nothing() {
        let mut names = RequestNames::default();
        (0..5).for_each(|_| names.add("GET /"));
        assert_eq!((names.list(), names.index_of_request.capacity()), (&["GET /".to_owned()][..], 0));
        for name in ["POST  /\n x", "GET /", "POST /  x"] {
            names.add(name);
        }
        assert_eq!(names.list(), ["GET /", "POST / x"]);
        assert_eq!((0..9).map(|request| names.index_of(request)).collect::<Vec<_>>(), [0, 0, 0, 0, 0, 1, 0, 1, 0]);
    }

    #[test]
    fn beyond_a_thousand_names_the_rest_share_one() {
        let mut names = RequestNames::default();
        (0..MAX_NAMES + 50).for_each(|n| names.add(&format!("GET /{n}")));
        names.add("GET /7");
        assert_eq!((names.list().len(), names.list().last().map(String::as_str)), (MAX_NAMES + 1, Some(OTHER)));
        assert_eq!(
            (names.index_of(MAX_NAMES - 1), names.index_of(MAX_NAMES), names.index_of(MAX_NAMES + 49)),
            (999, 1000, 1000)
        );
        assert_eq!(names.index_of(MAX_NAMES + 50), 7, "a name that has a row keeps it");
    }

    #[test]
    fn long_names_are_cut() {
        let mut names = RequestNames::default();
        names.add(&"é".repeat(100));
        assert_eq!(names.list()[0].chars().count(), MAX_NAME_CHARS);
        assert!(names.list()[0].ends_with('…'));
    }
}
