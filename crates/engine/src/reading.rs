//! Reads what workers tell: words, numbers within bounds, and causes.

use cause::Cause;

/// The next word.
pub(crate) fn word(bytes: &mut &[u8]) -> Option<u64> {
    let (first, rest) = bytes.split_first_chunk::<8>()?;
    *bytes = rest;
    Some(u64::from_le_bytes(*first))
}

/// A number of things that follow; None where they are more than may be.
pub(crate) fn number_of(bytes: &mut &[u8], at_most: usize) -> Option<usize> {
    usize::try_from(word(bytes)?).ok().filter(|number| *number <= at_most)
}

/// Why something failed; nothing where nothing is known.
pub(crate) fn cause_bytes(cause: Option<&Cause>) -> Vec<u8> {
    cause.map_or(Vec::new(), |cause| serde_json::to_vec(cause).expect("a cause is plain JSON"))
}

/// The same, read; None where it is none.
pub(crate) fn cause(bytes: &[u8]) -> Option<Option<Cause>> {
    if bytes.is_empty() { Some(None) } else { serde_json::from_slice(bytes).ok().map(Some) }
}
