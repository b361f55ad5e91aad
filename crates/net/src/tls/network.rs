//! TLS for a listening network: accepted connections use TLS, and the user of the network sees plaintext.
//!
//! A connection is reported when it is accepted, before its handshake; a failed handshake is reported as `Closed`. An
//! idle connection holds its channel but no buffer. Outgoing connections are not wrapped: clients insert the channel
//! themselves, because they time the handshake.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use brunt_contract::{
    ChannelProgress, ConnId, ConnectParameters, Errno, ListenerId, Network, NetworkEvent, OutputBuffer, PeerAddress,
    SecureChannel,
};
use brunt_measure::Nanos;

use super::RustlsServer;

/// A network whose accepted connections use TLS.
pub struct TlsNetwork<N> {
    inner: N,
    serving: RustlsServer,
    channels: Vec<Option<Box<dyn SecureChannel>>>,
    plain: Vec<u8>,
    cipher: OutputBuffer,
    /// Connection ended by close_notify or invalid TLS; reported after the plaintext that preceded the end.
    ended: Option<(ConnId, Option<Errno>)>,
}

impl<N: Network> TlsNetwork<N> {
    /// Wraps `inner` in TLS.
    pub fn new(inner: N, serving: RustlsServer) -> TlsNetwork<N> {
        TlsNetwork {
            inner,
            serving,
            channels: Vec::new(),
            plain: Vec::new(),
            cipher: OutputBuffer::default(),
            ended: None,
        }
    }

    fn accepted(&mut self, conn: ConnId) {
        let slot = conn.0 as usize;
        if self.channels.len() <= slot {
            self.channels.resize_with(slot + 1, || None);
        }
        self.channels[slot] = self.serving.channel().ok();
    }

    /// Sends close_notify and drops the channel.
    fn close_channel(&mut self, conn: ConnId) {
        if let Some(mut channel) = self.channels.get_mut(conn.0 as usize).and_then(Option::take) {
            channel.finish(&mut self.cipher);
            if !self.cipher.is_empty() {
                self.inner.send(conn, &mut self.cipher);
            }
        }
        if self.ended.is_some_and(|(ended, _)| ended == conn) {
            self.ended = None;
        }
    }
}

impl<N: Network> Network for TlsNetwork<N> {
    fn now(&mut self) -> Nanos {
        self.inner.now()
    }

    fn connect(&mut self, _dial: &ConnectParameters) -> Result<ConnId, Errno> {
        Err(Errno(libc::EOPNOTSUPP))
    }

    fn send(&mut self, conn: ConnId, out: &mut OutputBuffer) {
        if let Some(Some(channel)) = self.channels.get_mut(conn.0 as usize)
            && !out.is_empty()
        {
            channel.seal(out, &mut self.cipher);
            self.inner.send(conn, &mut self.cipher);
        }
        out.clear();
    }

    fn close(&mut self, conn: ConnId) {
        self.close_channel(conn);
        self.inner.close(conn);
    }

    fn abort(&mut self, conn: ConnId) {
        // A reset sends no close_notify.
        if let Some(channel) = self.channels.get_mut(conn.0 as usize) {
            *channel = None;
        }
        self.close_channel(conn);
        self.inner.abort(conn);
    }

    fn listen(&mut self, at: &PeerAddress, backlog: u32, shared: bool) -> Result<ListenerId, Errno> {
        self.inner.listen(at, backlog, shared)
    }

    fn adopt(&mut self, listener: OwnedFd) -> Result<ListenerId, Errno> {
        self.inner.adopt(listener)
    }

    fn local_addr(&self, listener: ListenerId) -> Option<SocketAddr> {
        self.inner.local_addr(listener)
    }

    fn set_accepting(&mut self, listener: ListenerId, accepting: bool) {
        self.inner.set_accepting(listener, accepting);
    }

    fn wait(&mut self, until: Nanos) {
        self.inner.wait(if self.ended.is_some() { Nanos::ZERO } else { until });
    }

    fn next(&mut self) -> Option<NetworkEvent<'_>> {
        loop {
            if let Some((conn, why)) = self.ended.take() {
                return Some(NetworkEvent::Closed(conn, why));
            }
            let (conn, fed) = match self.inner.next()? {
                NetworkEvent::Accepted(listener, conn) => {
                    self.accepted(conn);
                    return Some(NetworkEvent::Accepted(listener, conn));
                }
                NetworkEvent::Closed(conn, why) => return Some(NetworkEvent::Closed(conn, why)),
                NetworkEvent::Sent(conn) => return Some(NetworkEvent::Sent(conn)),
                NetworkEvent::Connected(_) => continue,
                NetworkEvent::Received(conn, bytes) => {
                    let Some(Some(channel)) = self.channels.get_mut(conn.0 as usize) else {
                        self.ended = Some((conn, Some(Errno(libc::EPROTO))));
                        continue;
                    };
                    self.plain.clear();
                    (conn, channel.feed(bytes, &mut self.plain, &mut self.cipher))
                }
            };
            if !self.cipher.is_empty() {
                self.inner.send(conn, &mut self.cipher);
            }
            self.ended = match fed {
                Ok(ChannelProgress::PeerFinished) => Some((conn, None)),
                Err(_) => Some((conn, Some(Errno(libc::EPROTO)))),
                Ok(ChannelProgress::More | ChannelProgress::Established) => None,
            };
            if !self.plain.is_empty() {
                return Some(NetworkEvent::Received(conn, &self.plain));
            }
        }
    }

    fn last_read_at(&mut self) -> Nanos {
        self.inner.last_read_at()
    }

    fn bytes_sent(&self) -> u64 {
        self.inner.bytes_sent()
    }

    fn rejected_datagrams(&self) -> u64 {
        self.inner.rejected_datagrams()
    }

    fn report_sent(&mut self, conn: ConnId) -> bool {
        self.inner.report_sent(conn)
    }

    fn unsent(&self, conn: ConnId) -> usize {
        self.inner.unsent(conn)
    }

    fn sends_at_once(&self) -> bool {
        self.inner.sends_at_once()
    }
}

impl<N> std::fmt::Debug for TlsNetwork<N> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secured({} slots)", self.channels.len())
    }
}
