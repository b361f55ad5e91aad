//! The opening of a connection, from the greeting to the last prepared statement.
//!
//! Its state is boxed and dropped when the connection is open, so that it costs nothing later. All statements are
//! prepared in one batch; the server answers in order.

use wire::Broken;

use super::auth::{self, CLEAR, NATIVE, SHA2};
use super::codec::{EOF, ERR, Fields, OK, put_packet, refusal};
use super::dialogue::Plan;
use super::errors;
use super::greeting::{self, Agreed, Greeting, Login};
use super::statement::Ready;
use crate::sql::Account;

/// `AuthMoreData`: data of the authentication method follows.
const MORE: u8 = 0x01;
/// Requests the server's public key ("Caching_sha2_password information").
const SEND_KEY: u8 = 0x02;
/// The server accepted the cached proof.
const FAST: u8 = 0x03;
/// The server needs the password itself.
const FULL: u8 = 0x04;
/// Maximum number of authentication packets: method switch, intermediate result, key, verdict. A server could otherwise
/// ask forever.
const MOST_ASKED: u8 = 8;

/// The packet that is awaited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
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
pub enum Came {
    /// Packets are still missing.
    More,
    /// The answer to a command is complete.
    Answer,
    /// The connection is open.
    Open,
}

/// The state of a connection that is not open yet.
#[derive(Debug)]
pub struct Opening {
    step: Step,
    /// Index into [`Plan::logins`].
    login: u32,
    greeting: Option<Greeting>,
    /// Random bytes of the server for the current proof.
    scramble: Vec<u8>,
    /// Set once TLS is established.
    secure: bool,
    /// Number of authentication packets from the server.
    asked: u8,
    /// Capabilities that both sides have.
    pub agreed: Agreed,
    /// Statements prepared so far.
    pub ready: Vec<Ready>,
    /// Error message of the server if it refused, and its number.
    pub told: Box<[u8]>,
    pub code: u16,
}

impl Opening {
    /// Creates the state of a fresh connection.
    pub fn new(login: u32) -> Opening {
        Opening {
            step: Step::Greeting,
            login,
            greeting: None,
            scramble: Vec::new(),
            secure: false,
            asked: 0,
            agreed: Agreed::default(),
            ready: Vec::new(),
            told: Box::default(),
            code: 0,
        }
    }

    /// Returns `true` if TLS must begin now.
    pub fn secures_now(&self) -> bool {
        self.step == Step::Secure
    }

    /// Returns `true` if the next packet is skipped; the last description is not, because it ends the answer.
    #[inline]
    pub fn passes_over(&self) -> bool {
        matches!(self.step, Step::Described(left) if left > 1)
    }

    /// Handles a skipped packet.
    pub fn passed_over(&mut self, plan: &Plan) -> Came {
        match &mut self.step {
            Step::Described(left) if *left > 1 => {
                *left -= 1;
                Came::More
            }
            _ => self.next_statement(plan),
        }
    }

    /// Handles a whole packet with sequence number `number`; replies are appended.
    ///
    /// # Errors
    /// The server refuses the connection, or violates the protocol.
    pub fn packet(&mut self, packet: &[u8], number: u8, plan: &Plan, out: &mut Vec<u8>) -> Result<Came, Broken> {
        let Some(&first) = packet.first() else { return Err(Broken(cause::mysql::empty_packet())) };
        if first == ERR && self.step == Step::Prepared {
            // The exchanges that use the statement will fail individually.
            self.ready.push(Ready::default());
            return Ok(self.next_statement(plan));
        }
        if first == ERR {
            let refusal = refusal(packet)?;
            (self.told, self.code) = (refusal.shown(super::session::EXCERPT_BOUND), refusal.code);
            return Err(Broken(errors::refused(refusal.code)));
        }
        let number = number.wrapping_add(1);
        match self.step {
            Step::Greeting => self.greeted(packet, number, plan, out),
            Step::Secure => Err(Broken(cause::mysql::data_before_tls())),
            Step::Proof | Step::Key => self.proof(first, packet, number, plan, out),
            Step::Prepared => self.prepared(first, packet, plan),
            Step::Described(_) => Ok(self.passed_over(plan)),
        }
    }

    fn greeted(&mut self, packet: &[u8], number: u8, plan: &Plan, out: &mut Vec<u8>) -> Result<Came, Broken> {
        let greeting = greeting::read(packet)?;
        self.agreed = greeting.agreed();
        self.scramble = greeting.scramble.to_vec();
        if !plan.ssl {
            self.log_in(&greeting, number, plan, out);
            return Ok(Came::More);
        }
        if !greeting.takes_tls() {
            return Err(Broken(cause::mysql::no_tls()));
        }
        let mut request = Vec::with_capacity(32);
        greeting.ask_for_tls(&self.account(plan).database, &mut request);
        put_packet(number, &request, out);
        (self.step, self.greeting) = (Step::Secure, Some(greeting));
        Ok(Came::More)
    }

    /// Continues after the TLS handshake with the response to the greeting, the client's second packet.
    pub fn secured(&mut self, plan: &Plan, out: &mut Vec<u8>) {
        self.secure = true;
        if let Some(greeting) = self.greeting.take() {
            self.log_in(&greeting, 2, plan, out);
        }
    }

