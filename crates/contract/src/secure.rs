//! TLS between network and session; does no I/O itself.

use brunt_cause::Cause;

use crate::{Origin, OutputBuffer};

/// Factory of the client side of TLS connections for one run; shared by the workers.
pub trait SecureChannelFactory: Send + Sync {
    /// Creates a channel to `origin` that offers `alpn`.
    ///
    /// # Errors
    /// Returns an error if the host is not a valid server name.
    fn client(&self, origin: &Origin, alpn: &[&'static [u8]]) -> Result<Box<dyn SecureChannel>, Cause>;
    /// Creates the channel that opens a tunnel through a proxy on a new connection to `origin`; it is removed again
    /// once it returns [`ChannelProgress::Established`]. Returns `None` if no tunnel is needed.
    ///
    /// # Errors
    /// Returns an error if the host cannot be sent to the proxy.
    fn tunnel(&self, _origin: &Origin) -> Result<Option<Box<dyn SecureChannel>>, Cause> {
        Ok(None)
    }
    /// Returns the proxy for connections to `origin`, as users write it, without its user name and password; `None` if
    /// there is none.
    fn proxy(&self, _origin: &Origin) -> Option<String> {
        None
    }
}

/// Result of a completed handshake.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Handshake {
    /// Protocol chosen by ALPN.
    pub alpn: Option<Vec<u8>>,
    /// Set if an earlier session was resumed.
    pub resumed: bool,
    /// Version, such as `TLSv1.3`.
    pub version: String,
    /// Cipher suite.
    pub suite: String,
}

/// Result of feeding bytes to a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelProgress {
    /// No change of state.
    More,
    /// The handshake was completed by these bytes; returned only once.
    Established,
    /// The peer will send no more (close_notify).
    PeerFinished,
}

/// A TLS connection, of either side. Holds no buffer while it is idle.
pub trait SecureChannel: Send {
    /// Appends a client's first flight; a server appends nothing and waits for it.
    fn start(&mut self, cipher: &mut OutputBuffer);
    /// Processes bytes from the wire, which may be split anywhere; appends the plaintext, and the bytes to send in
    /// response.
    ///
    /// # Errors
    /// Returns an error that says what is wrong with the certificate, the handshake or a record.
    fn feed(&mut self, bytes: &[u8], plain: &mut Vec<u8>, cipher: &mut OutputBuffer) -> Result<ChannelProgress, Cause>;
    /// Encrypts plaintext; may be called only after the handshake.
    fn seal(&mut self, plain: &OutputBuffer, cipher: &mut OutputBuffer);
    /// Appends close_notify.
    fn finish(&mut self, cipher: &mut OutputBuffer);
    /// Returns the result of the handshake; `None` before it is complete.
    fn handshake(&self) -> Option<Handshake>;
}
