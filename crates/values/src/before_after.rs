//! What is said once before the run and once after it, outside of its figures: `--before` and `--after`, which every
//! protocol that has them reads in the same way.

use wire::{Asked, Complaint};

/// Both lists, each value made into a request by `compile`, which is also told the option it is from.
///
/// # Errors
/// The first value that cannot be one.
pub fn compiled<R>(
    asked: &Asked,
    mut compile: impl FnMut(&str, &str) -> Result<R, Complaint>,
) -> Result<(Vec<R>, Vec<R>), Complaint> {
    let mut all = |name: &str| -> Result<Vec<R>, Complaint> {
        asked.values(name).iter().map(|text| compile(text, &format!("--{name}"))).collect()
    };
    Ok((all("before")?, all("after")?))
}
