//! Complete responses, for clients that need their content.

/// Content of a response: reported by [`crate::Event::StateUpdate`] before the end of each successful exchange, if
/// requested by [`crate::ProtocolConfig::returns_content`].
#[derive(Debug, PartialEq, Eq)]
pub enum ResponseContent {
    /// The body of a response, or its equivalent in another protocol, such as a reply.
    Body(Vec<u8>),
    /// Rows of a database result.
    Rows(Vec<DatabaseRow>),
}

/// The values of a row as text; `None` is NULL.
pub type DatabaseRow = Vec<Option<Vec<u8>>>;
