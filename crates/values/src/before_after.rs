//! Requests sent once before and once after the run, and not measured: `--before` and `--after`, read in the same way
//! by every protocol that supports them.

use brunt_contract::{ProtocolConfig, UsageError};

/// Compiles both lists. `compile` turns a value into a request; its second argument is the option that contains the
/// value.
///
/// # Errors
/// A value is not a valid request; the error names the first one.
pub fn compile_lists<R>(
    config: &ProtocolConfig,
    mut compile: impl FnMut(&str, &str) -> Result<R, UsageError>,
) -> Result<(Vec<R>, Vec<R>), UsageError> {
    let mut all = |name: &str| -> Result<Vec<R>, UsageError> {
        config.values(name).iter().map(|text| compile(text, &format!("--{name}"))).collect()
    };
    Ok((all("before")?, all("after")?))
}
