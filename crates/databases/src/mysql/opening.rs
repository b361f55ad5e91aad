//! The opening of a connection, from the greeting to the last prepared statement.
//!
//! Its state is boxed, and dropped once the connection is open, so that it costs nothing later. All statements are
//! prepared in one batch; the server answers in order.

use brunt_contract::ProtocolError;

use super::auth::{self, CLEAR, NATIVE, SHA2};
use super::codec::{EOF, ERR, OK, PacketReader, parse_err, put_packet};
use super::errors;
use super::greeting::{self, AgreedCapabilities, HandshakeResponse, ServerGreeting};
use super::statement::PreparedStatement;
use super::workload::MysqlPlan;
use crate::sql::DatabaseAccount;

/// `AuthMoreData`: data of the authentication method follows.
const MORE: u8 = 0x01;
/// Requests the server's public key ("Caching_sha2_password information").
const SEND_KEY: u8 = 0x02;
/// The server accepted the cached proof.
const FAST: u8 = 0x03;
/// The server needs the password itself.
const FULL: u8 = 0x04;
/// Maximum number of authentication packets: method switch, intermediate result, key, verdict. Without it, a server
/// could ask forever.
const MOST_ASKED: u8 = 8;

/// The packet that is awaited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HandshakeStep {
    Greeting,
    /// The TLS handshake.
    Secure,
    /// The server's reaction to the password proof.
    Proof,
    /// The server's public key.
    Key,
    /// The first packet of an answer to `COM_STMT_PREPARE`.
    Prepared,
    /// The remaining packets that describe parameters and columns of the statement.
    Described(u64),
}

/// The result of handling a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketOutcome {
    /// Packets are still missing.
    More,
    /// The answer to a command is complete.
    Answer,
    /// The connection is open.
    Open,
}

/// The state of a connection that is not open yet.
#[derive(Debug)]
pub struct MysqlOpening {
    step: HandshakeStep,
    /// Index into [`MysqlPlan::logins`].
    login: u32,
    greeting: Option<ServerGreeting>,
    /// Random bytes of the server for the current proof.
    scramble: Vec<u8>,
    /// Set once TLS is established.
    secure: bool,
    /// Number of authentication packets from the server.
    auth_packets: u8,
    /// Capabilities that both sides have.
    pub agreed: AgreedCapabilities,
    /// Statements prepared so far.
    pub ready: Vec<PreparedStatement>,
    /// Error message of a server that refused the connection; empty otherwise.
    pub error_text: Box<[u8]>,
    /// Error number of such a server; 0 otherwise.
    pub code: u16,
}

impl MysqlOpening {
    /// Creates the state of a fresh connection.
    pub fn new(login: u32) -> MysqlOpening {
        MysqlOpening {
            step: HandshakeStep::Greeting,
            login,
            greeting: None,
            scramble: Vec::new(),
            secure: false,
            auth_packets: 0,
            agreed: AgreedCapabilities::default(),
            ready: Vec::new(),
            error_text: Box::default(),
            code: 0,
        }
    }

    /// Returns `true` if TLS must begin now.
    pub fn secures_now(&self) -> bool {
        self.step == HandshakeStep::Secure
    }

    /// Returns `true` if the next packet is skipped; the last description is not skipped, because it ends the answer.
    #[inline]
    pub fn skips_packet(&self) -> bool {
        matches!(self.step, HandshakeStep::Described(left) if left > 1)
    }

    /// Handles a skipped packet.
    pub fn packet_skipped(&mut self, plan: &MysqlPlan) -> PacketOutcome {
        match &mut self.step {
            HandshakeStep::Described(left) if *left > 1 => {
                *left -= 1;
                PacketOutcome::More
            }
            _ => self.next_statement(plan),
        }
    }

