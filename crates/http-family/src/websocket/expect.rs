//! The text expected in answers (`--expect-body`): the same for all answers, or filled with the values of the message.

use brunt_cause::{Complaint, complaint};
use brunt_contract::{ProtocolConfig, UsageError};

use super::content::{MessageSource, SCOPE, notation};
use crate::placeholders::NO_SLOTS;
use brunt_values::template::{SlotTextPiece, Template, collect_part_names, split_pieces};

const PLACE: &str = "--expect-body";

/// The text expected in answers.
#[derive(Debug)]
pub enum ExpectedText {
    /// No text is expected.
    None,
    /// A constant text.
    Constant(Vec<u8>),
    /// A text with slots.
    WithSlots(String),
}

impl ExpectedText {
    /// Reads the option; slots may refer to names defined in the messages.
    ///
    /// # Errors
    /// Fails if a slot is invalid.
    pub fn read(config: &ProtocolConfig, contents: &[MessageSource]) -> Result<ExpectedText, UsageError> {
        let Some(text) = config.value("expect-body").filter(|text| !text.is_empty()) else {
            return Ok(ExpectedText::None);
        };
        let wrong = |trouble: Complaint| UsageError::new(PLACE, trouble);
        if config.switch(NO_SLOTS.name) {
            return notation(config).decode(text).map(ExpectedText::Constant).map_err(wrong);
        }
        let mut known = Vec::new();
        let messages = contents.iter().filter_map(|content| std::str::from_utf8(&content.bytes).ok());
        messages.chain([text]).for_each(|text| collect_part_names(text, SCOPE, &mut known));
        let found = split_pieces(text, &known, SCOPE).map_err(wrong)?;
        let slots: Vec<&str> = found
            .iter()
            .filter_map(|piece| if let SlotTextPiece::Slot(slot) = piece { Some(*slot) } else { None })
            .collect();
        if slots.iter().all(|slot| slot.starts_with("{env ")) {
            let template = Template::parse_text(text, PLACE, notation(config), SCOPE)?;
            return Ok(ExpectedText::Constant(template.fixed_bytes().unwrap_or_default().to_vec()));
        }
        if let Some(slot) = slots.iter().find(|slot| ["{random", "{uuid"].iter().any(|s| slot.starts_with(s))) {
            return Err(wrong(complaint!(
                "{slot} differs here from the one in the message, so no response would contain it; give it a name \
                    there, {{id={slot}}}, and write {{id}} here",
                "{slot} 在这里的值与消息中的不同，响应不会含有它；请在消息中命名，写作 {{id={slot}}}，在这里写 {{id}}"
            )));
        }
        Ok(ExpectedText::WithSlots(text.to_owned()))
    }

    /// Returns the text if it has slots.
    pub fn filled(&self) -> Option<&str> {
        if let ExpectedText::WithSlots(text) = self { Some(text) } else { None }
    }
}
