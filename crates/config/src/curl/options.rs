//! Every option of curl (up to 8.17) and how it is treated: honoured, reported with its consequence, or rejected.
//!
//! An option that changes the request and cannot be honoured is rejected, because the load would differ from the
//! command. An option that changes how curl handles the response or the connection is only reported.

use brunt_cause::{Complaint, complaint};

/// The treatment of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionTreatment {
    /// Means the same as in curl.
    Honoured,
    /// Affects only curl's own output or files, not the load.
    Output,
    /// The load differs from curl in this respect, in English and in Chinese.
    Differs([&'static str; 2]),
    /// The load differs from curl if users keep no cookies.
    DiffersWithoutCookies([&'static str; 2]),
    /// The command cannot be executed; holds the reason and an alternative, in English and in Chinese.
    Refused([&'static str; 2]),
}

/// A known option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CurlOption {
    /// The long name.
    pub long: &'static str,
    /// Set if the option takes a value.
    pub takes: bool,
    /// The treatment.
    pub fate: OptionTreatment,
}

/// Options with the same treatment: first those without a value, then those with one. `s,long` has a short form.
struct OptionGroup(OptionTreatment, &'static str, &'static str);

const GROUPS: &[OptionGroup] = &[
    OptionGroup(
        OptionTreatment::Honoured,
        "G,get I,head compressed k,insecure L,location path-as-is g,globoff basic proxy-basic socks5-basic 0,http1.0 http1.1 http2 http2-prior-knowledge \
         no-sessionid :,next tcp-nodelay tlsv1.2 tlsv1.3",
        "X,request H,header d,data data-ascii data-raw data-binary data-urlencode json F,form form-string b,cookie \
         A,user-agent e,referer u,user oauth2-bearer x,proxy U,proxy-user noproxy socks5 socks5-hostname resolve connect-to max-redirs m,max-time \
         connect-timeout cacert E,cert key tls-max url url-query r,range T,upload-file request-target unix-socket interface \
         z,time-cond etag-compare C,continue-at",
    ),
    OptionGroup(
        OptionTreatment::Output,
        "s,silent S,show-error v,verbose O,remote-name remote-name-all J,remote-header-name create-dirs i,include \
         #,progress-bar progress-meter no-progress-meter N,no-buffer trace-time trace-ids styled-output f,fail \
         fail-with-body fail-early raw Z,parallel parallel-immediate xattr remove-on-error clobber no-clobber \
         R,remote-time q,disable skip-existing suppress-connect-headers out-null h,help V,version M,manual",
        "o,output output-dir w,write-out trace trace-ascii trace-config stderr D,dump-header create-file-mode etag-save \
         libcurl parallel-max parallel-max-host proto proto-default proto-redir",
    ),
    OptionGroup(
        OptionTreatment::Output,
        "a,append compressed-ssh disable-eprt disable-epsv ftp-create-dirs ftp-pasv ftp-pret ftp-skip-pasv-ip \
         ftp-ssl-ccc ftp-ssl-control l,list-only mail-rcpt-allowfails sasl-ir ssl ssl-reqd tftp-no-options B,use-ascii \
         metalink ssl-auto-client-cert ssl-no-revoke ssl-revoke-best-effort ssl-allow-beast",
        "delegation egd-file engine ftp-account ftp-alternative-to-user ftp-method P,ftp-port ftp-ssl-ccc-mode hostpubmd5 \
         hostpubsha256 krb login-options mail-auth mail-from mail-rcpt pubkey Q,quote random-file sasl-authzid \
         service-name t,telnet-option tftp-blksize proxy-service-name upload-flags",
    ),
    // TLS to the proxy itself: in curl, too, these change nothing without an `https://` proxy, which `-x` refuses.
    OptionGroup(
        OptionTreatment::Honoured,
        "proxy-insecure proxy-http2 proxy-tlsv1 proxy-ssl-allow-beast proxy-ssl-auto-client-cert proxy-ca-native",
        "proxy-cacert proxy-capath proxy-cert proxy-cert-type proxy-ciphers proxy-crlfile proxy-key proxy-key-type \
         proxy-pass proxy-pinnedpubkey proxy-tls13-ciphers proxy-tlsauthtype proxy-tlspassword proxy-tlsuser",
    ),
    OptionGroup(
        OptionTreatment::DiffersWithoutCookies([
            "cookies that responses set are not kept without --cookie-jar, which gives each user a jar of its own",
            "没有 --cookie-jar 时不保留响应设置的 Cookie；加上它，每个用户各有一个",
        ]),
        "",
        "c,cookie-jar",
    ),
    OptionGroup(
        OptionTreatment::Differs(["all cookies of the file are sent", "文件中的所有 Cookie 都会发送"]),
        "j,junk-session-cookies",
        "",
    ),
    OptionGroup(
        OptionTreatment::Differs(["failed requests are not retried", "失败的请求不重试"]),
        "retry-all-errors retry-connrefused",
        "retry retry-delay retry-max-time",
    ),
    OptionGroup(
        OptionTreatment::Differs(["the load sets how fast requests are sent", "发送的快慢由负载决定"]),
        "",
        "limit-rate Y,speed-limit y,speed-time rate max-filesize",
    ),
    OptionGroup(
        OptionTreatment::Differs(["connections keep the kernel's defaults", "连接使用内核的默认设置"]),
        "no-keepalive tcp-fastopen mptcp",
        "keepalive-time keepalive-cnt local-port ip-tos vlan-priority",
    ),
    OptionGroup(
        OptionTreatment::Differs([
            "--continue-wait says how long a body waits for 100 Continue: 1 s without it",
            "正文等待 100 Continue 的时间由 --continue-wait 决定，默认 1 s",
        ]),
        "",
        "expect100-timeout",
    ),
    OptionGroup(
        OptionTreatment::Differs([
            "names are resolved by this system, and all addresses are used",
            "域名由本机系统解析，并使用其全部地址",
        ]),
        "4,ipv4 6,ipv6 doh-insecure doh-cert-status",
        "doh-url dns-servers dns-interface dns-ipv4-addr dns-ipv6-addr happy-eyeballs-timeout-ms",
    ),
    OptionGroup(
        OptionTreatment::Differs([
            "a redirect to another host is followed without credentials, and 301, 302 and 303 turn a POST into a GET",
            "重定向到其他主机时不带凭据，301、302 和 303 会把 POST 变为 GET",
        ]),
        "location-trusted post301 post302 post303 follow",
        "",
    ),
    OptionGroup(
        OptionTreatment::Differs([
            "TLS 1.2 and 1.3 are offered with brunt's own ciphers, and certificates are checked against the roots only",
            "使用 TLS 1.2 和 1.3 及 brunt 自己的加密套件，证书只对照根证书检查",
        ]),
        "1,tlsv1 tlsv1.0 tlsv1.1 no-alpn no-npn false-start cert-status ca-native ech-none",
        "ciphers tls13-ciphers curves crlfile pinnedpubkey capath cert-type key-type tls-earlydata ech sigalgs",
    ),
    OptionGroup(
        OptionTreatment::Differs(["hosts are reached as given in the URLs", "按 URL 中写的主机连接"]),
        "",
        "alt-svc hsts",
    ),
    OptionGroup(
        OptionTreatment::Differs(["the length that the server sends is trusted", "以服务器发送的长度为准"]),
        "ignore-content-length http0.9",
        "",
    ),
    OptionGroup(
        OptionTreatment::Differs(["quotes in the names of form fields are written %22", "表单字段名中的引号写作 %22"]),
        "form-escape",
        "",
    ),
    OptionGroup(
        OptionTreatment::Refused([
            "needs a challenge from the server first, which brunt does not support; use -u with basic \
                authentication, or a header",
            "需要服务器先发出质询，brunt 不支持；请用 -u 基本认证，或写请求头",
        ]),
        "anyauth digest ntlm ntlm-wb negotiate proxy-anyauth proxy-digest proxy-ntlm proxy-negotiate",
        "",
    ),
    OptionGroup(
        OptionTreatment::Refused([
            "signs every request, which is not supported yet; write the signed headers with -H",
            "要为每个请求签名，目前不支持；请用 -H 写已签名的请求头",
        ]),
        "",
        "aws-sigv4",
    ),
    OptionGroup(
        OptionTreatment::Refused([
            "reads credentials or options from another file; put them in the command",
            "要从其他文件读取凭据或选项；请写在命令中",
        ]),
        "n,netrc netrc-optional",
        "netrc-file K,config",
    ),
    OptionGroup(
        OptionTreatment::Refused([
            "is a version of HTTP that brunt does not support; leave it out",
            "是 brunt 不支持的 HTTP 或 SSL 版本；请去掉",
        ]),
        "http3 http3-only 3,sslv3 2,sslv2",
        "",
    ),
    OptionGroup(
        OptionTreatment::Refused([
            "is a proxy setting that brunt does not support; use -x with http://, socks5:// or socks5h://",
            "是 brunt 不支持的代理设置；请用 -x 加 http://、socks5:// 或 socks5h://",
        ]),
        "p,proxytunnel socks5-gssapi socks5-gssapi-nec haproxy-protocol",
        "preproxy proxy1.0 socks4 socks4a socks5-gssapi-service haproxy-clientip proxy-header",
    ),
    OptionGroup(
        OptionTreatment::Refused([
            "requests a transfer coding (TE) that brunt does not support; use --compressed",
            "要求 brunt 不支持的传输编码（TE）；请用 --compressed",
        ]),
        "tr-encoding",
        "",
    ),
    OptionGroup(
        OptionTreatment::Refused([
            "changes the line breaks of a body; convert the file before",
            "会改变正文的换行符；请事先转换文件",
        ]),
        "crlf",
        "",
    ),
    OptionGroup(
        OptionTreatment::Refused(["is expanded by curl itself; write the value", "由 curl 自己展开；请写出其值"]),
        "",
        "variable expand-url expand-data expand-header expand-user expand-data-raw expand-json",
    ),
    OptionGroup(
        OptionTreatment::Refused([
            "connects to an abstract Unix socket, which brunt cannot; use --unix-socket PATH",
            "连接抽象 Unix 套接字，brunt 不支持；请用 --unix-socket PATH",
        ]),
        "",
        "abstract-unix-socket",
    ),
    OptionGroup(
        OptionTreatment::Refused([
            "is not supported; use a PEM key without a passphrase",
            "不受支持；请用没有密码的 PEM 私钥",
        ]),
        "",
        "pass tlsauthtype tlspassword tlsuser",
    ),
    OptionGroup(
        OptionTreatment::Refused(["is not supported; leave it out", "不受支持；请去掉"]),
        "disallow-username-in-url",
        "",
    ),
];

/// Returns the option with this long name, which may be abbreviated as in curl.
///
/// # Errors
/// The name is unknown or ambiguous.
pub fn long(name: &str) -> Result<CurlOption, Complaint> {
    let mut near: Vec<CurlOption> = Vec::new();
    for found in all() {
        if found.1.long == name {
            return Ok(found.1);
        }
        if found.1.long.starts_with(name) {
            near.push(found.1);
        }
    }
    match near[..] {
        [one] => Ok(one),
        [] => Err(complaint!("is not an option of curl", "不是 curl 的选项")),
        _ => Err(complaint!(
            "could be {}; write it out",
            "可能是 {}；请写全",
            near.iter().map(|f| format!("--{}", f.long)).collect::<Vec<_>>().join(" or ")
        )),
    }
}

/// Returns the option with this short name.
pub fn short(name: char) -> Option<CurlOption> {
    all().find(|(short, _)| *short == Some(name)).map(|(_, found)| found)
}

fn all() -> impl Iterator<Item = (Option<char>, CurlOption)> {
    GROUPS.iter().flat_map(|OptionGroup(fate, switches, valued)| {
        let named = |takes: bool| {
            move |word: &'static str| match word.split_once(',') {
                Some((short, long)) => (short.chars().next(), CurlOption { long, takes, fate: *fate }),
                None => (None, CurlOption { long: word, takes, fate: *fate }),
            }
        };
        switches.split_whitespace().map(named(false)).chain(valued.split_whitespace().map(named(true)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_stands_once() {
        let mut longs: Vec<_> = all().map(|(_, found)| found.long).collect();
        let mut shorts: Vec<_> = all().filter_map(|(short, _)| short).collect();
        assert!(longs.len() > 250, "{}", longs.len());
        let (all_longs, all_shorts) = (longs.len(), shorts.len());
        longs.sort_unstable();
        longs.dedup();
        shorts.sort_unstable();
        shorts.dedup();
        assert_eq!((longs.len(), shorts.len()), (all_longs, all_shorts));
    }

    #[test]
    fn names_may_be_cut_short() {
        assert_eq!(long("compressed").map(|f| f.long), Ok("compressed"));
        assert_eq!(long("data").map(|f| f.long), Ok("data"));
        assert_eq!(long("insec").map(|f| f.long), Ok("insecure"));
        assert_eq!(long("inse-cure"), Err("is not an option of curl".into()));
        assert_eq!(long("data-b").map(|f| f.takes), Ok(true));
        assert!(long("retry-c").is_ok() && long("max-").is_err());
        assert_eq!(short('X').map(|f| (f.long, f.takes)), Some(("request", true)));
        assert_eq!(short('ß'), None);
    }
}