    /// Handles a whole packet with the sequence number `number`; appends replies to it.
    ///
    /// # Errors
    /// Returns an error if the server refuses the connection or violates the protocol.
    pub fn packet(
        &mut self,
        packet: &[u8],
        number: u8,
        plan: &MysqlPlan,
        out: &mut Vec<u8>,
    ) -> Result<PacketOutcome, ProtocolError> {
        let Some(&first) = packet.first() else { return Err(ProtocolError(brunt_cause::mysql::empty_packet())) };
        if first == ERR && self.step == HandshakeStep::Prepared {
            // The exchanges that use the statement will fail individually.
            self.ready.push(PreparedStatement::default());
            return Ok(self.next_statement(plan));
        }
        if first == ERR {
            let refusal = parse_err(packet)?;
            (self.error_text, self.code) = (refusal.excerpt(super::session::EXCERPT_BOUND), refusal.code);
            return Err(ProtocolError(errors::refused(refusal.code)));
        }
        let number = number.wrapping_add(1);
        match self.step {
            HandshakeStep::Greeting => self.on_greeting(packet, number, plan, out),
            HandshakeStep::Secure => Err(ProtocolError(brunt_cause::mysql::data_before_tls())),
            HandshakeStep::Proof | HandshakeStep::Key => self.on_auth_packet(first, packet, number, plan, out),
            HandshakeStep::Prepared => self.prepared(first, packet, plan),
            HandshakeStep::Described(_) => Ok(self.packet_skipped(plan)),
        }
    }

    fn on_greeting(
        &mut self,
        packet: &[u8],
        number: u8,
        plan: &MysqlPlan,
        out: &mut Vec<u8>,
    ) -> Result<PacketOutcome, ProtocolError> {
        let greeting = greeting::read(packet)?;
        self.agreed = greeting.agreed();
        self.scramble = greeting.scramble.to_vec();
        if !plan.ssl {
            self.send_login(&greeting, number, plan, out);
            return Ok(PacketOutcome::More);
        }
        if !greeting.supports_tls() {
            return Err(ProtocolError(brunt_cause::mysql::no_tls()));
        }
        let mut request = Vec::with_capacity(32);
        greeting.write_tls_request(&self.account(plan).database, &mut request);
        put_packet(number, &request, out);
        (self.step, self.greeting) = (HandshakeStep::Secure, Some(greeting));
        Ok(PacketOutcome::More)
    }

    /// Continues after the TLS handshake with the response to the greeting, the client's second packet.
    pub fn secured(&mut self, plan: &MysqlPlan, out: &mut Vec<u8>) {
        self.secure = true;
        if let Some(greeting) = self.greeting.take() {
            self.send_login(&greeting, 2, plan, out);
        }
    }

