//! What an agent hands in of a share: items, numbered without gaps, several to a frame.
//!
//! Each item is a length (of what follows), a kind, and a body, little-endian. On disk, at the agent and at the
//! coordinator, items stand one after the other in the same form.

/// An item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// The measuring process is ready for the barrier with this number.
    Ready(u32),
    /// An event of its record, as encoded by [`brunt_record::EventEncoder`].
    Event(Vec<u8>),
    /// It cannot take the share, for this reason.
    Refused(String),
    /// A remark of the agent itself.
    Remark(String),
    /// The measuring process works, but has had nothing to report for a while: it closes many connections, say.
    Works,
    /// The share is over: how the measuring process ended. Nothing follows.
    Ended(String),
}

const READY: u8 = 0;
const EVENT: u8 = 1;
const REFUSED: u8 = 2;
const REMARK: u8 = 3;
const ENDED: u8 = 4;
const WORKS: u8 = 5;

/// Maximum length of an item: the longest event and a little.
const LONGEST: usize = 16 << 20;
/// Maximum length of what an agent says in words; the rest is left out.
const LONGEST_WORDS: usize = 4 << 10;

impl Item {
    /// Appends the item.
    pub fn write(&self, to: &mut Vec<u8>) {
        let number;
        let (kind, body): (u8, &[u8]) = match self {
            Item::Ready(barrier) => {
                number = barrier.to_le_bytes();
                (READY, &number)
            }
            Item::Event(event) => (EVENT, event),
            Item::Refused(why) => (REFUSED, why.as_bytes()),
            Item::Remark(what) => (REMARK, what.as_bytes()),
            Item::Ended(how) => (ENDED, how.as_bytes()),
            Item::Works => (WORKS, &[]),
        };
        to.extend((body.len() as u32 + 1).to_le_bytes());
        to.push(kind);
        to.extend(body);
    }

    /// Returns the length of an item on disk by its first bytes, and `true` if nothing follows it; `None` if it is none.
    pub fn measure(&[a, b, c, d, kind]: &[u8; 5]) -> Option<(u64, bool)> {
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        let fits = match kind {
            READY => length == 5,
            WORKS => length == 1,
            EVENT..=ENDED => (1..=LONGEST).contains(&length),
            _ => false,
        };
        fits.then_some((length as u64 + 4, kind == ENDED))
    }

    /// Takes the first item of these bytes; `None` if it is cut off, or none.
    pub fn take(bytes: &mut &[u8]) -> Option<Item> {
        let (length, rest) = bytes.split_first_chunk::<4>()?;
        let length = u32::from_le_bytes(*length) as usize;
        if length == 0 || length > LONGEST || rest.len() < length {
            return None;
        }
        let (item, rest) = rest.split_at(length);
        let (kind, body) = item.split_first()?;
        let text = || brunt_measure::sanitize::bytes(&body[..body.len().min(LONGEST_WORDS)]);
        let item = match *kind {
            READY => Item::Ready(u32::from_le_bytes(body.try_into().ok()?)),
            EVENT => Item::Event(body.to_vec()),
            REFUSED => Item::Refused(text()),
            REMARK => Item::Remark(text()),
            ENDED => Item::Ended(text()),
            WORKS if body.is_empty() => Item::Works,
            _ => return None,
        };
        *bytes = rest;
        Some(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_come_back_and_what_is_cut_off_is_none() {
        let items = [
            Item::Ready(2),
            Item::Event(vec![0, 255, 7]),
            Item::Event(Vec::new()),
            Item::Refused("no".into()),
            Item::Remark("full disk".into()),
            Item::Works,
            Item::Ended("exit code 0".into()),
        ];
        let mut bytes = Vec::new();
        items.iter().for_each(|item| item.write(&mut bytes));
        let mut rest = &bytes[..];
        let read: Vec<Item> = std::iter::from_fn(|| Item::take(&mut rest)).collect();
        assert!(rest.is_empty());
        assert_eq!(read, items);
        for cut in 0..bytes.len() {
            let mut rest = &bytes[..cut];
            let whole = std::iter::from_fn(|| Item::take(&mut rest)).count();
            assert!(whole < items.len() && rest.len() < bytes.len(), "{cut}");
        }
        let mut long = Vec::new();
        Item::Remark("x".repeat(1 << 20)).write(&mut long);
        assert_eq!(Item::take(&mut &long[..]), Some(Item::Remark("x".repeat(LONGEST_WORDS))));
        for bad in [
            &[0, 0, 0, 0, 1][..],
            &[1, 0, 0, 0, 9],
            &[3, 0, 0, 0, READY, 1, 2],
            &[2, 0, 0, 0, WORKS, 1],
            &[255, 255, 255, 255, 1],
        ] {
            assert_eq!(Item::take(&mut &bad[..]), None, "{bad:?}");
            assert_eq!(Item::measure(bad.first_chunk().unwrap()), None, "{bad:?}");
        }
        for item in items {
            let mut bytes = Vec::new();
            item.write(&mut bytes);
            let expected = Some((bytes.len() as u64, matches!(item, Item::Ended(_))));
            assert_eq!(Item::measure(bytes.first_chunk().unwrap()), expected, "{item:?}");
        }
    }
}
