//! Answers that are written while they are sent, and not held whole.

use std::io::{self, Write};

use axum::body::{Body, Bytes};
use futures_util::stream;
use tokio::sync::mpsc::{Sender, channel};

/// Bytes of a piece, and pieces on their way.
const PIECE: usize = 64 << 10;
const PIECES: usize = 4;

struct Pieces {
    to: Sender<io::Result<Bytes>>,
}

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let sent = self.to.blocking_send(Ok(Bytes::copy_from_slice(bytes)));
        // Nobody reads any more.
        sent.map(|()| bytes.len()).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A body of what `fill` writes, on a thread that may block. An answer that breaks off tells its reader so.
pub fn body(fill: impl FnOnce(&mut dyn Write) -> io::Result<()> + Send + 'static) -> Body {
    let (to, from) = channel(PIECES);
    tokio::task::spawn_blocking(move || {
        let failed = to.clone();
        let mut pieces = io::BufWriter::with_capacity(PIECE, Pieces { to });
        if let Err(error) = fill(&mut pieces).and_then(|()| pieces.flush()) {
            let _ = failed.blocking_send(Err(error));
        }
    });
    Body::from_stream(stream::unfold(from, |mut from| async move { from.recv().await.map(|piece| (piece, from)) }))
}
