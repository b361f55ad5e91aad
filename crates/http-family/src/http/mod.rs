//! HTTP as users mean it: `http://` and `https://`, in version 1.1 or 2 (`--http`), one protocol of the program.
//!
//! What is asked is prepared once, by [`crate::http1`]; for HTTP/2 each request also gets its header list. Which of the
//! two a connection speaks is known when it stands: by the option, or by what ALPN chose. Left out: the upgrade from 1.1
//! to 2 (removed by RFC 9113 3.1), HTTP/3.

mod dialogue;
#[cfg(test)]
mod flow_tests;
#[cfg(test)]
mod jar_tests;
mod options;
#[cfg(test)]
mod tests;

pub use dialogue::{Http, HttpDialogue};
