//! Connection state of flow steps: the values of their user, and the rows from which values are captured.

use brunt_contract::{ProtocolError, SlotContext, UserValues};

use super::codec::PacketReader;
use crate::sql::CapturedRows;
use brunt_values::budget::MemoryBudget;

/// Marker of NULL in a text row ("Text Resultset Row").
const NULL: u8 = 0xfb;

/// The flow state of a connection.
#[derive(Debug, Default)]
pub struct MysqlFlowState {
    /// Values of the user, for statements that are sent later.
    pub values: UserValues,
    /// Set if values are captured from rows.
    pub captures_rows: bool,
    /// Random bits of the request.
    pub random: u64,
    /// Captured rows.
    pub captured: CapturedRows,
    names: Vec<String>,
}

impl MysqlFlowState {
    /// Begins an exchange.
    pub fn begin(&mut self, context: &SlotContext<'_>, looks: bool) {
        self.values.clone_from(context.values);
        (self.captures_rows, self.random, self.captured) = (looks, context.random, CapturedRows::default());
    }

    /// Handles the description of a column ("Column Definition"): catalog, schema and tables, followed by its name.
    ///
    /// # Errors
    /// Returns an error if the packet is not a column description.
    pub fn column(&mut self, packet: &[u8]) -> Result<(), ProtocolError> {
        let mut fields = PacketReader(packet);
        for _ in 0..4 {
            text(&mut fields)?;
        }
        self.names.push(String::from_utf8_lossy(text(&mut fields)?).into_owned());
        Ok(())
    }

    /// Handles the end of the column descriptions.
    pub fn columns_done(&mut self) {
        self.captured.rows.begin(std::mem::take(&mut self.names));
    }

    /// Handles a text row.
    ///
    /// # Errors
    /// Returns an error if the packet is not a row.
    pub fn row(&mut self, packet: &[u8], budget: &MemoryBudget) -> Result<(), ProtocolError> {
        if !self.captured.reserve_row(packet.len(), budget) {
            return Ok(());
        }
        let mut fields = PacketReader(packet);
        for _ in 0..self.captured.rows.columns() {
            let value = match fields.0.first() {
                Some(&NULL) => {
                    fields.byte()?;
                    None
                }
                _ => Some(text(&mut fields)?),
            };
            self.captured.rows.push_value(value);
        }
        Ok(())
    }
}

/// Reads a length-encoded string.
fn text<'a>(fields: &mut PacketReader<'a>) -> Result<&'a [u8], ProtocolError> {
    let size = fields.length_encoded()?;
    fields.bytes(usize::try_from(size).unwrap_or(usize::MAX))
}
