//! Causes for PostgreSQL: messages, logins and results.

crate::sentences! { "postgres":
    wrong_password = "the server refused the login: the password is wrong (28P01)", "服务器拒绝登录：密码错误（28P01）";
    not_from_here =
        "the server refused the login: this user may not log in from here (28000)",
        "服务器拒绝登录：不允许该用户从本机登录（28000）";
    not_this_database =
        "the server refused the login: this user may not connect to this database (42501)",
        "服务器拒绝登录：该用户无权连接此数据库（42501）";
    no_database =
        "the server refused the login: there is no such database (3D000)", "服务器拒绝登录：数据库不存在（3D000）";
    full = "the server refused the connection: it has too many connections (53300)", "服务器拒绝连接：连接数过多（53300）";
    terminated =
        "the server closed the connection: terminated by an administrator, or shutting down (57P01)",
        "服务器关闭了连接：被管理员终止，或正在关闭（57P01）";
    starting =
        "the server refused the connection: it is starting up or shutting down (57P03)",
        "服务器拒绝连接：正在启动或关闭（57P03）";
    refused = "the server refused the connection with an error", "服务器拒绝了连接并返回错误";
    wrong_length = "a message with an impossible length", "消息的长度不合理";
    wrong_type = "a message of a type that PostgreSQL does not have", "消息的类型在 PostgreSQL 中不存在";
    no_password =
        "the server requires a password; use postgres://user:password@host",
        "服务器要求密码；请写成 postgres://user:password@host";
    no_tls = "the server does not support TLS, which was requested (ssl)", "要求使用 TLS（ssl），但服务器不支持";
    clear_after_tls = "the server sent cleartext after agreeing to TLS", "服务器同意 TLS 之后发送了明文";
    wrong_ssl_response = "the response to SSLRequest is neither S nor N", "对 SSLRequest 的响应既不是 S 也不是 N";
    wrong_authentication = "an invalid authentication message", "无法识别的认证消息";
    asks_again = "the server keeps asking for the password", "服务器反复索要密码";
    no_own_proof =
        "the server accepts the login without its own SCRAM-SHA-256 proof",
        "服务器接受了登录，却没有给出自己的 SCRAM-SHA-256 证明";
    no_method = "the server offers no supported password authentication", "服务器提供的密码认证方式均不受支持";
    other_login =
        "the server requires Kerberos, GSSAPI, SSPI or another unsupported login",
        "服务器要求 Kerberos、GSSAPI、SSPI 或其他不受支持的登录方式";
    short_row = "a row that is shorter than announced", "行的实际长度小于声明的长度";
    too_large = "an error or another message of more than 64 KiB", "错误消息或其他消息超过 64 KiB";
    scram_order = "the server's SCRAM-SHA-256 steps are out of order", "服务器的 SCRAM-SHA-256 步骤顺序错误";
    scram_message = "the server's SCRAM-SHA-256 message is invalid", "服务器的 SCRAM-SHA-256 消息无效";
    scram_nonce = "the server did not use our nonce in SCRAM-SHA-256", "服务器在 SCRAM-SHA-256 中没有使用 brunt 给出的随机数";
    scram_rounds =
        "the server asks for an invalid number of SCRAM-SHA-256 iterations",
        "服务器要求的 SCRAM-SHA-256 迭代次数无效";
    scram_signature =
        "the server does not know the password itself: its SCRAM-SHA-256 signature is wrong",
        "服务器并不知道该密码：其 SCRAM-SHA-256 签名有误";
    copy_both = "the server wants to copy in both directions, which is not supported", "服务器要求双向 COPY，brunt 不支持";
    ready_too_soon = "the server is ready before the login finished", "登录尚未完成，服务器就发来了就绪消息";
    misplaced = "a message that PostgreSQL does not send at this point", "收到 PostgreSQL 此时不会发送的消息";
    unsolicited = "unsolicited bytes", "收到没有对应请求的数据";
}
