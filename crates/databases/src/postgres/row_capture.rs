//! Rows from which values are captured: RowDescription and DataRow ("Message Formats"), in text format.

use brunt_contract::{EventBuffer, ProtocolError};

use super::message::BackendMessage;
use super::session::PostgresSession;

const SHORT: ProtocolError = ProtocolError(brunt_cause::postgres::short_row());

impl PostgresSession {
    /// Handles a row, or the description of the following rows.
    #[cold]
    pub(super) fn on_row(&mut self, message: &BackendMessage<'_>) -> Result<(), ProtocolError> {
        let (count, mut rest) = message.body.split_first_chunk::<2>().ok_or(SHORT)?;
        let (count, budget) = (u16::from_be_bytes(*count), &self.plan.row_budget);
        let Some((looking, _)) = self.looking.as_deref_mut() else { return Ok(()) };
        if message.kind == b'T' {
            let mut names = Vec::new();
            for _ in 0..count {
                let end = memchr::memchr(0, rest).ok_or(SHORT)?;
                names.push(String::from_utf8_lossy(&rest[..end]).into_owned());
                // Skips the table, the column, the type with its size and modifier, and the format.
                rest = rest.get(end + 1 + 18..).ok_or(SHORT)?;
            }
            looking.rows.begin(names);
            return Ok(());
        }
        self.payload += u64::from(message.size);
        if usize::from(count) != looking.rows.columns() || !looking.reserve_row(message.body.len(), budget) {
            return Ok(());
        }
        for _ in 0..count {
            let (size, behind) = rest.split_first_chunk::<4>().ok_or(SHORT)?;
            let size = usize::try_from(i32::from_be_bytes(*size)).ok();
            let (value, behind) = behind.split_at_checked(size.unwrap_or(0)).ok_or(SHORT)?;
            rest = behind;
            looking.rows.push_value(size.map(|_| value));
        }
        Ok(())
    }

    /// Reports the captured values; returns the cause if one could not be found.
    pub(super) fn report_captures(&mut self, done: &mut EventBuffer) -> Option<brunt_cause::Cause> {
        let (mut looking, random) = *self.looking.take()?;
        looking.report_captures((self.id, random), self.checks(), done).err()
    }
}
