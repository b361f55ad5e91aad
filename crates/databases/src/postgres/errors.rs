//! SQLSTATE codes as numbers: five letters and digits in base 36, with PostgreSQL's names for those that a load test is
//! likely to meet ("PostgreSQL Error Codes").

/// The code of an exchange without an error.
pub const OK: u32 = 1;
/// The code of an error without an SQLSTATE.
const NONE: u32 = 2;

const NAMES: [(&str, &str); 40] = [
    ("08006", "connection failure"),
    ("08P01", "protocol violation"),
    ("22001", "text too long"),
    ("22003", "number out of range"),
    ("22007", "invalid date or time"),
    ("22012", "division by zero"),
    ("22P02", "invalid text for the type"),
    ("23502", "not null violation"),
    ("23503", "foreign key violation"),
    ("23505", "unique violation"),
    ("23514", "check violation"),
    ("23P01", "exclusion violation"),
    ("25006", "read-only transaction"),
    ("25P02", "transaction failed before"),
    ("25P03", "idle in transaction too long"),
    ("26000", "no such prepared statement"),
    ("28000", "login not permitted"),
    ("28P01", "wrong password"),
    ("3D000", "no such database"),
    ("40001", "serialization failure"),
    ("40P01", "deadlock"),
    ("42501", "permission denied"),
    ("42601", "syntax error"),
    ("42703", "no such column"),
    ("42804", "wrong type"),
    ("42883", "no such function"),
    ("42P01", "no such table"),
    ("42P05", "prepared statement already exists"),
    ("42P07", "table already exists"),
    ("42P18", "unknown type of a parameter"),
    ("53100", "disk full"),
    ("53200", "out of memory"),
    ("53300", "too many connections"),
    ("55006", "object in use"),
    ("55P03", "lock not available"),
    ("57014", "query cancelled"),
    ("57P01", "terminated by an administrator or a shutdown"),
    ("57P02", "server crashed"),
    ("57P03", "server is starting up"),
    ("XX000", "internal error"),
];

/// Returns the numeric code of an SQLSTATE.
pub fn code(state: &[u8]) -> u32 {
    let digit = |byte: &u8| char::from(*byte).to_digit(36);
    let digits: Option<Vec<u32>> = state.iter().map(digit).collect();
    match digits {
        Some(digits) if digits.len() == 5 => digits.iter().fold(0, |code, digit| code * 36 + digit).max(NONE),
        _ => NONE,
    }
}

/// Returns the name of a code: `23505 unique violation`.
pub fn name(code: u32) -> String {
    match code {
        OK => return "ok".to_owned(),
        NONE => return "error without a code".to_owned(),
        _ => {}
    }
    let mut state = String::new();
    let mut rest = code;
    for _ in 0..5 {
        state.insert(0, char::from_digit(rest % 36, 36).unwrap_or('0').to_ascii_uppercase());
        rest /= 36;
    }
    match NAMES.iter().find(|(known, _)| *known == state) {
        Some((_, name)) => format!("{state} {name}"),
        None => state,
    }
}

/// Returns the cause for a connection refused by the server.
pub fn refused(state: &[u8]) -> brunt_cause::StaticCause {
    match state {
        b"28P01" => brunt_cause::postgres::wrong_password(),
        b"28000" => brunt_cause::postgres::not_from_here(),
        b"42501" => brunt_cause::postgres::not_this_database(),
        b"3D000" => brunt_cause::postgres::no_database(),
        b"53300" => brunt_cause::postgres::full(),
        b"57P01" => brunt_cause::postgres::terminated(),
        b"57P03" => brunt_cause::postgres::starting(),
        _ => brunt_cause::postgres::refused(),
    }
}
