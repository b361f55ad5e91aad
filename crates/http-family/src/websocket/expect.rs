//! The text expected in answers (`--expect-body`): the same for all, or filled with the values of the message.

use wire::{Asked, Complaint};

use super::content::{Content, SCOPE, notation};
use crate::marks::NO_SLOTS;
use values::template::{Found, Template, names, pieces};

const PLACE: &str = "--expect-body";

/// The text expected in answers.
#[derive(Debug)]
pub enum Expect {
    /// No text is expected.
    Nothing,
    /// A constant text.
    Text(Vec<u8>),
    /// A text with slots.
    Filled(String),
}

impl Expect {
    /// Reads the option; slots may refer to names defined in the messages.
    ///
    /// # Errors
    /// Fails if a slot is invalid.
    pub fn read(asked: &Asked, contents: &[Content]) -> Result<Expect, Complaint> {
        let Some(text) = asked.value("expect-body").filter(|text| !text.is_empty()) else { return Ok(Expect::Nothing) };
        let wrong = |trouble: String| Complaint::new(PLACE, trouble);
        if asked.switch(NO_SLOTS.name) {
            return notation(asked).bytes(text).map(Expect::Text).map_err(wrong);
        }
        let mut known = Vec::new();
        let messages = contents.iter().filter_map(|content| std::str::from_utf8(&content.bytes).ok());
        messages.chain([text]).for_each(|text| names(text, SCOPE, &mut known));
        let found = pieces(text, &known, SCOPE).map_err(wrong)?;
        let slots: Vec<&str> =
            found.iter().filter_map(|piece| if let Found::Slot(slot) = piece { Some(*slot) } else { None }).collect();
        if slots.iter().all(|slot| slot.starts_with("{env ")) {
            let template = Template::of_text(text, PLACE, notation(asked), SCOPE)?;
            return Ok(Expect::Text(template.is_fixed().unwrap_or_default().to_vec()));
        }
        if let Some(slot) = slots.iter().find(|slot| ["{random", "{uuid"].iter().any(|s| slot.starts_with(s))) {
            return Err(wrong(format!(
                "{slot} differs here from the one in the message, so no response would contain it; give it a name \
                    there, {{id={slot}}}, and write {{id}} here"
            )));
        }
        Ok(Expect::Filled(text.to_owned()))
    }

    /// Returns the text if it has slots.
    pub fn filled(&self) -> Option<&str> {
        if let Expect::Filled(text) = self { Some(text) } else { None }
    }
}
