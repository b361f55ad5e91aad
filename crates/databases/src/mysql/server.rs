//! A minimal MySQL server for the simulation and the built-in target.
//!
//! Every login is accepted, whatever the password; every statement is passed on, with its first word as the method. The
//! caller's response determines the answer: an error if its status is 400 or more, otherwise one row with one column
//! that holds the body for a SELECT, and OK for other statements. Not supported: TLS, other authentication methods,
//! types (every value is text).

use brunt_contract::{OutputBuffer, ProtocolError, RequestPart, ServerRequest, ServerResponse, ServerSession};

use super::codec::{
    COM_PING, COM_QUERY, COM_QUIT, COM_STMT_EXECUTE, COM_STMT_PREPARE, EOF, ERR, HEADER, OK, WHOLE, payload_length,
    put_integer, put_packet,
};

/// Maximum size of a command, in bytes.
const BOUND: usize = 1 << 20;
/// Maximum number of prepared statements per connection.
const MOST_PREPARED: usize = 4096;

/// The server side of a MySQL connection.
#[derive(Debug, Default)]
pub struct MysqlServer {
    kept: Vec<u8>,
    logged_in: bool,
    /// SQL of the prepared statements.
    prepared: Vec<String>,
    /// Replies that need no response from the caller.
    pending: Vec<u8>,
    /// `Some` while a statement that returns rows waits for its answer; `true` for the binary format.
    rows: Option<bool>,
    last_id: u32,
    over: bool,
}

impl MysqlServer {
    /// Creates the state of a fresh connection.
    pub fn new() -> MysqlServer {
        MysqlServer::default()
    }

