//! Accuracy on real sockets, judged by the target's own log of the same run.
//!
//! Beside the test command, because these runs depend on the machine's mood; a run that the machine disturbed is
//! repeated, and the judge is always the server's record of what it did, never a clock of this process.

use crate::arguments::Arguments;

/// `truth [CASE…]`.
pub fn run(arguments: Arguments) -> Result<(), String> {
    arguments.words()?;
    Err("no case is written yet".into())
}
