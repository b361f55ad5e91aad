//! TLS over a blocking socket of the standard library, for connections between brunt's processes, which are not load.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use rustls::{ClientConnection, ServerConnection, StreamOwned};

use super::{RustlsSecurity, RustlsServer, server_name};

/// A connection read and written in plaintext, with or without TLS on the wire.
pub trait PlainStream: Read + Write + Send {}

impl<T: Read + Write + Send> PlainStream for T {}

impl RustlsSecurity {
    /// Wraps a socket that is connected to `host` in TLS; the handshake happens at the first read or write.
    ///
    /// # Errors
    /// Returns one sentence if the host is not a name that a certificate can be for.
    pub fn over(&self, socket: TcpStream, host: &str) -> Result<Box<dyn PlainStream>, String> {
        let ours = ClientConnection::new(Arc::clone(&self.config), server_name(host).map_err(|why| why.to_string())?)
            .map_err(|e| e.to_string())?;
        Ok(Box::new(StreamOwned::new(ours, socket)))
    }
}

impl RustlsServer {
    /// Wraps an accepted socket in TLS; the handshake happens at the first read or write.
    ///
    /// # Errors
    /// Returns the error of the TLS library as a sentence.
    pub fn over(&self, socket: TcpStream) -> Result<Box<dyn PlainStream>, String> {
        let ours = ServerConnection::new(Arc::clone(&self.config)).map_err(|e| e.to_string())?;
        Ok(Box::new(StreamOwned::new(ours, socket)))
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::super::TlsSettings;
    use super::*;

    #[test]
    fn what_one_side_says_the_other_hears_and_a_stranger_is_refused() {
        let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".into()]).unwrap();
        let (cert, key) = (made.cert.pem(), made.signing_key.serialize_pem());
        let serving = RustlsServer::new(cert.as_bytes(), key.as_bytes(), &[]).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let mut heard = Vec::new();
            for _ in 0..2 {
                let mut clear = serving.over(listener.accept().unwrap().0).unwrap();
                let mut bytes = [0; 5];
                let read = clear.read_exact(&mut bytes).and_then(|()| clear.write_all(b"well"));
                heard.push(read.is_ok().then_some(bytes));
            }
            heard
        });
        let ask = |settings: &TlsSettings| {
            let security = RustlsSecurity::new(settings).unwrap();
            let mut clear = security.over(TcpStream::connect(address).unwrap(), "127.0.0.1").unwrap();
            let mut answer = [0; 4];
            clear
                .write_all(b"hello")
                .and_then(|()| clear.flush())
                .and_then(|()| clear.read_exact(&mut answer))
                .map(|()| answer)
        };
        let known = TlsSettings { cacert: Some(cert.into_bytes()), ..TlsSettings::default() };
        assert_eq!(ask(&known).unwrap(), *b"well");
        assert!(ask(&TlsSettings::default()).is_err());
        assert_eq!(server.join().unwrap(), [Some(*b"hello"), None]);
    }
}
