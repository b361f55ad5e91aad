//! The queries, and the counters that their answers are recorded under.

use crate::number;
use brunt_counters::CounterSink;

/// The values of the row, `None` for NULL; or the reason why there is no row.
pub type RowAnswer = Result<Vec<Option<String>>, String>;

const OF_OTHERS: &str = "the states of other users' sessions are not shown to this user: GRANT pg_monitor TO it";

/// A query that returns one row.
#[derive(Debug)]
pub struct RowQuery {
    /// Prefix of its counters: `database` in `postgres.database.xact_commit`.
    pub group: &'static str,
    pub sql: &'static str,
    /// Columns of the row in order.
    columns: &'static [&'static str],
}

/// All queries, sent separately: if one is refused, or names a column that an old version lacks, the others are
/// still answered.
pub const ALL: [RowQuery; 4] = [
    RowQuery {
        group: "database",
        sql: "SELECT numbackends, xact_commit, xact_rollback, blks_read, blks_hit, blk_read_time, tup_returned, tup_fetched, temp_files, \
              deadlocks \
              FROM pg_stat_database WHERE datname = current_database()",
        columns: &[
            "numbackends",
            "xact_commit",
            "xact_rollback",
            "blks_read",
            "blks_hit",
            "blk_read_time",
            "tup_returned",
            "tup_fetched",
            "temp_files",
            "deadlocks",
        ],
    },
    // Sessions of clients. All counts but the first cover only this database, without our own session. A user
    // without pg_read_all_stats sees that other users' sessions exist, but neither their kind nor their state. The
    // first session to wait for a row waits for the transaction that holds it, the others for the row itself.
    // Sessions that were already waiting when we connected are not part of the run.
    RowQuery {
        group: "activity",
        sql: "SELECT count(*), \
              count(*) FILTER (WHERE here AND state IS NULL AND query = '<insufficient privilege>'), \
              count(*) FILTER (WHERE here AND state = 'disabled'), \
              count(*) FILTER (WHERE here AND state = 'active'), \
              count(*) FILTER (WHERE here AND state LIKE 'idle in transaction%'), \
              count(*) FILTER (WHERE here AND wait_event_type = 'Lock'), \
              count(*) FILTER (WHERE here AND wait_event_type = 'Lock' AND wait_event IN ('transactionid', 'tuple') \
                AND query_start >= (SELECT backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid())), \
              count(*) FILTER (WHERE here AND wait_event_type = 'IO'), \
              count(*) FILTER (WHERE here AND wait_event_type = 'LWLock') \
              FROM (SELECT *, datname = current_database() AND pid <> pg_backend_pid() AS here FROM pg_stat_activity \
                WHERE datid IS NOT NULL AND usesysid IS NOT NULL \
                AND coalesce(backend_type, 'client backend') = 'client backend') AS sessions",
        columns: &[
            "clients",
            "hidden",
            "untracked",
            "active",
            "idle_in_transaction",
            "waiting_lock",
            "waiting_row",
            "waiting_io",
            "waiting_lwlock",
        ],
    },
    RowQuery {
        group: "tables",
        sql: "SELECT coalesce(sum(seq_scan), 0), coalesce(sum(seq_tup_read), 0), coalesce(sum(idx_scan), 0) \
              FROM pg_stat_user_tables",
        columns: &["seq_scan", "seq_tup_read", "idx_scan"],
    },
    RowQuery {
        group: "setting",
        sql: "SELECT current_setting('max_connections'), current_setting('superuser_reserved_connections'), \
              coalesce(current_setting('reserved_connections', true), '0'), pg_size_bytes(current_setting('shared_buffers')), \
              (current_setting('track_io_timing') = 'on')::int, current_setting('server_version')",
        columns: &[
            "max_connections",
            "superuser_reserved_connections",
            "reserved_connections",
            "shared_buffers",
            "track_io_timing",
            "server_version",
        ],
    },
];

/// Counter of other sessions whose details or state are hidden.
const HIDDEN: &str = "hidden";
const UNTRACKED: &str = "untracked";

impl RowQuery {
    /// Adds the answer, or the reason for the failure.
    pub fn put(&self, answer: &RowAnswer, sink: &mut CounterSink) {
        let name = |column: &str| format!("postgres.{}.{column}", self.group);
        let values = match answer {
            Ok(values) => values,
            Err(why) => return sink.unobservable(&format!("postgres.{}", self.group), why),
        };
        let value = |wanted: &str| {
            let at = self.columns.iter().position(|column| *column == wanted)?;
            values.get(at)?.as_deref()
        };
        let some = |column| value(column).is_some_and(|count| count != "0");
        for column in self.columns.iter().filter(|column| ![HIDDEN, UNTRACKED].contains(column)) {
            let of_states = self.group == "activity" && *column != "clients";
            match value(column) {
                _ if of_states && some(HIDDEN) => sink.unobservable(&name(column), OF_OTHERS),
                _ if of_states && !column.starts_with("waiting") && some(UNTRACKED) => {
                    sink.unobservable(&name(column), "track_activities is off");
                }
                Some(text) if *column == "server_version" => {
                    sink.label(&["postgres", self.group, column], &text.chars().take(100).collect::<String>());
                }
                Some(text) => match number(text) {
                    Some(number) => sink.put_number(&["postgres", self.group, column], number),
                    None => sink.unobservable(&name(column), "it is not a number"),
                },
                None => sink.unobservable(&name(column), "the server does not report it"),
            }
        }
    }
}
