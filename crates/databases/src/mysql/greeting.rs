//! The first two packets of a connection: the server's greeting and the client's response.
//!
//! "Protocol::HandshakeV10", "Protocol::SSLRequest" and "Protocol::HandshakeResponse41"; MariaDB's extended
//! capabilities are in bytes that MySQL reserves ("MariaDB Knowledge Base, Connecting").

use brunt_contract::ProtocolError;

use super::codec::{PacketReader, put_integer};

/// Set by MySQL and its clients; MariaDB clears it to indicate that the reserved bytes hold its own capabilities.
const LONG_PASSWORD: u32 = 1;
const LONG_FLAG: u32 = 1 << 2;
const WITH_DATABASE: u32 = 1 << 3;
const PROTOCOL_41: u32 = 1 << 9;
const TLS: u32 = 1 << 11;
const TRANSACTIONS: u32 = 1 << 13;
const SECURE_CONNECTION: u32 = 1 << 15;
const MULTI_RESULTS: u32 = 1 << 17;
const PREPARED_MULTI_RESULTS: u32 = 1 << 18;
const PLUGIN_AUTH: u32 = 1 << 19;
const PLUGIN_AUTH_LENGTH: u32 = 1 << 21;
const DEPRECATE_EOF: u32 = 1 << 24;
/// MariaDB: columns known from `COM_STMT_PREPARE` are not described again (since 10.6).
const CACHE_METADATA: u32 = 1 << 4;

/// utf8mb4_general_ci, which every server since MySQL 5.5.3 supports.
const UTF8MB4: u8 = 45;

/// Largest packet announced by the client, in bytes; rows are counted and not kept, so the limit has no effect.
const LARGEST_PACKET: u32 = 1 << 30;

/// The server's greeting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerGreeting {
    capabilities: u32,
    /// MariaDB's extended capabilities.
    extended: u32,
    /// Random bytes that are mixed into the password proof.
    pub scramble: [u8; 20],
    /// Authentication method proposed by the server.
    pub plugin: Vec<u8>,
}

/// The capabilities that both sides have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AgreedCapabilities {
    /// Set if rows end with an OK packet, and no packet separates columns and rows.
    pub without_eof: bool,
    /// Set if the number of columns is followed by a byte that indicates whether they are described.
    pub cached_columns: bool,
}

/// Parses the greeting.
///
/// # Errors
/// Returns an error if the packet is not the greeting of a supported server.
pub fn read(packet: &[u8]) -> Result<ServerGreeting, ProtocolError> {
    let mut fields = PacketReader(packet);
    if fields.byte()? != 10 {
        return Err(ProtocolError(brunt_cause::mysql::no_mysql()));
    }
    fields.text();
    fields.u32()?;
    let mut scramble = [0; 20];
    scramble[..8].copy_from_slice(fields.bytes(8)?);
    fields.byte()?;
    let low = fields.u16()?;
    // Skips the character set and the status.
    fields.bytes(3)?;
    let capabilities = u32::from(low) | u32::from(fields.u16()?) << 16;
    if capabilities & (PROTOCOL_41 | SECURE_CONNECTION) != PROTOCOL_41 | SECURE_CONNECTION {
        return Err(ProtocolError(brunt_cause::mysql::too_old()));
    }
    let length = fields.byte()?;
    let reserved = fields.bytes(10)?;
    let further = u32::from_le_bytes([reserved[6], reserved[7], reserved[8], reserved[9]]);
    let second = fields.bytes(usize::from(length).saturating_sub(8).max(13))?;
    scramble[8..].copy_from_slice(&second[..12]);
    let plugin = if capabilities & PLUGIN_AUTH != 0 { fields.text().to_vec() } else { Vec::new() };
    let further = if capabilities & LONG_PASSWORD == 0 { further } else { 0 };
    Ok(ServerGreeting { capabilities, extended: further, scramble, plugin })
}

/// The login data of the response.
#[derive(Clone, Copy, Debug)]
pub struct HandshakeResponse<'a> {
    /// User name.
    pub user: &'a [u8],
    /// Database name; empty for none.
    pub database: &'a [u8],
    /// Authentication method of the proof.
    pub plugin: &'a [u8],
    /// Password proof.
    pub proof: &'a [u8],
}

impl ServerGreeting {
    /// Returns `true` if the server supports TLS.
    pub fn supports_tls(&self) -> bool {
        self.capabilities & TLS != 0
    }

    /// Returns the capabilities agreed on by the response.
    pub fn agreed(&self) -> AgreedCapabilities {
        let without_eof = self.capabilities & DEPRECATE_EOF != 0;
        // Without DEPRECATE_EOF, servers differ in which packets they omit together with the columns.
        AgreedCapabilities { without_eof, cached_columns: without_eof && self.extended & CACHE_METADATA != 0 }
    }

    /// Returns the common beginning of the TLS request and the response: capabilities, largest packet, character set,
    /// reserved bytes.
    fn response_head(&self, wanted: u32) -> [u8; 32] {
        let agreed = self.agreed();
        let mut flags = LONG_FLAG | PROTOCOL_41 | TRANSACTIONS | SECURE_CONNECTION | MULTI_RESULTS | wanted;
        flags |= PREPARED_MULTI_RESULTS & self.capabilities;
        flags |= (PLUGIN_AUTH | PLUGIN_AUTH_LENGTH | DEPRECATE_EOF) & self.capabilities;
        flags |= LONG_PASSWORD & self.capabilities;
        let mut head = [0; 32];
        head[..4].copy_from_slice(&flags.to_le_bytes());
        head[4..8].copy_from_slice(&LARGEST_PACKET.to_le_bytes());
        head[8] = UTF8MB4;
        head[28..].copy_from_slice(&if agreed.cached_columns { CACHE_METADATA } else { 0 }.to_le_bytes());
        head
    }

    fn wanted(database: &[u8], tls: bool) -> u32 {
        (if database.is_empty() { 0 } else { WITH_DATABASE }) | if tls { TLS } else { 0 }
    }

    /// Appends the TLS request, which has the same beginning as the response and precedes it.
    pub fn write_tls_request(&self, database: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(&self.response_head(Self::wanted(database, true)));
    }

    /// Appends the response.
    pub fn write_response(&self, login: &HandshakeResponse<'_>, tls: bool, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.response_head(Self::wanted(login.database, tls)));
        out.extend_from_slice(login.user);
        out.push(0);
        if self.capabilities & PLUGIN_AUTH_LENGTH != 0 {
            put_integer(login.proof.len(), out);
        } else {
            out.push(login.proof.len() as u8);
        }
        out.extend_from_slice(login.proof);
        if !login.database.is_empty() {
            out.extend_from_slice(login.database);
            out.push(0);
        }
        if self.capabilities & PLUGIN_AUTH != 0 {
            out.extend_from_slice(login.plugin);
            out.push(0);
        }
    }
}
