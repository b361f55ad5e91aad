//! Options of single URLs of a run, for protocols that support them
//! ([`brunt_contract::ProtocolDescription::url_options`]).

use brunt_cause::complaint;
use brunt_contract::{ProtocolConfig, UsageError};

/// Reads the options of the URL with this index, which must be among `known`; errors name the URL. Returns `None` if
/// the URL has no options of its own.
///
/// # Errors
/// An option is not in `known`, or `read` fails.
pub fn read_overrides<W>(
    config: &ProtocolConfig,
    index: usize,
    known: &[&str],
    mut read: impl FnMut(&ProtocolConfig) -> Result<W, UsageError>,
) -> Result<Option<W>, UsageError> {
    let Some(alone) = config.for_url(index) else { return Ok(None) };
    let place = |option: &str| format!("URL {}, {option}", index + 1);
    match config.url_options[index].keys().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(UsageError::new(
            place(name),
            complaint!(
                "applies to the whole run; put it next to the URLs, not \
            inside one",
                "作用于整个压测；请写在各 URL 旁，而不是某个 URL 内"
            ),
        )),
        None => read(&alone).map(Some).map_err(|c| UsageError::new(place(&c.location), c.problem)),
    }
}
