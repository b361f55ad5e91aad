//! The options of MySQL.

use wire::{OptionSpec, Text};

use crate::sql;

/// The options, in the order the help shows them.
pub const OPTIONS: &[OptionSpec] = &sql::options(
    Text {
        en: "Put START TRANSACTION and COMMIT around each --sql; a failure rolls back and counts once",
        zh: "为每个 --sql 加上 START TRANSACTION 和 COMMIT；失败时回滚，只计一次失败",
    },
    Text { en: "Use TLS, which MySQL starts after its greeting", zh: "使用 TLS（MySQL 在问候之后开始）" },
);
