//! Database protocols without I/O: Redis, MySQL and PostgreSQL.

pub mod mysql;
pub mod postgres;
pub mod redis;
mod sql;
