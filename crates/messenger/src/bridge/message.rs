//! The messages on the bridge, and their encoding: a number and a kind in the frame, fields with their lengths behind it.

use std::io::{self, Read, Write};

use super::PROTOCOL;
use crate::{FrameId, Presence};

/// A message; the number beside it is that of a call, or of what was passed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Message {
    // From the client.
    Appear(Presence),
    Watch,
    Answer(String),
    Ask {
        address: String,
        within_ms: u64,
        question: Vec<u8>,
    },
    Deliver {
        id: FrameId,
        within_ms: u64,
        frame: Vec<u8>,
    },
    Receive(String),
    /// What the call with this number holds is dropped.
    Release,
    /// The answer to a question that was passed on.
    Reply(Vec<u8>),
    /// Whether a frame that was passed on is safe.
    Kept(bool),
    Beat,
    // From the server.
    Done,
    Failed(String),
    Result(Vec<u8>),
    /// Of a watch.
    Presence {
        presence: Presence,
        is_there: bool,
    },
    /// A question for what the call with the number `held` answers.
    Question {
        held: u32,
        question: Vec<u8>,
    },
    /// A frame for what the call with the number `held` receives.
    Frame {
        held: u32,
        id: FrameId,
        frame: Vec<u8>,
    },
}

/// The fields of a message.
#[derive(Default)]
struct FieldWriter(Vec<u8>);

impl FieldWriter {
    fn bytes(mut self, field: &[u8]) -> FieldWriter {
        self.0.extend((field.len() as u32).to_le_bytes());
        self.0.extend(field);
        self
    }
    fn text(self, field: &str) -> FieldWriter {
        self.bytes(field.as_bytes())
    }
    fn number(mut self, field: u64) -> FieldWriter {
        self.0.extend(field.to_le_bytes());
        self
    }
    fn presence(self, presence: &Presence) -> FieldWriter {
        self.text(&presence.name).number(u64::from(presence.instance))
    }
    fn id(self, id: &FrameId) -> FieldWriter {
        self.text(&id.run).text(&id.agent).number(u64::from(id.epoch)).number(id.seq)
    }
}

struct FieldReader<'a>(&'a [u8]);

impl FieldReader<'_> {
    fn bytes(&mut self) -> Option<Vec<u8>> {
        let (length, rest) = self.0.split_first_chunk::<4>()?;
        let (field, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        self.0 = rest;
        Some(field.to_vec())
    }
    fn text(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?).ok()
    }
    fn number(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*number))
    }
    fn presence(&mut self) -> Option<Presence> {
        Some(Presence { name: self.text()?, instance: u16::try_from(self.number()?).ok()? })
    }
    fn id(&mut self) -> Option<FrameId> {
        let (run, agent) = (self.text()?, self.text()?);
        Some(FrameId { run, agent, epoch: u32::try_from(self.number()?).ok()?, seq: self.number()? })
    }
}

impl Message {
    fn encode(&self) -> (u8, Vec<u8>) {
        let fields = FieldWriter::default();
        let (kind, fields) = match self {
            Message::Appear(presence) => (0, fields.presence(presence)),
            Message::Watch => (1, fields),
            Message::Answer(address) => (2, fields.text(address)),
            Message::Ask { address, within_ms, question } => {
                (3, fields.text(address).number(*within_ms).bytes(question))
            }
            Message::Deliver { id, within_ms, frame } => (4, fields.id(id).number(*within_ms).bytes(frame)),
            Message::Receive(run) => (5, fields.text(run)),
            Message::Release => (6, fields),
            Message::Reply(answer) => (7, fields.bytes(answer)),
            Message::Kept(kept) => (8, fields.number(u64::from(*kept))),
            Message::Beat => (9, fields),
            Message::Done => (20, fields),
            Message::Failed(why) => (21, fields.text(why)),
            Message::Result(answer) => (22, fields.bytes(answer)),
            Message::Presence { presence, is_there } => (23, fields.presence(presence).number(u64::from(*is_there))),
            Message::Question { held, question } => (24, fields.number(u64::from(*held)).bytes(question)),
            Message::Frame { held, id, frame } => (25, fields.number(u64::from(*held)).id(id).bytes(frame)),
        };
        (kind, fields.0)
    }

    fn decode(kind: u8, bytes: &[u8]) -> Option<Message> {
        let mut fields = FieldReader(bytes);
        let held = |fields: &mut FieldReader<'_>| u32::try_from(fields.number()?).ok();
        let message = match kind {
            0 => Message::Appear(fields.presence()?),
            1 => Message::Watch,
            2 => Message::Answer(fields.text()?),
            3 => Message::Ask { address: fields.text()?, within_ms: fields.number()?, question: fields.bytes()? },
            4 => Message::Deliver { id: fields.id()?, within_ms: fields.number()?, frame: fields.bytes()? },
            5 => Message::Receive(fields.text()?),
            6 => Message::Release,
            7 => Message::Reply(fields.bytes()?),
            8 => Message::Kept(fields.number()? == 1),
            9 => Message::Beat,
            20 => Message::Done,
            21 => Message::Failed(fields.text()?),
            22 => Message::Result(fields.bytes()?),
            23 => Message::Presence { presence: fields.presence()?, is_there: fields.number()? == 1 },
            24 => Message::Question { held: held(&mut fields)?, question: fields.bytes()? },
            25 => Message::Frame { held: held(&mut fields)?, id: fields.id()?, frame: fields.bytes()? },
            _ => return None,
        };
        fields.0.is_empty().then_some(message)
    }

    /// Writes the message with its number.
    pub fn write(&self, to: &mut dyn Write, number: u32) -> io::Result<()> {
        let (kind, fields) = self.encode();
        PROTOCOL.write_frame(to, number, kind, &fields)
    }

    /// Reads the next message with its number; `None` at the end.
    pub fn read(from: &mut dyn Read) -> io::Result<Option<(u32, Message)>> {
        let Some(frame) = PROTOCOL.read_frame(from)? else { return Ok(None) };
        let invalid = || io::Error::other("it sent a message that is none");
        let (number, rest) = frame.split_first_chunk::<4>().ok_or_else(invalid)?;
        let (kind, fields) = rest.split_first().ok_or_else(invalid)?;
        let message = Message::decode(*kind, fields).ok_or_else(invalid)?;
        Ok(Some((u32::from_le_bytes(*number), message)))
    }
}

/// Properties that hold for any bytes on a bridge; panics if one is violated.
#[cfg(any(test, feature = "oracle"))]
pub fn oracle(mut bytes: &[u8]) {
    while let Ok(Some((number, message))) = Message::read(&mut bytes) {
        let mut again = Vec::new();
        message.write(&mut again, number).expect("what was read can be written");
        let read = Message::read(&mut &again[..]).expect("it can be read").expect("there is one");
        assert_eq!(read, (number, message));
    }
}
