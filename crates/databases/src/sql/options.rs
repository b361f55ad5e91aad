//! Options common to all databases, with the same meaning.

use std::ops::RangeInclusive;

use brunt_cause::complaint;
use brunt_cause::{Cause, CauseArgument, sql};
use brunt_contract::{HelpText, OptionSpec, ProtocolConfig, UsageError, many, one, switch};

use brunt_values::count_range;

/// How statements are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementMode {
    /// Statements with slots are prepared.
    Auto,
    /// All statements are prepared.
    Prepared,
    /// All statements are sent as text.
    Text,
}

/// Returns the options in the order of the help. `around` is the help for `--transaction`, `ssl` the help for `--ssl`.
pub const fn options(around: HelpText, ssl: HelpText) -> [OptionSpec; 8] {
    [
        many(
            "sql",
            "SQL",
            "Run this statement, or several separated by `;` as one exchange; `3x SELECT 1` has weight 3; slots \
                such as {counter} work",
            "执行该语句，或以 ; 分隔的多条语句（计为一次交换）；`3x SELECT 1` 权重为 3；可含 {counter} 等占位符",
        ),
        switch("transaction", around.en, around.zh),
        switch("prepared", "Prepare all statements, even those without slots", "预处理所有语句，包括没有占位符的语句"),
        switch(
            "text",
            "Prepare no statements: send SQL text with slots filled in",
            "不预处理语句：发送填好占位符的 SQL",
        ),
        one(
            "expect-rows",
            "N",
            "Fail unless this many rows are returned or changed: 1, 1..5, 1..",
            "返回或更改的行数不符则计为失败：1、1..5、1..",
        ),
        many("before", "SQL", "Run this once before the run, not counted", "压测前执行一次，不计入结果"),
        many("after", "SQL", "Run this once after the run, not counted", "压测后执行一次，不计入结果"),
        switch("ssl", ssl.en, ssl.zh),
    ]
}

/// Reads how statements are sent.
///
/// # Errors
/// Returns a usage error if two options contradict each other.
pub fn statement_mode(config: &ProtocolConfig) -> Result<StatementMode, UsageError> {
    match (config.switch("prepared"), config.switch("text")) {
        (true, true) => Err(UsageError::new(
            "--text",
            complaint!(
                "cannot be combined with --prepared, its opposite; leave one of them out",
                "不能与相反的 --prepared 同用；请去掉其中一个"
            ),
        )),
        (true, false) => Ok(StatementMode::Prepared),
        (false, true) => Ok(StatementMode::Text),
        (false, false) => Ok(StatementMode::Auto),
    }
}

/// Returns the cause for a wrong number of rows returned or changed.
pub fn row_count_mismatch(asked: &RangeInclusive<u64>, found: u64) -> Cause {
    let asked: CauseArgument = match (*asked.start(), *asked.end()) {
        (from, to) if from == to => from.into(),
        (from, u64::MAX) => sql::at_least(from).into(),
        (from, to) => sql::from_to(from, to).into(),
    };
    sql::other_rows(asked, found)
}

/// Reads the number of rows that an exchange must return or change.
///
/// # Errors
/// Returns a usage error if the value is neither a number nor a range.
pub fn expected_rows(config: &ProtocolConfig) -> Result<Option<RangeInclusive<u64>>, UsageError> {
    count_range::read_range(config, "expect-rows", ["rows", "行数"])
}
