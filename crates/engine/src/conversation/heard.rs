//! Transcripts of a connection, for display.

use std::sync::{Arc, Mutex, MutexGuard};

use wire::{EstablishedConnection, MAX_SHOWN_BYTES};

use crate::links::Tap;

/// The transcript of a connection, before TLS, and its peer.
#[derive(Debug, Default)]
pub(crate) struct Transcribed {
    /// The connected address.
    pub address: String,
    /// The proxy at that address, if any.
    pub through: Option<String>,
    /// The protocol spoken.
    pub spoken: String,
    /// Details of the last connection that was established.
    pub established: Option<EstablishedConnection>,
    pub sent: Heard,
    pub received: Heard,
    /// Failed checks of the last response as bits; None if none was evaluated.
    pub failed_checks: Option<u32>,
}

/// One direction of a transcript: its beginning, for display, and its total size. A peer may send without end.
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

/// Both directions of one connection, as they are recorded.
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
