//! What is wished of one URL of a run alone, for protocols whose URLs may have options of their own
//! ([`wire::About::options_of_one_url`]).

use wire::{Asked, Complaint};

/// Reads what is asked of the URL of this index by its own options, which must be among `known`; a complaint names the
/// URL. None: it has no options of its own.
///
/// # Errors
/// An option that holds for the whole run, or what `read` complains of.
pub fn wished<W>(
    asked: &Asked,
    index: usize,
    known: &[&str],
    mut read: impl FnMut(&Asked) -> Result<W, Complaint>,
) -> Result<Option<W>, Complaint> {
    let Some(alone) = asked.alone(index) else { return Ok(None) };
    let place = |option: &str| format!("URL {}, {option}", index + 1);
    match asked.own[index].keys().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(Complaint::new(
            place(name),
            "applies to the whole run; write it next to the URLs, not \
            inside one",
        )),
        None => read(&alone).map(Some).map_err(|c| Complaint::new(place(&c.place), c.trouble)),
    }
}
