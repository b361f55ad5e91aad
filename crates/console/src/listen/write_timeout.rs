//! A socket with a write timeout.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// A socket whose writes fail after a timeout without progress.
pub struct WriteTimeout<S> {
    socket: S,
    within: Duration,
    /// Deadline of the pending output; `None` if there is none.
    until: Option<Pin<Box<Sleep>>>,
}

impl<S> WriteTimeout<S> {
    /// Wraps a socket.
    pub fn new(socket: S, within: Duration) -> WriteTimeout<S> {
        WriteTimeout { socket, within, until: None }
    }

    /// Updates the deadline after an attempt to send.
    fn track_progress<T>(&mut self, cx: &mut Context<'_>, sent: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if sent.is_ready() {
            self.until = None;
            return sent;
        }
        let within = self.within;
        let until = self.until.get_or_insert_with(|| Box::pin(tokio::time::sleep(within)));
        ready!(until.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, to: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(cx, to)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let sent = Pin::new(&mut self.socket).poll_write(cx, bytes);
        self.track_progress(cx, sent)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let sent = Pin::new(&mut self.socket).poll_write_vectored(cx, bytes);
        self.track_progress(cx, sent)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    #[test]
    fn who_takes_nothing_is_dropped_and_who_takes_a_little_is_not() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let (near, mut far) = tokio::io::duplex(1);
            let mut near = WriteTimeout::new(near, Duration::from_millis(20));
            near.write_all(b"1").await.unwrap();
            let failed = near.write_all(b"2").await.unwrap_err();
            assert_eq!(failed.kind(), io::ErrorKind::TimedOut);
            let read = async {
                let mut bytes = Vec::new();
                far.read_to_end(&mut bytes).await.map(|_| bytes)
            };
            let write = async {
                // Each byte restarts the timeout.
                near.until = None;
                let sent = near.write_all(b"345").await;
                drop(near);
                sent
            };
            let (read, sent) = futures_util::future::join(read, write).await;
            assert_eq!((read.unwrap(), sent.is_ok()), (b"1345".to_vec(), true));
        });
    }
}
