//! Names of server error numbers, in the terms that operators use instead of the constants of the source code.
//!
//! Numbers and meanings are from "MySQL Error Message Reference, Server Error Message Reference" and "MariaDB Error
//! Codes"; limited to those that a load test is likely to meet. Others are counted under their bare number.

use brunt_cause::StaticCause;

/// Defines the names of errors, and the causes for connections that are refused before the first request.
macro_rules! errors {
    ($($code:literal $name:literal,)*) => {
        /// Returns a name such as `1062 duplicate entry`, or the bare number of an unknown error.
        pub fn name(code: u32) -> String {
            match code {
                $($code => concat!($code, " ", $name).to_owned(),)*
                _ => code.to_string(),
            }
        }

        /// Returns the cause for a connection refused by the server.
        pub fn refused(code: u16) -> StaticCause {
            match code {
                $($code => const { &brunt_cause::mysql::refused(concat!($code, " ", $name)) }.plain(),)*
                _ => brunt_cause::mysql::refused_by_error(),
            }
        }
    };
}

errors! {
    1005 "cannot create table",
    1021 "disk full",
    1037 "out of memory",
    1038 "out of sort memory",
    1040 "too many connections",
    1041 "out of resources",
    1043 "bad handshake",
    1044 "access to database denied",
    1045 "access denied",
    1046 "no database selected",
    1048 "column cannot be null",
    1049 "unknown database",
    1050 "table already exists",
    1052 "ambiguous column",
    1053 "server shutdown",
    1054 "unknown column",
    1062 "duplicate entry",
    1064 "syntax error",
    1065 "empty query",
    1091 "cannot drop",
    1114 "table is full",
    1129 "host is blocked",
    1130 "host not allowed",
    1136 "column count differs",
    1142 "command denied",
    1146 "no such table",
    1148 "command not allowed",
    1153 "packet too large",
    1159 "network read timeout",
    1203 "user has too many connections",
    1205 "lock wait timeout",
    1206 "lock table full",
    1213 "deadlock",
    1216 "no parent row",
    1217 "child row exists",
    1226 "resource limit of user",
    1243 "unknown prepared statement",
    1251 "authentication not supported",
    1264 "value out of range",
    1290 "read only by option",
    1292 "incorrect value",
    1295 "not preparable",
    1305 "no such routine",
    1317 "query interrupted",
    1364 "field has no default",
    1366 "incorrect string value",
    1390 "too many placeholders",
    1406 "data too long",
    1429 "unable to connect to foreign server",
    1451 "child row exists",
    1452 "no parent row",
    1461 "too many prepared statements",
    1524 "authentication plugin not loaded",
    1614 "transaction branch deadlock",
    1637 "too many concurrent transactions",
    1644 "raised by the statement",
    1792 "read only transaction",
    1836 "read only mode",
    1927 "connection was killed",
    1969 "statement time limit",
    3024 "statement time limit",
    3101 "rolled back by the group",
    3118 "account locked",
    3159 "TLS is required",
    3169 "session was killed",
    3572 "lock not free",
    3819 "check constraint violated",
    3948 "local files are off",
    4025 "constraint violated",
    4031 "idle for too long",
    4151 "account locked",
}

/// Returns `true` if the server closes the connection after this error.
pub fn closes_connection(code: u16) -> bool {
    matches!(code, 1053 | 1152 | 1153 | 1156..=1161 | 1927 | 3169 | 4031)
}
