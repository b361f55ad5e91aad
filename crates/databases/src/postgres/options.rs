//! The options of PostgreSQL.

use wire::{OptionSpec, Text};

use crate::sql;

/// The options, in the order the help shows them.
pub const OPTIONS: &[OptionSpec] = &sql::options(
    Text {
        en: "Put BEGIN and COMMIT around each --sql; a failure rolls back and counts once",
        zh: "为每个 --sql 加上 BEGIN 和 COMMIT；失败时回滚，只计一次失败",
    },
    Text { en: "Use TLS (negotiated with SSLRequest)", zh: "使用 TLS（在协议内部开始）" },
);
