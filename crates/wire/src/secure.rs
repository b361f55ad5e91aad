//! TLS between network and session: itself without I/O.

use cause::Cause;

use crate::{Origin, Out};

/// Makes the client side of TLS connections for one run; shared by the workers.
pub trait Security: Send + Sync {
    /// A channel to `origin`, offering `alpn`.
    ///
    /// # Errors
    /// The host is no valid server name.
    fn client(&self, origin: &Origin, alpn: &[&'static [u8]]) -> Result<Box<dyn SecureChannel>, Cause>;
    /// What a new connection for `origin` has to say to a proxy before it leads there: a channel that is taken away again
    /// once it says [`Fed::Established`]. None: it leads there by itself.
    ///
    /// # Errors
    /// The proxy cannot be told of the host.
    fn tunnel(&self, _origin: &Origin) -> Result<Option<Box<dyn SecureChannel>>, Cause> {
        Ok(None)
    }
    /// The proxy that connections for `origin` go through, as people write it; its name and password are not shown.
    fn proxy(&self, _origin: &Origin) -> Option<String> {
        None
    }
}

/// What a handshake settled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Handshake {
    /// What ALPN chose.
    pub alpn: Option<Vec<u8>>,
    /// True where an earlier session was resumed.
    pub resumed: bool,
    /// `TLSv1.3`.
    pub version: String,
    /// The cipher suite.
    pub suite: String,
}

/// What feeding bytes came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fed {
    /// Nothing special.
    More,
    /// The handshake was completed by these bytes (only once).
    Established,
    /// The peer said it will send no more (close_notify).
    Ended,
}

/// One TLS connection, of either side. Holds no buffer while it has nothing to say.
pub trait SecureChannel: Send {
    /// Appends the first flight (of a client; a server waits for it).
    fn start(&mut self, cipher: &mut Out);
    /// Takes bytes from the wire (any split); appends plaintext and what must be sent in return.
    ///
    /// # Errors
    /// What is wrong with certificate, handshake or record.
    fn feed(&mut self, bytes: &[u8], plain: &mut Vec<u8>, cipher: &mut Out) -> Result<Fed, Cause>;
    /// Seals plaintext; only after the handshake.
    fn seal(&mut self, plain: &Out, cipher: &mut Out);
    /// Appends close_notify.
    fn finish(&mut self, cipher: &mut Out);
    /// What the handshake settled; None before it is complete.
    fn handshake(&self) -> Option<Handshake>;
}
