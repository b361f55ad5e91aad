//! Transcripts of a connection, for display.

use std::sync::{Arc, Mutex, MutexGuard};

use brunt_contract::{EstablishedConnection, MAX_SHOWN_BYTES};

use crate::links::Tap;

/// The transcript of a connection, before TLS, and its peer.
#[derive(Debug, Default)]
pub(crate) struct ConnectionTranscript {
    /// The connected address.
    pub address: String,
    /// The proxy at that address, if any.
    pub through: Option<String>,
    /// The protocol spoken.
    pub spoken: String,
    /// Details of the last connection that was established.
    pub established: Option<EstablishedConnection>,
    pub sent: TranscriptPart,
    pub received: TranscriptPart,
    /// Failed checks of the last response as a bit set; `None` if none was evaluated.
    pub failed_checks: Option<u32>,
}

/// One direction of a transcript: only its beginning and its total size, because a peer may send indefinitely.
#[derive(Debug, Default)]
pub(crate) struct TranscriptPart {
    pub head: Vec<u8>,
    pub total: u64,
}

impl TranscriptPart {
    pub(super) fn append(&mut self, bytes: &[u8]) {
        let room = MAX_SHOWN_BYTES - self.head.len();
        self.head.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.total += bytes.len() as u64;
    }
}

/// An observer that records both directions of one connection.
#[derive(Clone, Debug, Default)]
pub(super) struct TranscriptTap(Arc<Mutex<[TranscriptPart; 2]>>);

impl TranscriptTap {
    pub fn both(&self) -> MutexGuard<'_, [TranscriptPart; 2]> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Tap for TranscriptTap {
    fn sent(&mut self, bytes: &[u8]) {
        self.both()[0].append(bytes);
    }
    fn received(&mut self, bytes: &[u8]) {
        self.both()[1].append(bytes);
    }
}
