//! What steps of a flow have on a connection: the values of their user, and rows that something is taken out of.

use wire::{Broken, Fill, Values};

use super::codec::Fields;
use crate::sql::Looking;
use values::kept::Budget;

/// NULL, in a row of text ("Text Resultset Row").
const NULL: u8 = 0xfb;

/// All of it.
#[derive(Debug, Default)]
pub struct Own {
    /// What the user knows by name, for statements that are sent later.
    pub values: Values,
    /// The rows are looked at.
    pub looks: bool,
    /// Random bits of the request.
    pub random: u64,
    /// What was seen of them.
    pub looking: Looking,
    names: Vec<String>,
}

impl Own {
    /// An exchange begins.
    pub fn begin(&mut self, fill: &Fill<'_>, looks: bool) {
        self.values.clone_from(fill.values);
        (self.looks, self.random, self.looking) = (looks, fill.random, Looking::default());
    }

    /// The description of a column ("Column Definition"): behind its catalog, schema and tables its name.
    ///
    /// # Errors
    /// It is none.
    pub fn column(&mut self, packet: &[u8]) -> Result<(), Broken> {
        let mut fields = Fields(packet);
        for _ in 0..4 {
            text(&mut fields)?;
        }
        self.names.push(String::from_utf8_lossy(text(&mut fields)?).into_owned());
        Ok(())
    }

    /// All columns are described.
    pub fn described(&mut self) {
        self.looking.rows.begin(std::mem::take(&mut self.names));
    }

    /// A row of texts.
    ///
    /// # Errors
    /// It is none.
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

/// A length-encoded string.
fn text<'a>(fields: &mut Fields<'a>) -> Result<&'a [u8], Broken> {
    let size = fields.integer()?;
    fields.bytes(usize::try_from(size).unwrap_or(usize::MAX))
}
