//! Options that one URL of a run may have for itself, each named in one place.

use super::judge;
use crate::resources;
use values::capture::CAPTURE;

/// The options that one URL of a run may have for itself: those that make its request.
pub const OF_ONE_URL: &[&str] =
    &joined::<24>(&[OF_REQUEST, OF_RESPONSE, &["location", resources::FROM, resources::MAY_FAIL]]);

/// Of these, those that say what its response must hold and what becomes of it: a URL that has one is judged apart from the others.
pub const OF_RESPONSE: &[&str] = &joined::<8>(&[judge::CHECKS, &["redirects", resources::RESOURCES, CAPTURE]]);

/// And those that make the request.
const OF_REQUEST: &[&str] = &[
    "header",
    "method",
    "data",
    "data-raw",
    "data-file",
    "json",
    "form",
    "form-string",
    "request-target",
    "user",
    "bearer",
    "cookie",
    "expect-continue",
];

/// Lists one behind the other; `N`: how long they are together.
const fn joined<const N: usize>(lists: &[&[&'static str]]) -> [&'static str; N] {
    let (mut all, mut at, mut list) = ([""; N], 0, 0);
    while list < lists.len() {
        let mut next = 0;
        while next < lists[list].len() {
            all[at] = lists[list][next];
            (at, next) = (at + 1, next + 1);
        }
        list += 1;
    }
    assert!(at == N, "as long as it says");
    all
}
