//! The options that say who is asking, for all protocols that begin with a head of HTTP.

use wire::{OptionSpec, many, one};

/// `--user`.
pub const USER: OptionSpec = one(
    "user",
    "NAME:PASSWORD",
    "Basic authentication; @FILE reads it from a file",
    "基本认证（用户名:密码）；@FILE 从文件读取",
);

/// `--bearer`.
pub const BEARER: OptionSpec = one(
    "bearer",
    "TOKEN",
    "Send Authorization: Bearer TOKEN; @FILE reads it from a file",
    "发送 Authorization: Bearer 令牌；@FILE 从文件读取",
);

/// `--cookie`.
pub const COOKIE: OptionSpec = many(
    "cookie",
    "NAME=VALUE",
    "Send a cookie, repeatable; @FILE reads them from a file",
    "发送 Cookie，可重复；@FILE 从文件读取",
);
