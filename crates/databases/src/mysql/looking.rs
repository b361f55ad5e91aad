//! Connection state of flow steps: the values of their user, and rows that values are captured from.

use wire::{Broken, Fill, Values};

use super::codec::Fields;
use crate::sql::Looking;
use values::kept::Budget;

/// Marker of NULL in a text row ("Text Resultset Row").
const NULL: u8 = 0xfb;

/// The flow state of a connection.
#[derive(Debug, Default)]
pub struct Own {
    /// Values of the user, for statements that are sent later.
    pub values: Values,
    /// Set if rows are captured from.
    pub looks: bool,
    /// Random bits of the request.
    pub random: u64,
    /// Captured rows.
    pub looking: Looking,
    names: Vec<String>,
}

impl Own {
    /// Begins an exchange.
    pub fn begin(&mut self, fill: &Fill<'_>, looks: bool) {
        self.values.clone_from(fill.values);
        (self.looks, self.random, self.looking) = (looks, fill.random, Looking::default());
    }

    /// Handles the description of a column ("Column Definition"): catalog, schema and tables, followed by its name.
    ///
    /// # Errors
    /// The packet is not a column description.
    pub fn column(&mut self, packet: &[u8]) -> Result<(), Broken> {
        let mut fields = Fields(packet);
        for _ in 0..4 {
            text(&mut fields)?;
        }
        self.names.push(String::from_utf8_lossy(text(&mut fields)?).into_owned());
        Ok(())
    }

    /// Handles the end of the column descriptions.
    pub fn described(&mut self) {
        self.looking.rows.begin(std::mem::take(&mut self.names));
    }

    /// Handles a text row.
    ///
    /// # Errors
    /// The packet is not a row.
    pub fn row(&mut self, packet: &[u8], budget: &Budget) -> Result<(), Broken> {
        if !self.looking.row(packet.len(), budget) {
            return Ok(());
        }
        let mut fields = Fields(packet);
        for _ in 0..self.looking.rows.columns() {
            let value = match fields.0.first() {
                Some(&NULL) => {
                    fields.byte()?;
                    None
                }
                _ => Some(text(&mut fields)?),
            };
            self.looking.rows.value(value);
        }
        Ok(())
    }
}

/// Reads a length-encoded string.
fn text<'a>(fields: &mut Fields<'a>) -> Result<&'a [u8], Broken> {
    let size = fields.integer()?;
    fields.bytes(usize::try_from(size).unwrap_or(usize::MAX))
}