    fn account<'a>(&self, plan: &'a Plan) -> &'a Account {
        &plan.logins[self.login as usize % plan.logins.len()]
    }

    fn log_in(&mut self, greeting: &Greeting, number: u8, plan: &Plan, out: &mut Vec<u8>) {
        // A server that proposes an unknown method may still accept another one for this account.
        let plugin = if greeting.plugin == SHA2 { SHA2 } else { NATIVE };
        let proof = self.proof_by(plugin, plan);
        let account = self.account(plan);
        let login = Login { user: &account.user, database: &account.database, plugin, proof: &proof };
        let mut answer = Vec::with_capacity(128);
        greeting.answer(&login, plan.ssl, &mut answer);
        put_packet(number, &answer, out);
        self.step = Step::Proof;
    }

    fn proof_by(&self, plugin: &[u8], plan: &Plan) -> Vec<u8> {
        let proof = if plugin == SHA2 { auth::sha2 } else { auth::native };
        proof(&self.account(plan).password, &self.scramble)
    }

    fn proof(&mut self, first: u8, packet: &[u8], number: u8, plan: &Plan, out: &mut Vec<u8>) -> Result<Came, Broken> {
        self.asked += 1;
        if self.asked > MOST_ASKED {
            return Err(Broken(cause::mysql::asks_again()));
        }
        match (first, &packet[1..]) {
            (OK, _) => Ok(self.logged_in(plan, out)),
            (EOF, asked) => self.switch(asked, number, plan, out),
            (MORE, [FAST]) => Ok(Came::More),
            (MORE, [FULL]) => {
                if self.is_private(plan) {
                    put_packet(number, &with_zero(&self.account(plan).password), out);
                } else {
                    put_packet(number, &[SEND_KEY], out);
                    self.step = Step::Key;
                }
                Ok(Came::More)
            }
            (MORE, key) if self.step == Step::Key => {
                put_packet(number, &auth::sealed(&self.account(plan).password, &self.scramble, key)?, out);
                self.step = Step::Proof;
                Ok(Came::More)
            }
            _ => Err(Broken(cause::mysql::wrong_proof())),
        }
    }

    fn is_private(&self, plan: &Plan) -> bool {
        self.secure || plan.private
    }

    /// Handles a switch of the authentication method ("Protocol::AuthSwitchRequest").
    fn switch(&mut self, asked: &[u8], number: u8, plan: &Plan, out: &mut Vec<u8>) -> Result<Came, Broken> {
        let mut fields = Fields(asked);
        let plugin = fields.text();
        self.scramble = fields.0.strip_suffix(&[0]).unwrap_or(fields.0).to_vec();
        let proof = match plugin {
            NATIVE | SHA2 => self.proof_by(plugin, plan),
            CLEAR if self.is_private(plan) => with_zero(&self.account(plan).password),
            CLEAR => return Err(Broken(cause::mysql::clear_password())),
            b"client_ed25519" => {
                return Err(Broken(cause::mysql::ed25519()));
            }
            b"sha256_password" => {
                return Err(Broken(cause::mysql::sha256_password()));
            }
            _ => return Err(Broken(cause::mysql::no_method())),
        };
        put_packet(number, &proof, out);
        self.step = Step::Proof;
        Ok(Came::More)
    }

    fn logged_in(&mut self, plan: &Plan, out: &mut Vec<u8>) -> Came {
        plan.prepares.iter().for_each(|prepare| out.extend_from_slice(prepare));
        self.ready.reserve_exact(plan.prepares.len());
        self.next_statement(plan)
    }

    fn next_statement(&mut self, plan: &Plan) -> Came {
        self.step = Step::Prepared;
        if self.ready.len() < plan.prepares.len() { Came::Answer } else { Came::Open }
    }

    /// Handles "COM_STMT_PREPARE_OK".
    fn prepared(&mut self, first: u8, packet: &[u8], plan: &Plan) -> Result<Came, Broken> {
        if first != OK {
            return Err(Broken(cause::mysql::wrong_prepare()));
        }
        let (id, described) = prepared(packet, self.agreed)?;
        self.ready.push(Ready { id, bound: false });
        match described {
            0 => Ok(self.next_statement(plan)),
            described => {
                self.step = Step::Described(described);
                Ok(Came::More)
            }
        }
    }
}

/// Returns the server's id of a statement, and the number of packets that describe its parameters and columns
/// ("COM_STMT_PREPARE_OK").
///
/// # Errors
/// The packet is too short.
pub fn prepared(packet: &[u8], agreed: Agreed) -> Result<(u32, u64), Broken> {
    let mut fields = Fields(&packet[1..]);
    let id = fields.long()?;
    let (columns, parameters) = (u64::from(fields.short()?), u64::from(fields.short()?));
    let ends = if agreed.without_eof { 0 } else { u64::from(columns > 0) + u64::from(parameters > 0) };
    Ok((id, columns + parameters + ends))
}

fn with_zero(password: &[u8]) -> Vec<u8> {
    password.iter().copied().chain([0]).collect()
}
