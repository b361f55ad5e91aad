//! Causes for MySQL: packets, logins and results.

crate::sentences! { "mysql":
    refused(error) = "the server refuses the connection: {error}", "服务器拒绝连接：{error}", fixed;
    refused_by_error = "the server refuses the connection with an error", "服务器拒绝连接并返回错误";
    empty_packet = "the server sent an empty packet", "服务器发送了空数据包";
    no_column_end = "the column list of a result has no proper end", "结果的列定义没有正确结束";
    local_infile =
        "the server asks for a local file (LOCAL INFILE), which brunt never sends",
        "服务器要求发送本地文件（LOCAL INFILE），brunt 不会发送";
    too_many_columns =
        "the server announces a result with an impossible number of columns", "服务器声明的结果列数不合理";
    no_pong = "the server did not respond to a ping with OK", "服务器对 ping 的响应不是 OK";
    ends_idle = "the server closed an idle connection with an error", "服务器返回错误并断开了空闲连接";
    unsolicited = "the server sent an unsolicited packet", "服务器发来没有对应请求的数据包";
    no_rsa_key =
        "the public key the server sent for the password is not an RSA key", "服务器发来的密码加密公钥不是 RSA 密钥";
    long_password = "the password is too long for the public key the server sent", "密码过长，无法用服务器发来的公钥加密";
    short_packet = "a packet from the server ends too early", "服务器发来的数据包不完整";
    wrong_integer =
        "a packet from the server has an invalid byte where an integer should start",
        "服务器发来的数据包中，整数字段的首字节无效";
    no_mysql =
        "the greeting is not from a MySQL server (protocol version 10)",
        "收到的握手包不是 MySQL 服务器发出的（协议版本 10）";
    too_old = "the server is older than MySQL 4.1 and uses a different protocol", "服务器版本早于 MySQL 4.1，使用的协议不同";
    data_before_tls =
        "the server sent data before the TLS handshake it agreed to", "服务器同意使用 TLS 后，尚未握手就发送了数据";
    no_tls = "the server does not support TLS, which was requested (ssl)", "要求使用 TLS（ssl），但服务器不支持";
    asks_again = "the server keeps asking for the password", "服务器反复索要密码";
    wrong_proof = "the server's response to the password is not MySQL protocol", "服务器对密码的响应不符合 MySQL 协议";
    clear_password =
        "the server asks for the password in cleartext; use --ssl or a Unix socket",
        "服务器要求以明文发送密码；请使用 --ssl 或 Unix 套接字";
    ed25519 =
        "the server requires login by client_ed25519, which is not supported; use mysql_native_password",
        "服务器要求以 client_ed25519 方式登录，brunt 不支持；请改用 mysql_native_password";
    sha256_password =
        "the server requires login by sha256_password, which is not supported; use caching_sha2_password",
        "服务器要求以 sha256_password 方式登录，brunt 不支持；请改用 caching_sha2_password";
    no_method = "the server requires login by an unsupported method", "服务器要求的登录方式不受支持";
    wrong_prepare = "the server's response to a prepare is not MySQL protocol", "服务器对 prepare 的响应不符合 MySQL 协议";
    long_description = "the description of a column is larger than 16 MiB", "列的描述超过 16 MiB";
    out_of_order = "the server's packets are numbered out of order", "服务器的数据包序号错乱";
    too_large = "a packet that must be read as a whole is larger than 64 KiB", "必须整体读取的数据包超过 64 KiB";
    data_after_greeting =
        "the server sent more data after its greeting, before TLS", "服务器在握手包之后、TLS 之前又发送了数据";
    client_empty = "the client sent an empty command", "客户端发送了空命令";
    client_unprepared = "the client executes a statement it never prepared", "客户端执行了从未 prepare 的语句";
    client_prepares = "the client prepares more than 4096 statements", "客户端 prepare 的语句超过 4096 条";
    client_long = "the client sent a command of more than 1 MiB", "客户端发送的命令超过 1 MiB";
}
