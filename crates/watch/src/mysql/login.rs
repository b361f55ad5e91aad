//! From the greeting to the server's OK: `mysql_native_password` and `caching_sha2_password`, over TLS where that is asked for.
//!
//! A password is told as it is over TLS alone. Without it, an account of `caching_sha2_password` whose password the server has not seen
//! since it started would need that, and is refused with what helps.

use std::io;

use aws_lc_rs::digest::{Algorithm, Context, SHA1_FOR_LEGACY_USE_ONLY, SHA256};

use super::packets::{self, END, Fields, OK, Packets, invalid};
use crate::conversation::{Conversation, Place};

const LONG_PASSWORD: u32 = 1;
const PROTOCOL_41: u32 = 1 << 9;
const SSL: u32 = 1 << 11;
const SECURE_CONNECTION: u32 = 1 << 15;
const PLUGIN_AUTH: u32 = 1 << 19;
/// utf8mb4_general_ci.
const UTF8MB4: u8 = 45;
const LARGEST_PACKET: u32 = 1 << 24;

const NATIVE: &[u8] = b"mysql_native_password";
const SHA2: &[u8] = b"caching_sha2_password";
/// First byte of what belongs to the way of authentication, and its two meanings: the proof was known, the password itself is wanted.
const MORE: u8 = 0x01;
const FAST: &[u8] = &[0x03];
const FULL: &[u8] = &[0x04];
/// Packets about the password, at most: a server may ask for ever.
const MOST_ASKED: usize = 8;

/// Logs in on a connection that has heard nothing yet, and gives it back as it is spoken on from there.
///
/// # Errors
/// The server refuses, or speaks another protocol.
pub fn enter(place: &Place, mut talk: Conversation, user: &[u8], password: &[u8]) -> io::Result<Conversation> {
    let mut packets = Packets::default();
    let (mut number, greeting) = packets.next(&mut talk)?;
    packets::fail_on_error(&greeting)?;
    let greeting = Greeting::read(&greeting)?;
    let tls = place.is_over_tls();
    if tls {
        number = number.wrapping_add(1);
        talk.say(&packets::packet(number, &greeting.asks_for_tls()?))?;
        // What came in clear behind the greeting would be an attacker's.
        packets = Packets::default();
        talk = place.seal(talk)?;
    }
    talk.say(&packets::packet(number.wrapping_add(1), &greeting.answer(user, password, tls)))?;
    for _ in 0..MOST_ASKED {
        let (number, packet) = packets.next(&mut talk)?;
        packets::fail_on_error(&packet)?;
        match packet.split_first() {
            Some((&OK, _)) => return Ok(talk),
            Some((&MORE, FAST)) => {}
            Some((&MORE, FULL)) if tls => {
                talk.say(&packets::packet(number.wrapping_add(1), &[password, &[0]].concat()))?;
            }
            Some((&MORE, FULL)) => {
                return Err(invalid(
                    "it has not seen this account's password since it started, and the connection is without TLS; \
                        add ?ssl to its URL, log in once with another client, or use an account IDENTIFIED WITH \
                        mysql_native_password",
                ));
            }
            Some((&END, asked)) => talk.say(&packets::packet(number.wrapping_add(1), &switched(asked, password)?))?,
            _ => return Err(strange()),
        }
    }
    Err(invalid("it keeps asking for the password"))
}

fn strange() -> io::Error {
    invalid("it does not speak the MySQL protocol")
}

/// What the server says of itself, as far as a login needs it.
#[derive(Debug, PartialEq, Eq)]
pub struct Greeting {
    scramble: Vec<u8>,
    plugin: Vec<u8>,
    capabilities: u32,
}

