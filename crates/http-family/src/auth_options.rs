//! Authentication options of all protocols that start with an HTTP head.

use brunt_contract::{OptionSpec, many, one};

/// The `--user` option.
pub const USER: OptionSpec = one(
    "user",
    "NAME:PASSWORD",
    "Basic authentication; @FILE reads it from a file",
    "基本认证（用户名:密码）；@FILE 从文件读取",
);

/// The `--bearer` option.
pub const BEARER: OptionSpec = one(
    "bearer",
    "TOKEN",
    "Send Authorization: Bearer TOKEN; @FILE reads it from a file",
    "发送 Authorization: Bearer 令牌；@FILE 从文件读取",
);

/// The `--cookie` option.
pub const COOKIE: OptionSpec = many(
    "cookie",
    "NAME=VALUE",
    "Send a cookie, repeatable; @FILE reads them from a file",
    "发送 Cookie，可重复；@FILE 从文件读取",
);
