//! Causes for TLS: certificates, handshakes and records.

crate::sentences! { "tls":
    plain_http(host) =
        "{host} does not use TLS on this port: it responded in plain HTTP; use a scheme without TLS (http://, ws://)",
        "{host} 在该端口不使用 TLS（它以明文 HTTP 响应），请改用不带 TLS 的协议前缀（http://、ws://）", before;
    no_tls(host) =
        "{host} does not use TLS on this port; use a scheme without TLS",
        "{host} 在该端口不使用 TLS，请改用不带 TLS 的协议前缀", before;
    closed =
        "the connection was closed during the TLS handshake; if this port does not use TLS, use a scheme without TLS",
        "连接在 TLS 握手期间被关闭；如果该端口不使用 TLS，请改用不带 TLS 的协议前缀", before;
    expired(host) = "the certificate of {host} has expired", "{host} 的证书已过期", before;
    expired_on(host, day) = "the certificate of {host} expired on {day}", "{host} 的证书已于 {day} 过期", before;
    not_yet(host) = "the certificate of {host} is not valid yet", "{host} 的证书尚未生效", before;
    unknown_issuer(host) =
        "the certificate of {host} comes from an unknown issuer; trust its authority with --cacert FILE, or skip the check \
            with --insecure",
        "{host} 的证书由未知机构签发；请用 --cacert 文件 信任该机构，或用 --insecure 跳过校验", before;
    self_signed(host) =
        "the certificate of {host} is self-signed; trust it with --cacert FILE, or skip the check with --insecure",
        "{host} 的证书是自签名的；请用 --cacert 文件 信任它，或用 --insecure 跳过校验", before;
    other_names(host, names) =
        "the certificate of {host} is for a different name: {names}", "{host} 的证书是为其他名称签发的：{names}", before;
    no_name(host, extension) =
        "the certificate of {host} is not valid for any name: it has no subjectAltName, and its CN is ignored; \
            recreate it with -addext {extension}, or skip the check with --insecure",
        "{host} 的证书不含任何名称：没有 subjectAltName，而 CN 不再被采用；请用 -addext {extension} 重新生成，或用 --insecure 跳过校验", before;
    version_1(host, extension) =
        "the certificate of {host} is X.509 version 1, without host names; recreate it with -addext {extension}, or \
            skip the check with --insecure",
        "{host} 的证书是 X.509 第 1 版，不含主机名；请用 -addext {extension} 重新生成，或用 --insecure 跳过校验", before;
    client_certificate(host) =
        "{host} requires a client certificate; give it with --cert and --key",
        "{host} 要求客户端证书，请用 --cert 和 --key 提供", before;
    plain_http2(host) =
        "{host} does not use TLS on this port: it responded in plain HTTP/2; use a scheme without TLS (http:// with \
            --http2, grpc://)",
        "{host} 在该端口不使用 TLS（它以明文 HTTP/2 响应），请改用不带 TLS 的协议前缀（http:// 加 --http2、grpc://）";
    not_before(host, day) =
        "the certificate of {host} is valid only from {day}; is the clock right?",
        "{host} 的证书自 {day} 起才有效；请检查时钟是否正确";
    other_name(host) = "the certificate of {host} is for a different name", "{host} 的证书是为其他名称签发的";
    revoked(host) = "the certificate of {host} was revoked", "{host} 的证书已被吊销";
    wrong_signature(host) =
        "the certificate of {host} is not signed by its issuer, or the issuer's key is too weak (RSA below 2,048 bits); \
            trust its authority with --cacert FILE, or skip the check with --insecure",
        "{host} 的证书并非由其颁发者签名，或颁发者的密钥过弱（RSA 少于 2048 位）；请用 --cacert 文件 信任该机构，或用 --insecure 跳过校验";
    malformed(host) = "the certificate of {host} is malformed", "{host} 的证书格式有误";
    no_server(host) = "the certificate of {host} is not a server certificate", "{host} 的证书不是服务器证书";
    not_accepted(host, why) = "the certificate of {host} was not accepted: {why}", "{host} 的证书未被接受：{why}";
    no_certificate(host) = "{host} presented no certificate", "{host} 没有出示证书";
    corrupt(host) =
        "a TLS record from {host} is corrupt: it cannot be decrypted", "来自 {host} 的一条 TLS 记录已损坏，无法解密";
    long_record(host) = "{host} sent a TLS record longer than allowed", "{host} 发送的 TLS 记录超过允许的长度";
    failed(host, why) = "TLS with {host} failed: {why}", "与 {host} 的 TLS 通信失败：{why}";
    own_certificate(host, alert) =
        "{host} did not accept our certificate ({alert}); see --cert and --key",
        "{host} 不接受客户端证书（{alert}）；请检查 --cert 与 --key";
    unrecognised_name(host) =
        "{host} has no certificate for this name (alert UnrecognisedName)",
        "{host} 没有该名称的证书（警报 UnrecognisedName）";
    no_protocol(host) = "{host} supports none of the protocols offered through ALPN", "{host} 不支持 ALPN 中列出的任何协议";
    no_version(host) =
        "{host} supports none of the TLS versions offered: 1.2 and 1.3, unless --tlsv1.3 or --tls-max says otherwise",
        "{host} 不支持 brunt 提供的任何 TLS 版本：默认为 1.2 与 1.3，--tlsv1.3 和 --tls-max 可改变范围";
    refused(host, alert) =
        "{host} refused the handshake ({alert}): no common cipher suite, or it requires a client certificate",
        "{host} 拒绝了握手（{alert}）：双方没有共同的密码套件，或服务器要求客户端证书";
    internal(host) = "{host} aborted TLS because of an internal error", "{host} 因内部错误中止了 TLS";
    alert(host, alert) = "{host} aborted TLS with the alert {alert}", "{host} 发送警报 {alert} 并中止了 TLS";
    nothing_common(host, why) =
        "{host} and brunt have no TLS parameters in common: {why}", "{host} 与 brunt 没有共同的 TLS 参数：{why}";
    no_server_name(host) =
        "`{host}` is not a valid server name for TLS; write a host name or an IP address",
        "`{host}` 不是有效的 TLS 服务器名称；请写主机名或 IP 地址";
    names_and_more(names, more) = "{names} and {more} more", "{names}，另有 {more} 个";
}
