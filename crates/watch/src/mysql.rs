//! `SHOW GLOBAL STATUS` of MySQL and MariaDB, and the settings that limit it, over one connection: two queries
//! a second.

use brunt_cause::Complaint;
use std::io;

use brunt_contract::DatabaseRow;
use brunt_counters::CounterSink;

use super::client::{ServerProtocol, WatchClient, invalid, server_error};
use super::database::DatabaseKind;
use super::{is_name, number};

const STATUS: &str = "SHOW GLOBAL STATUS";
/// Settings that counters are compared with. The other six hundred or so are used by no rule.
const SETTINGS: &str = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('max_connections', 'max_user_connections', \
    'thread_cache_size', 'thread_pool_size', 'back_log', 'open_files_limit', 'table_open_cache', 'tmp_table_size', \
    'innodb_buffer_pool_size', 'innodb_flush_log_at_trx_commit', 'innodb_lock_wait_timeout', 'innodb_page_size', \
    'innodb_thread_concurrency', 'sync_binlog', 'long_query_time', 'version')";

/// Accepted form: `mysql://USER[:PASSWORD]@HOST[:PORT][?ssl]`.
const MYSQL: DatabaseKind = DatabaseKind {
    server_protocol: ServerProtocol {
        name: "MySQL",
        refusal: |kept, _| brunt_protocols::mysql::parse_excerpt(kept).map(server_error),
    },
    protocol: &brunt_protocols::mysql::MysqlProtocol,
    schemes: &["mysql"],
    port: 3306,
    needs_database: false,
    example: [
        "write mysql=mysql://USER:PASSWORD@HOST:PORT, followed by ?ssl for TLS",
        "请写 mysql=mysql://USER:PASSWORD@HOST:PORT，用 TLS 时在后面加 ?ssl",
    ],
};

/// The server's answer: names and values as it spells them.
#[derive(Debug, Default)]
pub struct MysqlStatus {
    status: Vec<(String, String)>,
    settings: Vec<(String, String)>,
}

/// Parses a URL of the form shown at [`MYSQL`].
///
/// # Errors
///
/// Returns a message that says what is wrong with the text.
pub fn client(text: &str) -> Result<WatchClient, Complaint> {
    MYSQL.client(text, &[STATUS, SETTINGS])
}

/// Queries all current counters.
pub fn ask(client: &mut WatchClient) -> io::Result<MysqlStatus> {
    Ok(MysqlStatus { status: pairs(client, 0)?, settings: pairs(client, 1)? })
}

/// Runs a query whose rows consist of a name and a value.
fn pairs(client: &mut WatchClient, question: usize) -> io::Result<Vec<(String, String)>> {
    let rows = client.rows(question)?.map_err(|why| invalid(&why))?;
    let text = |value: Option<Vec<u8>>| String::from_utf8_lossy(&value.unwrap_or_default()).into_owned();
    let pair = |row: DatabaseRow| <[_; 2]>::try_from(row).ok().map(|[name, value]| (text(name), text(value)));
    let pairs: Option<Vec<_>> = rows.into_iter().map(pair).collect();
    pairs.ok_or_else(|| invalid("it returns SHOW GLOBAL STATUS with columns other than a name and a value"))
}

/// Adds every number under `mysql.` and its name as the server spells it, settings under `mysql.variable.`.
/// Returns `false` if there are none.
pub fn put(told: &MysqlStatus, sink: &mut CounterSink) -> bool {
    let before = sink.count();
    for (name, value) in told.status.iter().filter(|(name, _)| is_name(name)) {
        if let Some(number) = number(value) {
            sink.put_number(&["mysql", name], number);
        }
    }
    let found = sink.count() > before;
    for (name, value) in told.settings.iter().filter(|(name, _)| is_name(name)) {
        if name == "version" {
            sink.label(&["mysql", "variable", name], &value.chars().take(100).collect::<String>());
        } else if let Some(number) = number(value) {
            sink.put_number(&["mysql", "variable", name], number);
        }
    }
    found
}

#[cfg(test)]
mod tests;
