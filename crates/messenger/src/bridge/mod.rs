//! The six verbs over a stream of bytes: between brunt and its link, which is another process.
//!
//! The client numbers its calls; what it holds (an appearance, a watch …) has the number of the call that made it. The
//! server numbers the questions and frames that it passes to the client. Neither trusts what it reads.

mod client;
mod message;
mod presence;
mod server;
#[cfg(test)]
mod tests;

pub use client::LinkedMessenger;
#[cfg(any(test, feature = "oracle"))]
pub use message::oracle;
pub use server::serve;

use std::time::Duration;

use brunt_record::frames::FrameProtocol;

/// Frames between brunt and its link: the longest holds a batch of figures.
const PROTOCOL: FrameProtocol = FrameProtocol {
    hello: "brunt-messenger",
    version: 1,
    description: "the link between machines",
    max_length: 40 << 20,
};
/// Interval of the client's beats.
const BEAT: Duration = Duration::from_millis(500);
/// Silence after which a client counts as frozen: what it appeared as is taken back until it beats again.
const FROZEN: Duration = Duration::from_secs(2);
/// Time for which the server waits for the client's answer to a question that it passed on.
const ANSWERS: Duration = Duration::from_secs(30);
