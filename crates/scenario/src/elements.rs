//! The elements of a value that a `for-each` step runs through: those of a list, or the items of a JSON array.

use std::borrow::Cow;

use brunt_contract::UserValues;
use serde_json::value::RawValue;

/// Returns an element of a value, counted from 0. A value that is neither a list nor a JSON array has one element, or
/// none if it is empty. Strings of an array are taken without their quotes, its other items as they are written.
pub(crate) fn element(values: &UserValues, index: u16, nth: usize) -> Option<Cow<'_, [u8]>> {
    let whole = values.get(index)?;
    if !values.ends(index).is_empty() || !whole.trim_ascii_start().starts_with(b"[") {
        return values.element(index, nth).map(Cow::Borrowed);
    }
    // Read again for each element: a step takes far longer.
    let Ok(items) = serde_json::from_slice::<Vec<&RawValue>>(whole) else {
        return values.element(index, nth).map(Cow::Borrowed);
    };
    let item = items.get(nth)?.get();
    Some(match serde_json::from_str::<String>(item) {
        Ok(text) => Cow::Owned(text.into_bytes()),
        Err(_) => Cow::Borrowed(item.as_bytes()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_arrays_and_single_values_have_elements() {
        let all = |bytes: &[u8], ends: &[u32]| {
            let mut values = UserValues::default();
            values.set_list(1, bytes, ends);
            let text = |nth| element(&values, 1, nth).map(|element| String::from_utf8_lossy(&element).into_owned());
            (0..9).map_while(text).collect::<Vec<_>>()
        };
        assert_eq!(all(b"a,b,c", &[1, 5]), ["a", "b,c"]);
        assert_eq!(
            all(br#" [1, "a\u00e9,\"", {"b": [2]}, [3, 4], null]"#, &[]),
            ["1", "a\u{e9},\"", r#"{"b": [2]}"#, "[3, 4]", "null"]
        );
        assert_eq!(all(b"[]", &[]), [""; 0]);
        assert_eq!(all(b"[a, b]", &[]), ["[a, b]"], "no JSON");
        assert_eq!(all(b"[1,2]", &[5]), ["[1,2]"], "the only element of a list");
        assert_eq!(all(b"x", &[]), ["x"]);
        assert_eq!(all(b"", &[]), [""; 0]);
        assert_eq!(element(&UserValues::default(), 1, 0), None);
    }
}
