//! Causes of PostgreSQL: messages, logins and results.

crate::sentences! { "postgres":
    wrong_password = "the server refused the login: the password is wrong (28P01)", "服务器拒绝登录：密码错误（28P01）";
    not_from_here =
        "the server refused the login: this user may not log in from here (28000)",
        "服务器拒绝登录：该用户不得从此处登录（28000）";
    not_this_database =
        "the server refused the login: this user may not connect to this database (42501)",
        "服务器拒绝登录：该用户不得连接此数据库（42501）";
    no_database =
        "the server refused the login: there is no such database (3D000)", "服务器拒绝登录：没有该数据库（3D000）";
    full = "the server refused the connection: it has too many connections (53300)", "服务器拒绝连接：连接过多（53300）";
    terminated =
        "the server closed the connection: terminated by an administrator, or shutting down (57P01)",
        "服务器关闭了连接：被管理员终止，或正在关闭（57P01）";
    starting =
        "the server refused the connection: it is starting up or shutting down (57P03)",
        "服务器拒绝连接：正在启动或关闭（57P03）";
    refused = "the server refused the connection with an error", "服务器以错误拒绝了连接";
    wrong_length = "a message with an impossible length", "消息的长度不可能成立";
    wrong_type = "a message of a type that PostgreSQL does not have", "消息的类型不是 PostgreSQL 所有";
    no_password =
        "the server requires a password; use postgres://user:password@host",
        "服务器要求密码；请写 postgres://user:password@host";
    no_tls = "the server does not support TLS, which was requested (ssl)", "服务器不支持所要求的 TLS（ssl）";
    clear_after_tls = "the server sent cleartext after agreeing to TLS", "服务器同意 TLS 之后发送了明文";
    wrong_ssl_response = "the response to SSLRequest is neither S nor N", "对 SSLRequest 的响应既不是 S 也不是 N";
    wrong_authentication = "an authentication message that makes no sense", "认证消息没有意义";
    asks_again = "the server keeps asking for the password", "服务器反复索要密码";
    no_own_proof =
        "the server accepts the login without its own SCRAM-SHA-256 proof",
        "服务器在未提供自身 SCRAM-SHA-256 证明的情况下接受了登录";
    no_method = "the server offers no supported password authentication", "服务器没有提供受支持的密码认证";
    other_login =
        "the server requires Kerberos, GSSAPI, SSPI or another unsupported login",
        "服务器要求 Kerberos、GSSAPI、SSPI 或其他不受支持的登录方式";
    short_row = "a row that is shorter than announced", "行比所声明的短";
    too_large = "an error or another message of more than 64 KiB", "错误或其他消息超过 64 KiB";
    scram_order = "the server's SCRAM-SHA-256 steps are out of order", "服务器的 SCRAM-SHA-256 步骤次序错误";
    scram_message = "the server's SCRAM-SHA-256 message is invalid", "服务器的 SCRAM-SHA-256 消息无效";
    scram_nonce = "the server did not use our nonce in SCRAM-SHA-256", "服务器没有在 SCRAM-SHA-256 中使用我方的随机数";
    scram_rounds =
        "the server asks for an invalid number of SCRAM-SHA-256 iterations",
        "服务器要求的 SCRAM-SHA-256 迭代次数无效";
    scram_signature =
        "the server does not know the password itself: its SCRAM-SHA-256 signature is wrong",
        "服务器自身并不知道密码：其 SCRAM-SHA-256 签名有误";
    copy_both = "the server wants to copy in both directions, which is not supported", "服务器要求双向复制，不受支持";
    ready_too_soon = "the server is ready before the login finished", "登录尚未完成，服务器就已就绪";
    misplaced = "a message that PostgreSQL does not send at this point", "PostgreSQL 在此处不会发送的消息";
    unsolicited = "unsolicited bytes", "未经请求的字节";
}
