//! Tests of curl commands: curl and brunt run the same commands, and the requests that a server receives are compared
//! byte for byte.
//!
//! No real host is ever contacted: `--connect-to` makes both programs connect to a server of the
//! test. Without TLS every byte is compared. Over TLS, in HTTP/2 and HTTP/1.1, the requests as seen
//! by a third-party server (Node) are compared: fields with their order and case, body, and server
//! name. Allowed differences are curl's version, the boundary of a form, the case of `%3a`, the
//! order of HTTP/2's pseudo-fields, and `Expect`, which brunt does not send.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use brunt_tests::certificates::Certificates;
use brunt_tests::external::{ExternalServer, sources};
use brunt_tests::{ScriptedPeer, brunt, prepare};
use serde_json::Value;

/// Requests that Node rejects from any client: a field with white space that HTTP/2 does not allow, and in HTTP/1.1 an
/// unknown method and non-ASCII bytes in the target.
const UNREAD: [(&str, &str); 3] =
    [("--http2", "white space as it is"), ("--http1.1", "vault"), ("--http1.1", "odd characters")];

const EMPTY: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

/// Commands as copied from documentation and browsers. `DIR` is a folder with `data.json`,
/// `picture.bin`, `note.txt` and `cookies.txt`.
const COMMANDS: &[(&str, &str)] = &[
    // GitHub: REST API, quickstart and endpoints.
    (
        "github quickstart",
        r#"curl --request GET --url "https://api.github.com/octocat" --header "Accept: application/vnd.github+json" --header "Authorization: Bearer YOUR-TOKEN" --header "X-GitHub-Api-Version: 2022-11-28""#,
    ),
    (
        "github create issue",
        "curl -L \\\n  -X POST \\\n  -H \"Accept: application/vnd.github+json\" \\\n  -H \"Authorization: Bearer <YOUR-TOKEN>\" \\\n  -H \"X-GitHub-Api-Version: 2022-11-28\" \\\n  https://api.github.com/repos/OWNER/REPO/issues \\\n  -d '{\"title\":\"Found a bug\",\"body\":\"I'\\''m having a problem with this.\",\"labels\":[\"bug\"]}'",
    ),
    (
        "github delete",
        r#"curl -L -X DELETE -H "Authorization: Bearer t" https://api.github.com/user/starred/OWNER/REPO"#,
    ),
    (
        "github lock without a body",
        r#"curl -L -X PUT -H "Accept: application/vnd.github+json" https://api.github.com/user/starred/OWNER/REPO"#,
    ),
    (
        "github search",
        r#"curl -G https://api.github.com/search/issues --data-urlencode "q=repo:rust-lang/rust is:open label:\"C-bug\"" -d per_page=5"#,
    ),
    // Stripe.
    (
        "stripe charge",
        "curl https://api.stripe.com/v1/charges \\\n  -u sk_test_key: \\\n  -d amount=2000 \\\n  -d currency=usd \\\n  -d source=tok_visa \\\n  -d \"metadata[order_id]\"=6735",
    ),
    (
        "stripe idempotent",
        r#"curl https://api.stripe.com/v1/customers -u "sk_test_key:" -H "Idempotency-Key: KG5LxwFBepaKHyUD" --data-urlencode description="My First Test Customer (created for API docs at https://www.stripe.com/docs/api)""#,
    ),
    ("stripe list", r#"curl -G https://api.stripe.com/v1/charges -u sk_test_key: -d limit=3"#),
    (
        "stripe upload",
        r#"curl https://files.stripe.com/v1/files -u sk_test_key: -F purpose=dispute_evidence -F file="@DIR/picture.bin""#,
    ),
    // Elasticsearch.
    (
        "elasticsearch search",
        "curl -X GET \"localhost:9200/my-index-000001/_search?pretty\" -H 'Content-Type: application/json' -d'\n{\n  \"query\": {\n    \"match_all\": { }\n  }\n}\n'",
    ),
    (
        "elasticsearch bulk",
        r#"curl -s -H "Content-Type: application/x-ndjson" -XPOST localhost:9200/_bulk --data-binary "@DIR/note.txt""#,
    ),
    (
        "elasticsearch put",
        r#"curl -X PUT "localhost:9200/customer/_doc/1?pretty" -H 'Content-Type: application/json' -d '{"name": "John Doe"}'"#,
    ),
    ("elasticsearch cat", "curl 'localhost:9200/_cat/indices?v=true&s=index'"),
    (
        "elasticsearch basic",
        "curl -k -u elastic:changeme 'https://localhost:9200/_cluster/health?wait_for_status=yellow&timeout=50s'",
    ),
    // Slack.
    (
        "slack webhook",
        r#"curl -X POST -H 'Content-type: application/json' --data '{"text":"Hello, World!"}' https://hooks.slack.com/services/T00/B00/XXX"#,
    ),
    (
        "slack form token",
        r#"curl -F file=@DIR/note.txt -F "initial_comment=Shakes the cat" -F channels=C024BE91L,D032AC32T -H "Authorization: Bearer xoxb-xxx" https://slack.com/api/files.upload"#,
    ),
    (
        "slack api test",
        r##"curl --data-urlencode 'payload={"channel": "#general", "text": "a & b"}' https://slack.com/api/chat.postMessage -H 'Content-Type: application/x-www-form-urlencoded; charset=utf-8'"##,
    ),
    // Kubernetes.
    (
        "kubernetes pods",
        r#"curl -s -k -H "Authorization: Bearer $TOKEN" https://kubernetes.default.svc/api/v1/namespaces/default/pods?limit=500"#,
    ),
    (
        "kubernetes patch",
        r#"curl -k -X PATCH -H "Content-Type: application/strategic-merge-patch+json" --data '{"spec":{"replicas":3}}' https://10.0.0.1:6443/apis/apps/v1/namespaces/default/deployments/web"#,
    ),
    ("kubernetes resolve", "curl --resolve hello-world.info:80:127.0.0.1 -i http://hello-world.info/"),
    ("the old version", "curl -0 http://example.com/a -d b=c"),
    // Browsers.
    (
        "chrome get",
        "curl 'https://example.com/search?q=caf%C3%A9&hl=en' \\\n  -H 'accept: text/html,application/xhtml+xml;q=0.9,*/*;q=0.8' \\\n  -H 'accept-language: en-US,en;q=0.9' \\\n  -b 'sid=31d4d96e407aad42; theme=dark' \\\n  -H 'sec-ch-ua: \"Chromium\";v=\"124\", \"Not-A.Brand\";v=\"99\"' \\\n  -H 'user-agent: Mozilla/5.0 (X11; Linux x86_64)' \\\n  --compressed",
    ),
    (
        "chrome post",
        "curl 'https://example.com/api/v2/items' \\\n  -H 'content-type: application/json' \\\n  -H 'origin: https://example.com' \\\n  --data-raw $'{\"name\":\"it\\'s\",\"mark\":\"\\u0021\",\"emoji\":\"\\u00e9\"}'",
    ),
    (
        "chrome multipart",
        "curl 'https://example.com/upload' -H 'content-type: multipart/form-data; boundary=----WebKitFormBoundaryAbC' --data-raw $'------WebKitFormBoundaryAbC\\r\\nContent-Disposition: form-data; name=\"a\"\\r\\n\\r\\n1\\r\\n------WebKitFormBoundaryAbC--\\r\\n' --insecure",
    ),
    (
        "firefox get",
        "curl 'https://developer.mozilla.org/en-US/' --compressed -H 'User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:125.0) Gecko/20100101 Firefox/125.0' -H 'Accept: */*' -H 'Accept-Encoding: gzip, deflate, br' -H 'Connection: keep-alive' -H 'Sec-Fetch-Dest: document'",
    ),
    (
        "firefox post",
        "curl 'https://example.com/login' -X POST -H 'Content-Type: application/x-www-form-urlencoded' -H 'Cookie: a=b' --data-raw 'user=me&password=x%26y'",
    ),
    ("safari", "curl 'https://example.com/' -X 'GET' -H 'Accept: text/html' -H 'Pragma: no-cache'"),
    // OpenAI, Docker, Vault, Consul, InfluxDB, Prometheus, Twilio, Jenkins, CouchDB, Solr, Telegram, Spotify, S3.
    (
        "openai chat",
        "curl https://api.openai.com/v1/chat/completions \\\n  -H \"Content-Type: application/json\" \\\n  -H \"Authorization: Bearer $TOKEN\" \\\n  -d '{\n     \"model\": \"gpt-4o-mini\",\n     \"messages\": [{\"role\": \"user\", \"content\": \"Say this is a test!\"}]\n   }'",
    ),
    (
        "openai files",
        r#"curl https://api.openai.com/v1/files -H "Authorization: Bearer $TOKEN" -F purpose="fine-tune" -F file="@DIR/data.json;type=application/jsonl""#,
    ),
    (
        "registry manifest",
        r#"curl -sS -I -H 'Accept: application/vnd.docker.distribution.manifest.v2+json' localhost:5000/v2/app/manifests/latest"#,
    ),
    ("vault", r#"curl --header "X-Vault-Token: s.abc" --request LIST http://127.0.0.1:8200/v1/secret/metadata"#),
    ("consul", "curl --request PUT --data @DIR/data.json http://127.0.0.1:8500/v1/agent/service/register"),
    (
        "influxdb",
        r#"curl -i -XPOST 'http://localhost:8086/write?db=mydb&precision=ns' --data-binary 'cpu_load_short,host=server01 value=0.64 1434055562000000000'"#,
    ),
    (
        "prometheus",
        r#"curl -g 'http://localhost:9090/api/v1/series?' --data-urlencode 'match[]=up' --data-urlencode 'match[]=process_start_time_seconds{job="prometheus"}'"#,
    ),
    ("prometheus glob off", r#"curl -g 'http://localhost:9090/api/v1/query?query=up{job="x"}[5m]'"#),
    (
        "twilio",
        r#"curl 'https://api.twilio.com/2010-04-01/Accounts/AC1/Messages.json' -X POST --data-urlencode 'To=+15558675310' --data-urlencode 'Body=Hi there' -u AC1:token"#,
    ),
    (
        "jenkins",
        r#"curl -X POST http://jenkins/job/x/build --user me:token --form file0=@DIR/note.txt --form json='{"parameter": [{"name":"FILE", "file":"file0"}]}'"#,
    ),
    (
        "couchdb",
        "curl -X PUT http://admin:p%40ss@127.0.0.1:5984/albums/6ert2gh45ji6h6tywe324743rtbhgtrg --json '{\"title\":\"Blackened Sky\"}'",
    ),
    (
        "solr upload",
        "curl 'http://localhost:8983/solr/update/extract?literal.id=doc1&commit=true' -F \"myfile=@DIR/picture.bin;filename=a b.pdf;type=application/pdf\" -F 'note=<DIR/note.txt' --form-string 'raw=@x;y'",
    ),
    (
        "telegram",
        "curl -s -X POST 'https://api.telegram.org/bot123:abc/sendMessage' -d chat_id=42 -d text='Hello World' -d parse_mode=MarkdownV2",
    ),
    (
        "spotify token",
        r#"curl -X "POST" -H "Authorization: Basic ZjM4ZjAw" -d grant_type=client_credentials -d @DIR/note.txt https://accounts.spotify.com/api/token"#,
    ),
    (
        "range and referer",
        "curl -r 0-499 -e 'https://a.example/;auto' -A 'Mozilla/4.0' http://example.com/file.zip -o part1",
    ),
    ("cookies of a file", "curl -b DIR/cookies.txt -b 'x=1' -b y=2 http://www.example.com/deep/page"),
    ("head and no accept", "curl -I -H 'Accept:' -H 'X-Empty;' http://example.com/"),
    ("upload", "curl -T DIR/picture.bin http://example.com/drop/"),
    (
        "host of one's own",
        "curl -H 'Host: virtual.example' -H 'X-Forwarded-For: 1.2.3.4' http://example.com:8080/a/../b/./c?d#e",
    ),
    ("odd characters", "curl 'http://example.com/a|b\"c<d>^`/é?é=ü&x=\"y\"'"),
    ("as it is", "curl --path-as-is http://example.com/../../etc/passwd"),
    ("query parts", "curl --url-query 'name=a b' --url-query '+raw=%20' http://example.com/x?y=1 -d z"),
    ("bearer", "curl --oauth2-bearer abc --request-target '*' -X OPTIONS http://example.com/"),
    (
        "binary body",
        "curl -H 'Content-Type: application/octet-stream' --data-binary @DIR/picture.bin http://example.com/",
    ),
    ("globs", "curl 'http://example.com/only/{one}/[3-3]'"),
    ("several headers of a file", "curl -H @DIR/headers.txt http://example.com/"),
    (
        "header lines as people type them",
        "curl -H 'X:y' -H 'X-Empty;' -H 'Accept:' -H 'X-Gone: ' -H 'host:virtual.example' -H 'no line' http://example.com/",
    ),
    (
        "twice and in other letters",
        "curl -H 'X: 1' -H 'x: 2' -H 'USER-AGENT: me' -H 'accept: text/*' http://example.com/",
    ),
    (
        "types by the endings of files",
        "curl http://example.com/ -F 'a=@DIR/data.json' -F 'b=@DIR/note.txt' -F 'c=@DIR/headers.txt;type=text/x' -F 'd=@DIR/picture.bin'",
    ),
    ("a host in capitals", "curl 'http://Example.COM:8080/Path?Q'"),
    ("white space as it is", "curl -H 'X-Wide:   a b  ' http://example.com/"),
    (
        "postman form",
        "curl --location 'http://example.com/upload' --header 'Content-Type: multipart/form-data' --form 'a=b' --form 'file=@DIR/note.txt'",
    ),
    (
        "length and type of one's own",
        "curl 'http://example.com/' -H 'Content-Length: 3' -H 'content-type:text/plain' --data-raw abc",
    ),
];

fn files(folder: &Path) {
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).expect("written");
    write("data.json", b"{\n  \"ID\": \"redis1\",\r\n  \"Name\": \"redis\"\n}\n");
    write("picture.bin", &(0..=255).cycle().take(3000).collect::<Vec<u8>>());
    write("note.txt", b"{\"index\":{}}\nfirst line\nsecond = line & more\n");
    write("headers.txt", b"X-One: 1\nX-Two: two words\n");
    write(
        "cookies.txt",
        b"# Netscape HTTP Cookie File\n.example.com\tTRUE\t/\tFALSE\t0\tsid\tabc\nwww.example.com\tFALSE\t/deep\tFALSE\t0\tdeep\t1\nother.com\tTRUE\t/\tFALSE\t0\to\t2\nwww.example.com\tFALSE\t/\tTRUE\t0\tsecret\t3\n",
    );
}

/// Returns the command with local files, over plain HTTP, directed to the test's server.
fn made_local(command: &str, folder: &Path, port: u16) -> String {
    let local = command.replace("DIR", &folder.display().to_string()).replace("https://", "http://");
    format!("{local} --connect-to ::127.0.0.1:{port}")
}

/// Runs a command line in a shell, with a variable that some of the commands use.
fn shell(command: &str, folder: &Path) -> Output {
    let mut bash = Command::new("bash");
    bash.args(["-c", command]).env("TOKEN", "secret").env_remove("http_proxy").env("HOME", folder);
    bash.current_dir(folder).stdin(Stdio::null()).output().expect("bash starts")
}

/// Normalizes the parts that are allowed to differ.
fn comparable(request: &[u8]) -> String {
    let text: String = request.iter().map(|b| char::from(*b)).collect();
    // The body size above which curl sends `Expect` has changed between versions.
    let mut text = text.replace("Expect: 100-continue\r\n", "").replace("expect: 100-continue\r\n", "");
    let agents = ["User-Agent: curl/", "user-agent: curl/"];
    for agent in text.clone().lines().filter(|line| agents.iter().any(|name| line.starts_with(name))) {
        text = text.replace(agent, "User-Agent: curl/*");
    }
    // `%3a` and `%3A` are equivalent (RFC 3986 2.1); curl's own choice has changed between versions.
    let line = text.lines().next().unwrap_or_default().to_owned();
    let mut pieces = line.split('%');
    let first = pieces.next().unwrap_or_default().to_owned();
    let raised = pieces.fold(first, |all, piece| {
        let (digits, rest) = piece.split_at_checked(2).unwrap_or((piece, ""));
        format!("{all}%{}{rest}", digits.to_ascii_uppercase())
    });
    text = text.replacen(&line, &raised, 1);
    let boundary =
        text.split("boundary=").nth(1).and_then(|rest| rest.split("\r\n").next()).unwrap_or_default().to_owned();
    if boundary.starts_with("------------------------") {
        text = text.replace(&boundary, "BOUNDARY");
    }
    text
}

#[test]
fn brunt_sends_what_the_real_curl_sends() {
    let folder = tempfile::tempdir().expect("a folder");
    files(folder.path());
    let mut differing = Vec::new();
    for (name, command) in COMMANDS {
        let peer = ScriptedPeer::answering(EMPTY);
        let local = made_local(command, folder.path(), peer.port());
        let real = shell(&local, folder.path());
        let from_curl = peer.received().pop();
        let Some(from_curl) = from_curl else { panic!("{name}: curl sent nothing: {real:?}\n{local}") };
        let peer = ScriptedPeer::answering(EMPTY);
        let local = made_local(command, folder.path(), peer.port());
        let ended = prepare(["--debug", "--curl", &local]).env("TOKEN", "secret").run();
        let heard = peer.received().pop().unwrap_or_else(|| panic!("{name}: brunt sent nothing: {ended:?}"));
        let (theirs, ours) = (comparable(&from_curl), comparable(&heard));
        if theirs != ours {
            differing.push(format!("== {name}\ncurl:  {theirs:?}\nbrunt: {ours:?}"));
        }
    }
    assert!(COMMANDS.len() >= 40);
    assert!(differing.is_empty(), "{} of {} differ\n{}", differing.len(), COMMANDS.len(), differing.join("\n"));
}

/// Starts a server that reports the requests it received over TLS.
fn echo(certificates: &Certificates) -> Option<ExternalServer> {
    if Command::new("node").arg("--version").stdout(Stdio::null()).status().is_err() {
        brunt_tests::skip("node is not installed");
        return None;
    }
    let mut node = Command::new("node");
    node.arg(sources("echo-node").join("server.js"));
    Some(ExternalServer::start(node.args([certificates.path("server.pem"), certificates.path("server.key")])))
}

/// Returns the requests that a server saw, each as normalized text in the form of HTTP/1.1.
fn seen(server: ExternalServer) -> Vec<String> {
    let all: Vec<Value> = serde_json::from_str(&server.counts()).expect("JSON");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let one = |request: &Value| {
        let fields = request["fields"].as_array().expect("fields");
        let mut lines: Vec<String> = fields.iter().map(|f| format!("{}: {}\r\n", text(&f[0]), text(&f[1]))).collect();
        // The first line already contains the target.
        lines.retain(|line| !line.starts_with(":path: "));
        let pseudo = lines.iter().take_while(|line| line.starts_with(':')).count();
        lines[..pseudo].sort();
        let [method, target, version, name, body] =
            ["method", "target", "version", "name", "body"].map(|key| text(&request[key]));
        let head = format!("{method} {target} HTTP/{version} to {name}\r\n{}\r\n", lines.concat());
        comparable(&[head.as_bytes(), &body.chars().map(|c| c as u8).collect::<Vec<u8>>()].concat())
    };
    all.iter().map(one).collect()
}

#[test]
fn over_tls_a_server_sees_the_same_of_both() {
    let Some(certificates) = Certificates::make() else { return brunt_tests::skip("openssl is not installed") };
    let folder = tempfile::tempdir().expect("a folder");
    files(folder.path());
    for version in ["--http2", "--http1.1"] {
        let (Some(of_curl), Some(of_brunt)) = (echo(&certificates), echo(&certificates)) else { return };
        let mut names = Vec::new();
        for (name, command) in COMMANDS {
            let secure = command.replace("DIR", &folder.path().display().to_string()).replace("http://", "https://");
            if !secure.contains("https://") || UNREAD.contains(&(version, name)) {
                continue;
            }
            names.push(*name);
            let local = |port: u16| format!("{secure} -k {version} --connect-to ::127.0.0.1:{port}");
            let real = shell(&local(of_curl.port), folder.path());
            assert!(real.status.success(), "{name}: {real:?}");
            prepare(["--debug", "--curl", &local(of_brunt.port)]).env("TOKEN", "secret").run().with_code(0);
        }
        let (theirs, ours) = (seen(of_curl), seen(of_brunt));
        assert_eq!((theirs.len(), ours.len()), (names.len(), names.len()));
        let differing: Vec<String> = (names.iter().zip(theirs.iter().zip(&ours)))
            .filter(|(_, (theirs, ours))| theirs != ours)
            .map(|(name, (theirs, ours))| format!("== {name}\ncurl:  {theirs:?}\nbrunt: {ours:?}"))
            .collect();
        assert!(differing.is_empty(), "{} of {} differ\n{}", differing.len(), names.len(), differing.join("\n"));
        assert!(names.len() >= 40 && ours.iter().all(|seen| seen.contains(&version.replace("--http", " HTTP/"))));
    }
}

#[test]
fn a_certificate_that_curl_trusts_is_trusted_and_one_that_it_refuses_is_not() {
    let (Some(certificates), Some(others)) = (Certificates::make(), Certificates::make()) else {
        return brunt_tests::skip("openssl is not installed");
    };
    let (Some(of_curl), Some(of_brunt)) = (echo(&certificates), echo(&certificates)) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    for (roots, host, trusted) in [
        (&certificates, "localhost", true),
        (&certificates, "127.0.0.1", true),
        (&others, "localhost", false),
        // The certificate does not contain this name.
        (&certificates, "127.0.0.2", false),
    ] {
        let roots = roots.text("ca.pem");
        let made =
            |port: u16| format!("curl -s --cacert {roots} 'https://{host}/a?b' -d c=d --connect-to ::127.0.0.1:{port}");
        let real = shell(&made(of_curl.port), folder.path());
        // curl's exit code 60: "The remote server's SSL certificate was deemed not OK."
        assert_eq!(real.status.code(), Some(if trusted { 0 } else { 60 }), "{real:?}");
        let ended = brunt(["--debug", "--curl", &made(of_brunt.port)]);
        assert_eq!(ended.code, Some(if trusted { 0 } else { 30 }), "{ended:?}");
    }
    // Without a version option, both use the version that the server prefers.
    let (theirs, ours) = (seen(of_curl), seen(of_brunt));
    assert_eq!(ours, theirs);
    assert_eq!(ours.iter().filter(|text| text.starts_with("POST /a?b HTTP/2.0")).count(), 2, "{ours:?}");
}

#[test]
fn a_proxy_hears_the_whole_url_from_both_curl_and_brunt() {
    let heard = |run: &dyn Fn(&str)| {
        let peer = ScriptedPeer::answering(EMPTY);
        run(&format!("curl -s -x http://me:pw@127.0.0.1:{} 'http://example.com/a?b' -d c=d", peer.port()));
        comparable(&peer.received().pop().expect("a request"))
    };
    let theirs = heard(&|command| {
        Command::new("bash").args(["-c", command]).stdin(Stdio::null()).output().expect("bash starts");
    });
    let ours = heard(&|command| drop(brunt(["--debug", "--curl", command])));
    assert_eq!(ours, theirs);
    assert!(ours.starts_with("POST http://example.com/a?b HTTP/1.1\r\n"), "{ours}");
}

#[test]
fn what_brunt_cannot_do_of_curl_is_named() {
    for (command, code, said) in [
        ("curl --digest -u a:b http://127.0.0.1:1/", 64, "--digest needs a challenge from the server first"),
        ("curl --http3 http://127.0.0.1:1/", 64, "--http3 is a version of HTTP that brunt does not support"),
        ("curl -x socks4://127.0.0.1:1 http://127.0.0.1:1/", 64, "socks4:// is an old version of SOCKS"),
        (
            "curl -F a=b -H 'Content-Type: multipart/related' http://127.0.0.1:1/",
            64,
            "-H 'Content-Type: …' with -F makes curl send the parts as attachments",
        ),
        ("curl --aws-sigv4 aws:amz http://127.0.0.1:1/", 64, "signs every request, which is not supported yet"),
    ] {
        brunt(["--curl", command]).with_code(code).containing(said);
    }
    let peer = ScriptedPeer::answering(EMPTY);
    let command = format!("curl -sS -c jar --retry 2 {} | jq .", peer.url());
    brunt(["-n", "4", "-c", "2", "--curl", &command])
        .with_code(0)
        .containing("-c: cookies that responses set are not kept")
        .containing("--retry: failed requests are not retried")
        .containing("`| jq .` works on curl's output");
}

#[test]
fn a_file_of_curl_commands_is_loaded_in_equal_shares() {
    let peer = ScriptedPeer::answering(EMPTY);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("commands.sh");
    let url = peer.url();
    let text = format!(
        "# two requests\nBASE={url}\ncurl \"$BASE/a\" -H 'X: 1'\n\ncurl -X PUT \\\n  \"$BASE/b\" -d 'c=d' > /dev/null\n"
    );
    std::fs::write(&path, text).expect("written");
    brunt(["-n", "200", "-c", "4", "--curl-file", &path.display().to_string()]).with_code(0);
    let heard: Vec<String> =
        peer.received().iter().map(|request| String::from_utf8_lossy(request).into_owned()).collect();
    let of_first =
        heard.iter().filter(|request| request.starts_with("GET ") && request.contains("\r\nX: 1\r\n")).count();
    let of_second = heard.iter().filter(|request| request.starts_with("PUT ") && request.ends_with("c=d")).count();
    assert_eq!(of_first + of_second, heard.len());
    assert!((50..=150).contains(&of_first), "{of_first} of {}", heard.len());
}
