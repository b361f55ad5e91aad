//! Causes common to MySQL and PostgreSQL.

crate::sentences! { "sql":
    rows_unchecked(why) = "the rows were not checked: {why}", "未检查返回的行：{why}", own;
    other_rows(expected, found) = "expected rows: {expected}, found: {found}", "预期行数：{expected}，实际为 {found}";
    at_least(n) = "at least {n}", "至少 {n}";
    from_to(from, to) = "{from} to {to}", "{from} 到 {to}";
}
