//! HTTP/2 requests with slots. Constant fields are listed before the run like those of any other request; fields with
//! slots follow as literals that the peer does not index.

use brunt_cause::complaint;
use brunt_contract::{SlotContext, Trace, UsageError};

use super::hpack::{HeaderList, HpackEncoder, Lexicon, named, value};
use crate::placeholders::{EncodedPiece, Placeholders};
use brunt_values::template::{MOST_MARKS, Template, append_decimal};

/// The template of a request with slots.
#[derive(Debug)]
pub struct Http2Template {
    /// The values of the fields with slots, with a mark after each, and then the body.
    template: Template,
    /// The encoded names of those fields, pseudo-header fields first; an empty name means that the field is sent
    /// elsewhere.
    names: Box<[Box<[u8]>]>,
    /// Number of pseudo-header fields in `names`.
    pseudo: usize,
    /// The fields without slots; pseudo-header fields are in the request's list.
    rest: HeaderList,
    /// The encoded name of `content-length`, if slots decide its value.
    length: Option<Box<[u8]>>,
    /// Set if the template holds the body.
    pub body: bool,
}

/// The slot values of one request, in a buffer that is reused for the next.
#[derive(Debug, Default)]
pub struct Http2SlotValues {
    bytes: Vec<u8>,
    /// End offset of each field's value.
    ends: Vec<usize>,
}

impl Http2Template {
    /// Returns the trace context that the request carries.
    pub fn trace(&self, context: &SlotContext) -> Option<Trace> {
        self.template.trace(context)
    }

    /// Creates the template from fields (pseudo-header fields first) and a body with placeholders, and returns it with
    /// the list of the pseudo-header fields without slots. With `jar`, cookies are sent with each request.
    ///
    /// # Errors
    /// Fails if a slot is invalid.
    pub fn new(
        fields: &[(String, &str)],
        body: &[u8],
        jar: bool,
        lexicon: &mut Lexicon,
        marks: &mut Placeholders,
    ) -> Result<(HeaderList, Http2Template), UsageError> {
        let is_pseudo = |name: &str| name.starts_with(':');
        let (mut length, mut filled, mut fixed) = (None, Vec::new(), Vec::new());
        for (name, text) in fields {
            match &marks.split(text.as_bytes())[..] {
                [EncodedPiece::Length] => length = Some(named(name)),
                pieces if pieces.iter().any(|piece| matches!(piece, EncodedPiece::Slot(_))) => {
                    filled.push((name, *text))
                }
                _ if jar && name == "cookie" => {}
                _ => fixed.push((name.as_str(), *text)),
            }
        }
        if filled.len() > MOST_MARKS {
            let trouble = complaint!(
                "more than {MOST_MARKS} headers have slots; use fewer",
                "含占位符的头部超过 {MOST_MARKS} 个；请减少"
            );
            return Err(UsageError::new("--header", trouble));
        }
        let varies = marks.occur_in(body);
        let texts: Vec<Vec<EncodedPiece<'_>>> = filled.iter().map(|(_, text)| marks.split(text.as_bytes())).collect();
        let body = if varies { marks.split(body) } else { Vec::new() };
        let template = marks.template(|building| {
            for pieces in &texts {
                pieces.iter().try_for_each(|piece| building.piece(piece))?;
                building.mark();
            }
            body.iter().try_for_each(|piece| building.piece(piece))
        })?;
        let pseudo = filled.iter().filter(|(name, _)| is_pseudo(name)).count();
        let list = lexicon.list(fixed.iter().copied().filter(|(name, _)| is_pseudo(name)));
        let rest = lexicon.list(fixed.iter().copied().filter(|(name, _)| !is_pseudo(name)));
        // A named value of a cookie is available to later slots, even if the cookie is sent elsewhere.
        let name = |name: &str| if jar && name == "cookie" { Box::default() } else { named(name) };
        let names = filled.iter().map(|(text, _)| name(text)).collect();
        Ok((list, Http2Template { template, names, pseudo, rest, length, body: varies }))
    }

    /// Fills the slots of one request.
    #[inline]
    pub fn fill(&self, context: &SlotContext, said: &mut Http2SlotValues) {
        said.bytes.clear();
        said.ends.resize(self.names.len(), 0);
        self.template.fill_marked(context, &mut said.bytes, &mut said.ends);
    }

    /// Appends the head; `list` holds the pseudo-header fields without slots.
    pub fn head(
        &self,
        said: &Http2SlotValues,
        list: &HeaderList,
        lexicon: &Lexicon,
        encoder: &mut HpackEncoder,
        out: &mut Vec<u8>,
    ) {
        encoder.write(lexicon, list, out);
        self.fields(said, 0..self.pseudo, out);
        encoder.write(lexicon, &self.rest, out);
        self.fields(said, self.pseudo..self.names.len(), out);
        if let Some(name) = &self.length {
            out.extend_from_slice(name);
            // The number has so few digits that their length takes one byte.
            let at = out.len();
            out.push(0);
            append_decimal(self.body_of(said).len() as u64, out);
            out[at] = (out.len() - at - 1) as u8;
        }
    }

    fn fields(&self, said: &Http2SlotValues, which: std::ops::Range<usize>, out: &mut Vec<u8>) {
        for at in which {
            let from = if at == 0 { 0 } else { said.ends[at - 1] };
            if self.names[at].is_empty() {
                continue;
            }
            out.extend_from_slice(&self.names[at]);
            value(said.bytes[from..said.ends[at]].trim_ascii(), out);
        }
    }

    /// Returns the body.
    pub fn body_of<'a>(&self, said: &'a Http2SlotValues) -> &'a [u8] {
        let from = if self.names.is_empty() { 0 } else { said.ends[self.names.len() - 1] };
        &said.bytes[from..]
    }
}
