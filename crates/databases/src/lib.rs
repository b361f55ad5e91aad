//! Database protocols without I/O: Redis, MySQL and PostgreSQL.

pub mod mysql;
pub mod postgres;
pub mod redis;
mod sql;

/// Returns the English text of an error, which must be there in Chinese, too.
#[cfg(test)]
fn bilingual(wrong: brunt_contract::UsageError) -> String {
    assert!(wrong.is_translated(), "in English alone: {wrong}");
    wrong.to_string()
}
