//! The store of resumable sessions.
//!
//! rustls' own store keeps eight TLS 1.3 tickets per server. A load generator opens hundreds of connections to one
//! server at once, and each ticket can be used for only one of them, so with eight tickets, most handshakes would be
//! full ones. This store keeps enough for all connections that are opened together. It is locked for each handshake,
//! never for a request.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;

/// Number of tickets kept per server name; the oldest is dropped first.
const PER_SERVER: usize = 1024;
/// Number of server names remembered; further ones get full handshakes.
const SERVERS: usize = 256;

/// Sessions by server name; both the names and the tickets per name are bounded.
#[derive(Debug, Default)]
pub(super) struct SessionStore {
    servers: Mutex<HashMap<ServerName<'static>, ServerSessions>>,
}

#[derive(Debug, Default)]
struct ServerSessions {
    group: Option<NamedGroup>,
    tls12: Option<Tls12ClientSessionValue>,
    tls13: VecDeque<Tls13ClientSessionValue>,
}

impl SessionStore {
    fn servers(&self) -> MutexGuard<'_, HashMap<ServerName<'static>, ServerSessions>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with(&self, name: ServerName<'static>, change: impl FnOnce(&mut ServerSessions)) {
        let mut servers = self.servers();
        if servers.len() < SERVERS || servers.contains_key(&name) {
            change(servers.entry(name).or_default());
        }
    }
}

impl ClientSessionStore for SessionStore {
    fn set_kx_hint(&self, name: ServerName<'static>, group: NamedGroup) {
        self.with(name, |s| s.group = Some(group));
    }

    fn kx_hint(&self, name: &ServerName<'_>) -> Option<NamedGroup> {
        self.servers().get(name)?.group
    }

    fn set_tls12_session(&self, name: ServerName<'static>, value: Tls12ClientSessionValue) {
        self.with(name, |s| s.tls12 = Some(value));
    }

    fn tls12_session(&self, name: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.servers().get(name)?.tls12.clone()
    }

    fn remove_tls12_session(&self, name: &ServerName<'static>) {
        if let Some(server) = self.servers().get_mut(name) {
            server.tls12 = None;
        }
    }

    fn insert_tls13_ticket(&self, name: ServerName<'static>, value: Tls13ClientSessionValue) {
        self.with(name, |s| {
            if s.tls13.len() == PER_SERVER {
                s.tls13.pop_front();
            }
            s.tls13.push_back(value);
        });
    }

    fn take_tls13_ticket(&self, name: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.servers().get_mut(name)?.tls13.pop_back()
    }
}
