//! Values captured from a response and their storage in the user's state.

use brunt_cause::{Cause, complaint};
use brunt_contract::{ProtocolConfig, UsageError, UserState};

use super::CAPTURE;
use super::{BodyDocuments, Capture, CaptureInput};

/// A captured value.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CaptureValue {
    /// Index of the variable.
    pub variable: u16,
    /// The value.
    pub bytes: Vec<u8>,
    /// End offsets of the elements, if the value is a list.
    pub ends: Vec<u32>,
}

/// The captured values of a response: the whole state update in protocols without other user state.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CapturedValues(pub Vec<CaptureValue>);

impl CapturedValues {
    /// Stores the values in the user's state.
    pub fn store(&self, memory: &mut UserState) {
        self.0.iter().for_each(|value| memory.values.set_list(value.variable, &value.bytes, &value.ends));
    }

    /// Adds the values of more captures.
    ///
    /// # Errors
    /// A value was not found.
    pub fn add<'a>(
        &mut self,
        captures: impl IntoIterator<Item = &'a (u16, Capture)>,
        answer: &CaptureInput<'_>,
        random: u64,
    ) -> Result<(), Cause> {
        let documents = BodyDocuments::of(answer.body);
        captures.into_iter().try_for_each(|one| self.add_one(one, (answer, &documents), random))
    }

    /// Adds the value of one capture; `from` is the response and its cached documents.
    ///
    /// # Errors
    /// See [`CapturedValues::add`].
    pub fn add_one(
        &mut self,
        (variable, capture): &(u16, Capture),
        from: (&CaptureInput<'_>, &BodyDocuments<'_>),
        random: u64,
    ) -> Result<(), Cause> {
        let (bytes, ends) = capture.take_with_documents(from, random)?;
        self.0.push(CaptureValue { variable: *variable, bytes, ends });
        Ok(())
    }
}

/// Parses the captures of a request, each with the index of its variable.
///
/// # Errors
/// The source is unknown or not available in responses of this protocol, or a capture is used outside a flow.
pub fn parse_captures(
    config: &ProtocolConfig,
    ([whose, whose_zh], known): ([&str; 2], &[&str]),
) -> Result<Vec<(u16, Capture)>, UsageError> {
    let mut all = Vec::new();
    for text in config.values(CAPTURE) {
        let (name, source) = text.split_once(' ').unwrap_or((text, ""));
        let at = config.variables.iter().position(|known| known == name);
        let place = || format!("{CAPTURE} {name}");
        let at = at.ok_or_else(|| {
            UsageError::new(
                place(),
                complaint!("only works in a flow; move it to a step of one", "只能用于流程；请移到流程的步骤中"),
            )
        })?;
        let capture = Capture::parse(source).map_err(|trouble| UsageError::new(place(), trouble))?;
        if !known.contains(&capture.kind()) {
            let trouble = complaint!(
                "{whose} has no {}; use one of {}",
                "{whose_zh}没有 {}；可用的有 {}",
                capture.kind(),
                known.join(", ")
            );
            return Err(UsageError::new(place(), trouble));
        }
        all.push((at as u16, capture));
    }
    Ok(all)
}

/// Evaluates all captures on a response.
///
/// # Errors
/// A value was not found.
pub fn take_all(captures: &[(u16, Capture)], answer: &CaptureInput<'_>, random: u64) -> Result<CapturedValues, Cause> {
    let mut taken = CapturedValues::default();
    taken.add(captures, answer, random)?;
    Ok(taken)
}
