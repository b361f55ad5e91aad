//! What a session needs for few of its exchanges.

use std::sync::Arc;

use super::codec::Head;
use super::filled::FilledWith;
use super::judge::Judge;
use super::request::Recipe;
use super::withheld::Withheld;
use values::kept::Kept;

/// What most exchanges never need.
#[derive(Debug, Default)]
pub(super) struct Rare {
    /// A head that is not whole yet; later the beginning of an answer that may become an example.
    pub(super) kept: Kept,
    /// How far that head was read.
    pub(super) head: Head,
    /// Bytes of interim answers so far.
    pub(super) interim: usize,
    /// The recipe of a request that is not in the list (a redirect's).
    pub(super) own: Option<Arc<Recipe>>,
    /// What a request with slots was filled from, where redirects are made from it.
    pub(super) filled: Option<FilledWith>,
    /// The body, where it waits for the server to ask for it.
    pub(super) withheld: Withheld,
    /// What was seen of the answer.
    pub(super) judge: Judge,
}
