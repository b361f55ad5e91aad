//! Code shared by several protocols: texts with slots, captures of response values, checks of responses, and response
//! bytes kept under one budget.

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