    fn account<'a>(&self, plan: &'a MysqlPlan) -> &'a DatabaseAccount {
        &plan.logins[self.login as usize % plan.logins.len()]
    }

    fn send_login(&mut self, greeting: &ServerGreeting, number: u8, plan: &MysqlPlan, out: &mut Vec<u8>) {
        // A server that proposes an unknown method may still accept another one for this account.
        let plugin = if greeting.plugin == SHA2 { SHA2 } else { NATIVE };
        let proof = self.password_proof(plugin, plan);
        let account = self.account(plan);
        let login = HandshakeResponse { user: &account.user, database: &account.database, plugin, proof: &proof };
        let mut answer = Vec::with_capacity(128);
        greeting.write_response(&login, plan.ssl, &mut answer);
        put_packet(number, &answer, out);
        self.step = HandshakeStep::Proof;
    }

    fn password_proof(&self, plugin: &[u8], plan: &MysqlPlan) -> Vec<u8> {
        let proof = if plugin == SHA2 { auth::sha2_proof } else { auth::native_proof };
        proof(&self.account(plan).password, &self.scramble)
    }

    fn on_auth_packet(
        &mut self,
        first: u8,
        packet: &[u8],
        number: u8,
        plan: &MysqlPlan,
        out: &mut Vec<u8>,
    ) -> Result<PacketOutcome, ProtocolError> {
        self.auth_packets += 1;
        if self.auth_packets > MOST_ASKED {
            return Err(ProtocolError(brunt_cause::mysql::asks_again()));
        }
        match (first, &packet[1..]) {
            (OK, _) => Ok(self.on_login(plan, out)),
            (EOF, asked) => self.switch(asked, number, plan, out),
            (MORE, [FAST]) => Ok(PacketOutcome::More),
            (MORE, [FULL]) => {
                if self.is_private(plan) {
                    put_packet(number, &with_zero(&self.account(plan).password), out);
                } else {
                    put_packet(number, &[SEND_KEY], out);
                    self.step = HandshakeStep::Key;
                }
                Ok(PacketOutcome::More)
            }
            (MORE, key) if self.step == HandshakeStep::Key => {
                put_packet(number, &auth::encrypt_password(&self.account(plan).password, &self.scramble, key)?, out);
                self.step = HandshakeStep::Proof;
                Ok(PacketOutcome::More)
            }
            _ => Err(ProtocolError(brunt_cause::mysql::wrong_proof())),
        }
    }

    fn is_private(&self, plan: &MysqlPlan) -> bool {
        self.secure || plan.unix_socket
    }

    /// Handles a switch of the authentication method ("Protocol::AuthSwitchRequest").
    fn switch(
        &mut self,
        asked: &[u8],
        number: u8,
        plan: &MysqlPlan,
        out: &mut Vec<u8>,
    ) -> Result<PacketOutcome, ProtocolError> {
        let mut fields = PacketReader(asked);
        let plugin = fields.text();
        self.scramble = fields.0.strip_suffix(&[0]).unwrap_or(fields.0).to_vec();
        let proof = match plugin {
            NATIVE | SHA2 => self.password_proof(plugin, plan),
            CLEAR if self.is_private(plan) => with_zero(&self.account(plan).password),
            CLEAR => return Err(ProtocolError(brunt_cause::mysql::clear_password())),
            b"client_ed25519" => {
                return Err(ProtocolError(brunt_cause::mysql::ed25519()));
            }
            b"sha256_password" => {
                return Err(ProtocolError(brunt_cause::mysql::sha256_password()));
            }
            _ => return Err(ProtocolError(brunt_cause::mysql::no_method())),
        };
        put_packet(number, &proof, out);
        self.step = HandshakeStep::Proof;
        Ok(PacketOutcome::More)
    }

    fn on_login(&mut self, plan: &MysqlPlan, out: &mut Vec<u8>) -> PacketOutcome {
        plan.prepares.iter().for_each(|prepare| out.extend_from_slice(prepare));
        self.ready.reserve_exact(plan.prepares.len());
        self.next_statement(plan)
    }

    fn next_statement(&mut self, plan: &MysqlPlan) -> PacketOutcome {
        self.step = HandshakeStep::Prepared;
        if self.ready.len() < plan.prepares.len() { PacketOutcome::Answer } else { PacketOutcome::Open }
    }

    /// Handles "COM_STMT_PREPARE_OK".
    fn prepared(&mut self, first: u8, packet: &[u8], plan: &MysqlPlan) -> Result<PacketOutcome, ProtocolError> {
        if first != OK {
            return Err(ProtocolError(brunt_cause::mysql::wrong_prepare()));
        }
        let (id, described) = prepared(packet, self.agreed)?;
        self.ready.push(PreparedStatement { id, types_sent: false });
        match described {
            0 => Ok(self.next_statement(plan)),
            described => {
                self.step = HandshakeStep::Described(described);
                Ok(PacketOutcome::More)
            }
        }
    }
}

/// Returns the server's id of a statement, and the number of packets that describe its parameters and columns
/// ("COM_STMT_PREPARE_OK").
///
/// # Errors
/// Returns an error if the packet is too short.
pub fn prepared(packet: &[u8], agreed: AgreedCapabilities) -> Result<(u32, u64), ProtocolError> {
    let mut fields = PacketReader(&packet[1..]);
    let id = fields.u32()?;
    let (columns, parameters) = (u64::from(fields.u16()?), u64::from(fields.u16()?));
    let ends = if agreed.without_eof { 0 } else { u64::from(columns > 0) + u64::from(parameters > 0) };
    Ok((id, columns + parameters + ends))
}

fn with_zero(password: &[u8]) -> Vec<u8> {
    password.iter().copied().chain([0]).collect()
}
