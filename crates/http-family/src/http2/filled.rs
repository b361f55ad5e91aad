//! A request with slots as HTTP/2 says it: fields that do not change are listed before the run as those of any other request,
//! fields with slots follow them as texts that the peer shall not remember.

use wire::{Complaint, Fill, Trace};

use super::hpack::{Encoder, Lexicon, List, named, value};
use crate::marks::{Marks, Piece};
use values::template::{MOST_MARKS, Template, decimal};

/// What such a request is made from.
#[derive(Debug)]
pub struct Filled {
    /// The values of the fields with slots, a mark behind each, and then the body.
    template: Template,
    /// The beginnings of those fields, pseudo-fields first; empty: it is not said here.
    names: Box<[Box<[u8]>]>,
    /// How many of them are pseudo-fields.
    pseudo: usize,
    /// Fields without slots; pseudo-fields are in the list of the request.
    rest: List,
    /// The beginning of `content-length`, where the slots decide it.
    length: Option<Box<[u8]>>,
    /// The template holds the body.
    pub body: bool,
}

/// What was filled for one request; its memory serves the next.
#[derive(Debug, Default)]
pub struct Said {
    bytes: Vec<u8>,
    /// Where the value of each field ends.
    ends: Vec<usize>,
}

impl Filled {
    /// The trace that it says it belongs to.
    pub fn trace(&self, fill: &Fill) -> Option<Trace> {
        self.template.trace(fill)
    }

    /// From fields, pseudo-fields first, and a body, in which marks stand; `jar`: cookies are said with each request. Also the list of the pseudo-fields without slots.
    ///
    /// # Errors
    /// What is wrong with a slot.
    pub fn new(
        fields: &[(String, &str)],
        body: &[u8],
        jar: bool,
        lexicon: &mut Lexicon,
        marks: &mut Marks,
    ) -> Result<(List, Filled), Complaint> {
        let is_pseudo = |name: &str| name.starts_with(':');
        let (mut length, mut filled, mut fixed) = (None, Vec::new(), Vec::new());
        for (name, text) in fields {
            match &marks.split(text.as_bytes())[..] {
                [Piece::Length] => length = Some(named(name)),
                pieces if pieces.iter().any(|piece| matches!(piece, Piece::Slot(_))) => filled.push((name, *text)),
                _ if jar && name == "cookie" => {}
                _ => fixed.push((name.as_str(), *text)),
            }
        }
        if filled.len() > MOST_MARKS {
            let trouble = format!("more than {MOST_MARKS} headers have slots; use fewer");
            return Err(Complaint::new("--header", trouble));
        }
        let varies = marks.are_in(body);
        let texts: Vec<Vec<Piece<'_>>> = filled.iter().map(|(_, text)| marks.split(text.as_bytes())).collect();
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
        // What named values of a cookie are is known to what stands behind it, also where it is said elsewhere.
        let name = |name: &str| if jar && name == "cookie" { Box::default() } else { named(name) };
        let names = filled.iter().map(|(text, _)| name(text)).collect();
        Ok((list, Filled { template, names, pseudo, rest, length, body: varies }))
    }

    /// Fills the slots of one request.
    #[inline]
    pub fn fill(&self, fill: &Fill, said: &mut Said) {
        said.bytes.clear();
        said.ends.resize(self.names.len(), 0);
        self.template.fill_marked(fill, &mut said.bytes, &mut said.ends);
    }

    /// Appends the head; `list` are the pseudo-fields without slots.
    pub fn head(&self, said: &Said, list: &List, lexicon: &Lexicon, encoder: &mut Encoder, out: &mut Vec<u8>) {
        encoder.write(lexicon, list, out);
        self.fields(said, 0..self.pseudo, out);
        encoder.write(lexicon, &self.rest, out);
        self.fields(said, self.pseudo..self.names.len(), out);
        if let Some(name) = &self.length {
            out.extend_from_slice(name);
            // Of digits there are so few that their length is one byte.
            let at = out.len();
            out.push(0);
            decimal(self.said_body(said).len() as u64, out);
            out[at] = (out.len() - at - 1) as u8;
        }
    }

    fn fields(&self, said: &Said, which: std::ops::Range<usize>, out: &mut Vec<u8>) {
        for at in which {
            let from = if at == 0 { 0 } else { said.ends[at - 1] };
            if self.names[at].is_empty() {
                continue;
            }
            out.extend_from_slice(&self.names[at]);
            value(said.bytes[from..said.ends[at]].trim_ascii(), out);
        }
    }

    /// The body.
    pub fn said_body<'a>(&self, said: &'a Said) -> &'a [u8] {
        let from = if self.names.is_empty() { 0 } else { said.ends[self.names.len() - 1] };
        &said.bytes[from..]
    }
}
