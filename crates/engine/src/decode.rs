//! Decoding of worker messages: words, bounded numbers, and causes.

use brunt_cause::Cause;

/// Reads the next word.
pub(crate) fn word(bytes: &mut &[u8]) -> Option<u64> {
    let (first, rest) = bytes.split_first_chunk::<8>()?;
    *bytes = rest;
    Some(u64::from_le_bytes(*first))
}

/// Reads the number of items that follow; `None` if it exceeds `at_most`.
pub(crate) fn number_of(bytes: &mut &[u8], at_most: usize) -> Option<usize> {
    usize::try_from(word(bytes)?).ok().filter(|number| *number <= at_most)
}

/// Encodes a cause; no bytes if there is none.
pub(crate) fn cause_bytes(cause: Option<&Cause>) -> Vec<u8> {
    cause.map_or(Vec::new(), |cause| serde_json::to_vec(cause).expect("a cause is plain JSON"))
}

/// Decodes a cause, if there is one; `None` if the bytes are malformed.
pub(crate) fn cause(bytes: &[u8]) -> Option<Option<Cause>> {
    if bytes.is_empty() { Some(None) } else { serde_json::from_slice(bytes).ok().map(Some) }
}