    fn packet(
        &mut self,
        packet: &[u8],
        number: u8,
        hear: &mut dyn FnMut(ServerRequest<'_>),
    ) -> Result<(), ProtocolError> {
        if !std::mem::replace(&mut self.logged_in, true) {
            put_ok(number.wrapping_add(1), &mut self.pending);
            return Ok(());
        }
        let (&command, argument) = packet.split_first().ok_or(ProtocolError(brunt_cause::mysql::client_empty()))?;
        match command {
            COM_QUIT => self.over = true,
            COM_PING => put_ok(1, &mut self.pending),
            COM_QUERY => {
                let sql = String::from_utf8_lossy(argument).into_owned();
                self.hear(&sql, argument, false, hear);
            }
            COM_STMT_PREPARE => self.prepare(argument)?,
            COM_STMT_EXECUTE => {
                let id = argument.first_chunk().map_or(0, |id| u32::from_le_bytes(*id));
                let sql = self.prepared.get((id as usize).wrapping_sub(1)).cloned();
                let sql = sql.ok_or(ProtocolError(brunt_cause::mysql::client_unprepared()))?;
                self.hear(&sql, argument, true, hear);
            }
            _ => put_err(1047, "Unknown command", &mut self.pending),
        }
        Ok(())
    }

    fn hear(&mut self, sql: &str, argument: &[u8], binary: bool, hear: &mut dyn FnMut(ServerRequest<'_>)) {
        let method = sql.split_ascii_whitespace().next().unwrap_or_default();
        self.rows = returns_rows(sql).then_some(binary);
        self.last_id = self.last_id.wrapping_add(1);
        let body_bytes = argument.len() as u64;
        hear(ServerRequest {
            id: self.last_id,
            method,
            path: sql,
            head: sql.as_bytes(),
            body_bytes,
            body: argument,
            part: RequestPart::Whole,
        });
    }

    fn prepare(&mut self, sql: &[u8]) -> Result<(), ProtocolError> {
        if self.prepared.len() == MOST_PREPARED {
            return Err(ProtocolError(brunt_cause::mysql::client_prepares()));
        }
        let sql = String::from_utf8_lossy(sql).into_owned();
        let parameters = sql.bytes().filter(|b| *b == b'?').count() as u16;
        let columns = u16::from(returns_rows(&sql));
        self.prepared.push(sql);
        let mut head = vec![OK];
        head.extend_from_slice(&(self.prepared.len() as u32).to_le_bytes());
        head.extend_from_slice(&columns.to_le_bytes());
        head.extend_from_slice(&parameters.to_le_bytes());
        head.extend_from_slice(&[0, 0, 0]);
        put_packet(1, &head, &mut self.pending);
        let described = columns + parameters;
        (0..described).for_each(|n| put_packet((n + 2) as u8, &column(), &mut self.pending));
        Ok(())
    }
}

impl ServerSession for MysqlServer {
    fn open(&mut self, out: &mut OutputBuffer) {
        let mut greeting = b"\x0a8.0.0-brunt\0\x01\0\0\0abcdefgh\0".to_vec();
        // LONG_PASSWORD, CONNECT_WITH_DB, PROTOCOL_41, SECURE_CONNECTION; PLUGIN_AUTH, DEPRECATE_EOF.
        greeting.extend_from_slice(&0x8209_u16.to_le_bytes());
        greeting.extend_from_slice(b"\x2d\x02\0");
        greeting.extend_from_slice(&0x0108_u16.to_le_bytes());
        greeting.extend_from_slice(b"\x15\0\0\0\0\0\0\0\0\0\0ijklmnopqrst\0mysql_native_password\0");
        put_packet(0, &greeting, out.buffer());
    }

    fn receive(&mut self, bytes: &[u8], hear: &mut dyn FnMut(ServerRequest<'_>)) -> Result<(), ProtocolError> {
        self.kept.extend_from_slice(bytes);
        while self.kept.len() >= HEADER && !self.over {
            let size = payload_length(&self.kept);
            if size > BOUND || size == WHOLE {
                return Err(ProtocolError(brunt_cause::mysql::client_long()));
            }
            if self.kept.len() < HEADER + size {
                break;
            }
            let rest = self.kept.split_off(HEADER + size);
            let packet = std::mem::replace(&mut self.kept, rest);
            self.packet(&packet[HEADER..], packet[3], hear)?;
        }
        Ok(())
    }

    fn respond(&mut self, id: u32, reply: &ServerResponse<'_>, out: &mut OutputBuffer) {
        if id != self.last_id || self.over {
            return;
        }
        let out = out.buffer();
        match self.rows.take() {
            _ if reply.status >= 400 => put_err(1105, &String::from_utf8_lossy(reply.body), out),
            None => put_ok(1, out),
            Some(binary) => {
                put_packet(1, &[1], out);
                put_packet(2, &column(), out);
                let mut row = if binary { vec![0, 0] } else { Vec::new() };
                put_integer(reply.body.len(), &mut row);
                row.extend_from_slice(reply.body);
                row.truncate(BOUND);
                put_packet(3, &row, out);
                put_packet(4, &[EOF, 0, 0, 2, 0, 0, 0], out);
            }
        }
        self.over |= reply.close;
    }

    fn write_due(&mut self, out: &mut OutputBuffer) {
        out.put(&self.pending);
        self.pending.clear();
    }

    fn is_finished(&self) -> bool {
        self.over
    }
}

fn returns_rows(sql: &str) -> bool {
    let word = sql.split_ascii_whitespace().next().unwrap_or_default();
    ["select", "show", "values", "table"].iter().any(|known| word.eq_ignore_ascii_case(known))
}

fn put_ok(number: u8, out: &mut Vec<u8>) {
    put_packet(number, &[OK, 0, 0, 2, 0, 0, 0], out);
}

fn put_err(code: u16, message: &str, out: &mut Vec<u8>) {
    let mut packet = vec![ERR];
    packet.extend_from_slice(&code.to_le_bytes());
    packet.extend_from_slice(b"#HY000");
    packet.extend_from_slice(&message.as_bytes()[..message.len().min(512)]);
    put_packet(1, &packet, out);
}

/// Returns the description of a text column: catalog, schema, table (twice), name (twice), and fixed fields ("Column
/// Definition 41").
fn column() -> Vec<u8> {
    let mut packet = b"\x03def\0\0\0\x04body\0\x0c".to_vec();
    packet.extend_from_slice(&[45, 0, 0, 0, 1, 0, 0xfd, 0, 0, 0, 0, 0]);
    packet
}
