//! Which values of its user a request is made of, for the examples of failures and for `--debug`.

use plan::Plan;
use wire::Values;

/// So many values of one request are told, and so many bytes of each.
const MOST: usize = 32;
const BYTES: usize = 256;

/// A value by its name, or its beginning; None: it was not known.
pub type Used = (String, Option<Vec<u8>>);

/// The values that a request to the URL of this index is made of.
pub(crate) fn used(plan: &Plan, url: usize, values: &Values) -> Vec<Used> {
    let Some(asked) = plan.urls.get(url) else { return Vec::new() };
    let names = plan.variables();
    let used = plan::flow::values_of(asked, &plan.options, names).into_iter().take(MOST);
    used.map(|at| {
        let value = values.get(at).map(beginning);
        (names[usize::from(at)].clone(), value)
    })
    .collect()
}

/// The beginning of a value; it says where more follows.
fn beginning(value: &[u8]) -> Vec<u8> {
    let cut = &value[..value.len().min(BYTES)];
    if cut.len() < value.len() { [cut, "…".as_bytes()].concat() } else { cut.to_vec() }
}
