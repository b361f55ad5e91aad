//! Requests sent once before and once after the run, outside of its measurements: `--before` and `--after`, read in the
//! same way by every protocol that has them.

use wire::{Asked, Complaint};

/// Compiles both lists. `compile` turns a value into a request and is also given the option that the value comes from.
///
/// # Errors
/// The first value that is not a valid request.
pub fn compiled<R>(
    asked: &Asked,
    mut compile: impl FnMut(&str, &str) -> Result<R, Complaint>,
) -> Result<(Vec<R>, Vec<R>), Complaint> {
    let mut all = |name: &str| -> Result<Vec<R>, Complaint> {
        asked.values(name).iter().map(|text| compile(text, &format!("--{name}"))).collect()
    };
    Ok((all("before")?, all("after")?))
}
