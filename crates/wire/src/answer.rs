//! Answers, for whoever wants them whole.

/// What an answer holds: told by [`crate::Event::Learnt`] before the end of each exchange that succeeded, where they were asked for
/// ([`crate::Asked::answers`]).
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// The body of a response, or what another protocol has in its place: a reply.
    Body(Vec<u8>),
    /// The rows of a database.
    Rows(Vec<Row>),
}

/// The values of a row as text; None is NULL.
pub type Row = Vec<Option<Vec<u8>>>;
