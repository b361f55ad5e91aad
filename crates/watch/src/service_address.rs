//! The address of a service, and the connection to it.

use brunt_cause::{Complaint, complaint};
use std::fmt;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::Instant;

use brunt_contract::SecureChannelFactory;

use crate::pipe::PATIENCE;

/// The address of a service.
pub struct ServiceAddress {
    host: String,
    port: u16,
    tls: bool,
    security: Option<Arc<dyn SecureChannelFactory>>,
    /// Resolved addresses, looked up once: a name server that hangs must not delay a run in progress.
    resolved: Vec<SocketAddr>,
}

impl ServiceAddress {
    /// Parses `HOST`, `HOST:PORT` or `[::1]:PORT`; `usual` is the default port.
    ///
    /// # Errors
    ///
    /// Returns a message that says what is wrong with the text.
    pub fn parse(text: &str, usual: u16) -> Result<ServiceAddress, Complaint> {
        let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, rest)) => (host, rest.strip_prefix(':')),
            None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
        };
        if host.is_empty() {
            return Err(complaint!("`{text}` has no host; use HOST:PORT", "`{text}` 缺少主机；请用 HOST:PORT"));
        }
        let read = |port: &str| port.parse().ok().filter(|port| *port > 0);
        let port = match port {
            None => usual,
            Some(port) => read(port).ok_or_else(|| {
                complaint!(
                    "`{port}` is not a port; use a port from 1 to 65535",
                    "`{port}` 不是端口；请用 1 到 65535 的端口"
                )
            })?,
        };
        Ok(ServiceAddress { host: host.to_owned(), port, tls: false, security: None, resolved: Vec::new() })
    }

    /// Sets whether the service is reached over TLS.
    pub fn over_tls(self, tls: bool) -> ServiceAddress {
        ServiceAddress { tls, ..self }
    }

    /// Returns whether the service is reached over TLS.
    pub fn is_over_tls(&self) -> bool {
        self.tls
    }

    /// Sets the TLS implementation.
    pub fn set_security(&mut self, security: Arc<dyn SecureChannelFactory>) {
        self.security = Some(security);
    }

    /// Returns the TLS implementation set by [`ServiceAddress::set_security`].
    ///
    /// # Errors
    ///
    /// Returns an error if none was set.
    pub fn security(&self) -> io::Result<&dyn SecureChannelFactory> {
        let missing = || io::Error::new(ErrorKind::Unsupported, "it needs TLS, which is not set up here");
        self.security.as_deref().ok_or_else(missing)
    }

    /// Returns `host:port`, as in URLs.
    pub fn authority(&self) -> String {
        let (host, port) = (&self.host, self.port);
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }

    /// Returns `host:port` for a URL, which has no zone (`fe80::1%eth0`).
    pub fn in_url(&self) -> String {
        let host = self.host.split('%').next().unwrap_or_default();
        ServiceAddress { host: host.to_owned(), security: None, resolved: Vec::new(), ..*self }.authority()
    }

    /// Connects to the first address that accepts the connection.
    ///
    /// # Errors
    ///
    /// Returns an error if no address accepts.
    pub fn connect(&mut self) -> io::Result<TcpStream> {
        if self.resolved.is_empty() {
            self.resolved = (&*self.host, self.port).to_socket_addrs()?.collect();
        }
        let until = Instant::now() + PATIENCE;
        let mut last = io::Error::new(ErrorKind::NotFound, "its name was not found");
        for address in &self.resolved {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(ErrorKind::TimedOut.into());
            }
            match TcpStream::connect_timeout(address, left) {
                Ok(socket) => return socket.set_nodelay(true).map(|()| socket),
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

impl fmt::Debug for ServiceAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.authority())
    }
}
