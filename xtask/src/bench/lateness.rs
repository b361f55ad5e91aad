//! How late the requests of an open load really arrive: the built-in target notes each arrival in nanoseconds, and the
//! schedule of equal gaps is laid under the notes as early as they allow.

use super::Settings;

pub(super) fn run(settings: &Settings) -> Result<(), String> {
    if settings.brunt.is_none() {
        println!("left out: the target is part of brunt, which is not here");
        return Ok(());
    }
    Err("the target's log of arrivals is not written yet".into())
}
