//! What went over a connection, for people.

use std::sync::{Arc, Mutex, MutexGuard};

use wire::{EstablishedConnection, MAX_SHOWN_BYTES};

use crate::links::Tap;

/// What went over the wire, before TLS, and where to.
#[derive(Debug, Default)]
pub(crate) struct Transcribed {
    /// The address connected to.
    pub address: String,
    /// The proxy that it is the address of.
    pub through: Option<String>,
    /// What was spoken.
    pub spoken: String,
    /// What was known of the last connection that stood.
    pub established: Option<EstablishedConnection>,
    pub sent: Heard,
    pub received: Heard,
    /// Which checks of the last response failed, by bit; None where none was looked at.
    pub failed_checks: Option<u32>,
}

/// What one end said: its beginning, which is there to be shown, and how much it was. A peer may talk for ever.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    pub head: Vec<u8>,
    pub all: u64,
}

impl Heard {
    pub(super) fn take(&mut self, bytes: &[u8]) {
        let room = MAX_SHOWN_BYTES - self.head.len();
        self.head.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.all += bytes.len() as u64;
    }
}

/// Both ends of one conversation, as they are heard.
#[derive(Clone, Debug, Default)]
pub(super) struct Ears(Arc<Mutex<[Heard; 2]>>);

impl Ears {
    pub fn both(&self) -> MutexGuard<'_, [Heard; 2]> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Tap for Ears {
    fn sent(&mut self, bytes: &[u8]) {
        self.both()[0].take(bytes);
    }
    fn received(&mut self, bytes: &[u8]) {
        self.both()[1].take(bytes);
    }
}