impl Greeting {
    /// Reads "Protocol::HandshakeV10".
    ///
    /// # Errors
    /// It is none.
    pub fn read(packet: &[u8]) -> io::Result<Greeting> {
        let mut fields = Fields(packet);
        if fields.byte()? != 10 {
            return Err(strange());
        }
        fields.text();
        // The number of the connection.
        fields.bytes(4)?;
        let mut scramble = fields.bytes(8)?.to_vec();
        fields.byte()?;
        let low = fields.bytes(2)?;
        // The character set, and the status.
        fields.bytes(3)?;
        let high = fields.bytes(2)?;
        let capabilities = u32::from_le_bytes([low[0], low[1], high[0], high[1]]);
        if capabilities & SECURE_CONNECTION == 0 || capabilities & PROTOCOL_41 == 0 {
            return Err(strange());
        }
        let length = usize::from(fields.byte()?);
        fields.bytes(10)?;
        scramble.extend_from_slice(&fields.bytes(length.saturating_sub(8).max(13))?[..12]);
        let plugin = if capabilities & PLUGIN_AUTH != 0 { fields.text().to_vec() } else { Vec::new() };
        Ok(Greeting { scramble, plugin, capabilities })
    }

    /// "Protocol::SSLRequest".
    fn asks_for_tls(&self) -> io::Result<Vec<u8>> {
        if self.capabilities & SSL == 0 {
            return Err(invalid("it does not support TLS; leave out ?ssl"));
        }
        Ok(self.begins(true))
    }

    /// What both of our packets begin with.
    fn begins(&self, tls: bool) -> Vec<u8> {
        let ssl = if tls { SSL } else { 0 };
        let flags = PROTOCOL_41 | SECURE_CONNECTION | ssl | (LONG_PASSWORD | PLUGIN_AUTH) & self.capabilities;
        let mut packet = Vec::with_capacity(128);
        packet.extend_from_slice(&flags.to_le_bytes());
        packet.extend_from_slice(&LARGEST_PACKET.to_le_bytes());
        packet.push(UTF8MB4);
        packet.extend_from_slice(&[0; 23]);
        packet
    }

    /// "Protocol::HandshakeResponse41".
    fn answer(&self, user: &[u8], password: &[u8], tls: bool) -> Vec<u8> {
        // A server that proposes a way we do not know may still take another one for this account.
        let plugin = if self.plugin == SHA2 { SHA2 } else { NATIVE };
        let proof = proof(plugin, password, &self.scramble);
        let mut answer = self.begins(tls);
        answer.extend_from_slice(user);
        answer.push(0);
        // 20 or 32 bytes, or none.
        answer.push(proof.len() as u8);
        answer.extend_from_slice(&proof);
        if self.capabilities & PLUGIN_AUTH != 0 {
            answer.extend_from_slice(plugin);
            answer.push(0);
        }
        answer
    }
}

/// The proof by another way, which the server asks for ("Protocol::AuthSwitchRequest").
fn switched(asked: &[u8], password: &[u8]) -> io::Result<Vec<u8>> {
    let mut fields = Fields(asked);
    let plugin = fields.text();
    if plugin != NATIVE && plugin != SHA2 {
        let name: String = String::from_utf8_lossy(plugin).chars().take(50).collect();
        return Err(invalid(&format!("it requires login by {}, which is not supported", measure::plain::line(&name))));
    }
    Ok(proof(plugin, password, fields.0.strip_suffix(&[0]).unwrap_or(fields.0)))
}

/// SHA1(password) XOR SHA1(scramble, SHA1(SHA1(password))), or
/// SHA256(password) XOR SHA256(SHA256(SHA256(password)), scramble).
fn proof(plugin: &[u8], password: &[u8], scramble: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let (algorithm, is_native) = if plugin == SHA2 { (&SHA256, false) } else { (&SHA1_FOR_LEGACY_USE_ONLY, true) };
    let once = digest(algorithm, &[password]);
    let twice = digest(algorithm, &[&once]);
    let parts: [&[u8]; 2] = if is_native { [scramble, &twice] } else { [&twice, scramble] };
    once.iter().zip(digest(algorithm, &parts)).map(|(a, b)| a ^ b).collect()
}

fn digest(algorithm: &'static Algorithm, parts: &[&[u8]]) -> Vec<u8> {
    let mut context = Context::new(algorithm);
    parts.iter().for_each(|part| context.update(part));
    context.finish().as_ref().to_vec()
}
