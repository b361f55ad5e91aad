//! What protocols share and none of them owns: texts with slots, values captured out of responses, what a response must hold, and what is
//! kept of it within one bound.

pub mod before_after;
pub mod beside;
pub mod capture;
pub mod file;
pub mod kept;
pub mod pattern;
pub mod percent;
pub mod pipe;
pub mod span;
pub mod template;
pub mod url_overrides;
pub mod verify;
pub mod watch;
pub mod weight;
