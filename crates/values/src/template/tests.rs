//! Tables of template tests: text, context and bytes, or text and error.

use brunt_contract::{SlotContext, UsageError};
use proptest::prelude::*;

use super::rows::RowChoice;
use super::{DataFiles, Notation, ShortRow, Template, short_rows};

const FILL: SlotContext<'static> = SlotContext {
    number: 41,
    user: 7,
    random: 0x0123_4567_89ab_cdef,
    unix_ns: 1_795_253_195_123_456_789,
    run: 11,
    sequence: 5,
    values: brunt_contract::UserValues::NONE,
};

/// Returns the English text of an error that there is in Chinese, too.
fn bilingual(wrong: UsageError) -> String {
    assert!(wrong.is_translated(), "in English alone: {wrong}");
    wrong.to_string()
}

fn filled(text: &str, notation: Notation, context: &SlotContext) -> Vec<u8> {
    let mut out = b"before".to_vec();
    Template::parse_as(text, "--send", notation).unwrap_or_else(|c| panic!("{text}: {c}")).fill(context, &mut out);
    assert_eq!(&out[..6], b"before", "{text}");
    out.split_off(6)
}

fn plain(text: &str) -> String {
    String::from_utf8(filled(text, Notation::Plain, &FILL)).unwrap()
}

fn escaped(text: &str) -> Vec<u8> {
    filled(text, Notation::Escaped, &FILL)
}

#[test]
fn values() {
    let table = [
        ("", ""),
        ("GET / \\r", "GET / \\r"),
        ("{{\"id\":{counter}}}", "{\"id\":41}"),
        ("key:{counter from 1000 step 2}", "key:1082"),
        ("{counter width 8}", "00000041"),
        ("{counter below 40}", "1"),
        ("{counter hex width 4}", "0029"),
        ("{counter step 18446744073709551615 below 1000}", "215"),
        ("user-{user}", "user-7"),
        ("{time}", "1795253195"),
        ("{time unix}", "1795253195"),
        ("{time ms}", "1795253195123"),
        ("{time us}", "1795253195123456"),
        ("{time ns}", "1795253195123456789"),
        ("{time iso}", "2026-11-21T09:26:35.123Z"),
        ("{time fix}", "20261121-09:26:35.123"),
        ("{time date}", "2026-11-21"),
        ("{time date in 10d}", "2026-12-01"),
        ("{time iso in -1h30m}", "2026-11-21T07:56:35.123Z"),
        ("{text ab{time date in -1d} | upper}", "AB2026-11-20"),
        ("{text 41 | add 1 | base64url}", "NDI"),
        ("{random 5..5}", "5"),
        ("{random 0}", ""),
    ];
    for (text, wanted) in table {
        assert_eq!(plain(text), wanted, "{text}");
    }
}

#[test]
fn dates_of_the_calendar() {
    let table = [
        (0, "1970-01-01T00:00:00.000Z"),
        (951_782_399_999, "2000-02-28T23:59:59.999Z"),
        (951_782_400_000, "2000-02-29T00:00:00.000Z"),
        (951_868_800_000, "2000-03-01T00:00:00.000Z"),
        (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
    ];
    for (ms, wanted) in table {
        let fill = SlotContext { unix_ns: ms * 1_000_000, ..FILL };
        assert_eq!(filled("{time iso}", Notation::Plain, &fill), wanted.as_bytes());
    }
}

#[test]
fn parts_and_what_is_made_of_them() {
    let table: [(&str, &[u8]); 22] = [
        (r"{length hello}", b"5"),
        (r"set k 0 0 {length {v}}\r\n{v=abc}\r\n", b"set k 0 0 3\r\nabc\r\n"),
        (r"{length u16 {body}}{body=\x01\x02\x03}", b"\x00\x03\x01\x02\x03"),
        (r"{length u16le +2 {body}}{body=abc}", b"\x05\x00abc"),
        (r"{p=\x01{length u8 {p}}bob}", b"\x01\x05bob"),
        (r"{p=X{length width 4 {p}}bob}", b"X0008bob"),
        (r"{p=X{length hex width 2 -1 {p}}bob}", b"X05bob"),
        (r"{p={length u8 {p}}{q={length u8 {q}}{length u8 {p}}}x}", b"\x04\x02\x04x"),
        (r#"{length {body}}:{body={{"id":{counter}}}}"#, b"9:{\"id\":41}"),
        (r"{hex \x00\xff}", b"00ff"),
        (r"{hex {counter u16}}", b"0029"),
        (r"{base64 user:{counter}}", b"dXNlcjo0MQ=="),
        (r"{pad 4 ab}", b"ab\0\0"),
        (r"{pad 4 with 20 ab}|", b"ab  |"),
        (r"{xor {text abc} {text \x01\x01\x01}}", b"`cb"),
        (r"{xor {text a} {text \x01\x01\x01}}", b"`\x01\x01"),
        (r"{crc32 123456789}", b"\xcb\xf4\x39\x26"),
        (r"{crc32 u32le 123456789}", b"\x26\x39\xf4\xcb"),
        (r"{crc32 hex width 8 123456789}", b"cbf43926"),
        (r"a{n=b{counter}}c{n}{n}", b"ab41cb41b41"),
        (r"{crc8 {a}}{a={b}{b=x}}", b"\x1bxx"),
        (r"{internet-sum {h}}{h=\x00\x01\xf2\x03\xf4\xf5\xf6\xf7}", b"\x22\x0d\x00\x01\xf2\x03\xf4\xf5\xf6\xf7"),
    ];
    for (text, wanted) in table {
        let got = escaped(text);
        if text.starts_with("{crc8") {
            assert_eq!(got[1..], wanted[1..], "{text}");
        } else {
            assert_eq!(got, wanted, "{text}: {}", String::from_utf8_lossy(&got));
        }
    }
}

/// The check values of the CRC catalogue: the checksums of "123456789".
#[test]
fn checksums_of_the_catalogue() {
    let table = [
        ("crc32", 0xcbf4_3926u64),
        ("crc32c", 0xe306_9283),
        ("crc16-modbus", 0x4b37),
        ("crc16-arc", 0xbb3d),
        ("crc16-xmodem", 0x31c3),
        ("crc16-ccitt", 0x29b1),
        ("crc8", 0xf4),
        ("adler32", 0x091e_01de),
        ("sum", 477),
        ("fix-sum", 477 % 256),
        ("xor-sum", 0x31),
    ];
    for (name, wanted) in table {
        assert_eq!(plain(&format!("{{{name} hex 123456789}}")), format!("{wanted:x}"), "{name}");
    }
}

/// An execution report as published by exchanges, with its length and checksum (FIX 4.2).
#[test]
fn the_checksum_of_fix() {
    let body = "35=8|49=PHLX|56=PERS|52=20071123-05:30:00.000|11=ATOMNOCCC9990900|20=3|150=E|39=E|55=MSFT|167=CS|54=1|38=15|\
                40=2|44=15|58=PHLX EQUITY TESTING|59=0|47=C|32=0|31=0|151=15|14=0|6=0|";
    let text = format!("{{m=8=FIX.4.2|9={{length {{b}}}}|{{b={body}}}}}10={{fix-sum {{m}}}}|").replace('|', "\\x01");
    let message = escaped(&text);
    assert!(message.starts_with(b"8=FIX.4.2\x019=178\x0135=8"), "{}", message.escape_ascii());
    assert!(message.ends_with(b"\x016=0\x0110=128\x01"), "{}", message.escape_ascii());
    // Three digits even for a small sum: 0x01 0xff 0x02 is 2.
    assert_eq!(escaped(r"{fix-sum \x01\xff\x02}"), b"002");
}

/// A header whose checksum counts itself as zeros is correct if the sum over all of it is zero (RFC 1071 1).
#[test]
fn a_checksum_inside_its_own_part() {
    let header =
        escaped(r"{h=\x45\x00\x00\x3c{counter u16}\x40\x00\x40\x06{internet-sum {h}}\x7f\x00\x00\x01\x7f\x00\x00\x02}");
    assert_eq!(super::checksum::Checksum::Internet.of(&header), 0);
    assert_ne!(&header[10..12], b"\0\0");
}

/// The Access-Request of RFC 2865 7.1: the password is hidden with the preceding authenticator, which occurs twice.
#[test]
fn the_request_of_the_radius_specification() {
    let text = r"{packet=\x01\x00{length u16 {packet}}{auth={hexbytes}}\x01{u=\x06nemo}\x02\x12{xor {pad 16 arctangent} {md5 xyzzy5461{auth}}}\x04\x06\xc0\xa8\x01\x10\x05\x06\x00\x00\x00\x03}";
    let authenticator = r"\x0f\x40\x3f\x94\x73\x97\x80\x57\xbd\x83\xd5\xcb\x98\xf4\x22\x7a";
    let packet = escaped(&text.replace("{hexbytes}", authenticator));
    let wanted = "01000038 0f403f9473978057bd83d5cb98f4227a 01066e656d6f 02120dbe708d93d413ce3196e43f782a0aee \
                  0406c0a80110 050600000003";
    assert_eq!(packet, Notation::Hex.decode(wanted).unwrap());
}

/// Message-Authenticator (RFC 3579 3.2): HMAC-MD5 over the whole packet, with its own sixteen bytes as zeros.
#[test]
fn an_authentication_code_inside_its_own_part() {
    let packet =
        escaped(r"{p=\x01{counter u8}{length u16 {p}}{random 16 bytes}\x50\x12{hmac-md5 secret {p}}\x01\x03u}");
    let mut zeroed = packet.clone();
    zeroed[22..38].fill(0);
    assert_eq!(packet.len(), 41);
    assert_eq!(packet[22..38], super::digest::DigestAlgorithm::Md5.hmac(b"secret", &zeroed)[..16]);
}

#[test]
fn digests() {
    assert_eq!(plain("{hex {md5 abc}}"), "900150983cd24fb0d6963f7d28e17f72");
    assert_eq!(plain("{hex {sha1 a{text bc}}}"), "a9993e364706816aba3e25717850c26c9cd0d89d");
    assert_eq!(plain("{hex {hmac-md5 Jefe what do ya want for nothing?}}"), "750c783e6ab0b503eaa86e310a5db738");
    assert_eq!(plain("{hex {hmac-md5 {text Jefe} what do ya want for nothing?}}"), "750c783e6ab0b503eaa86e310a5db738");
    assert_eq!(plain("{hex {hmac-sha256 {user} {counter}}}").len(), 64);
}

/// The examples of MQTT 5.0 (1.5.5), and of protobuf for zigzag.
#[test]
fn numbers_in_as_many_bytes_as_they_take() {
    let table: [(u64, &str, &[u8]); 17] = [
        (0, "varint", &[0]),
        (127, "varint", &[0x7f]),
        (128, "varint", &[0x80, 0x01]),
        (16_383, "varint", &[0xff, 0x7f]),
        (16_384, "varint", &[0x80, 0x80, 0x01]),
        (2_097_151, "varint", &[0xff, 0xff, 0x7f]),
        (2_097_152, "varint", &[0x80, 0x80, 0x80, 0x01]),
        (268_435_455, "varint", &[0xff, 0xff, 0xff, 0x7f]),
        (u64::MAX, "varint", &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]),
        (0, "zigzag", &[0]),
        (1, "zigzag", &[2]),
        (63, "zigzag", &[0x7e]),
        (64, "zigzag", &[0x80, 0x01]),
        (2_147_483_647, "zigzag", &[0xfe, 0xff, 0xff, 0xff, 0x0f]),
        (u64::MAX, "zigzag", &[1]),
        (u64::MAX - 1, "zigzag", &[3]),
        (i64::MAX as u64, "zigzag", &[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]),
    ];
    for (number, word, wanted) in table {
        let fill = SlotContext { number, ..FILL };
        let text = format!("{{counter {word}}}");
        assert_eq!(filled(&text, Notation::Plain, &fill), wanted, "{number} {word}");
        let room = super::format::NumberFormat::parse(word).map_or(0, |format| format.max_bytes(number));
        assert!(room >= wanted.len() as u64, "{number} {word} takes {room}");
    }
    let long = escaped(r"\x30{length varint {b}}{b=\x00\x01t{random 200}}");
    assert_eq!((&long[..3], long.len()), (&[0x30, 203, 1][..], 206));
    assert_eq!(escaped(r"{length zigzag -1 {k}}{k=}"), [0], "a length is never less than nothing");
}

#[test]
fn bytes_in_hexadecimal() {
    assert_eq!(filled("00 0c {counter u16} FF:fe", Notation::Hex, &FILL), b"\x00\x0c\x00\x29\xff\xfe");
    assert_eq!(filled("{length u8 {b}}{b=0102}", Notation::Hex, &FILL), b"\x02\x01\x02");
}

#[test]
fn random_slots_differ_from_each_other_and_repeat_with_their_fill() {
    let text = "{random 20} {random 20} {random 20 hex} {random 20 digits} {uuid} {uuid}";
    let (first, second) = (plain(text), plain(text));
    assert_eq!(first, second);
    let words: Vec<&str> = first.split(' ').collect();
    assert_ne!(words[0], words[1]);
    assert_ne!(words[4], words[5]);
    assert!(words[0].bytes().all(|b| b.is_ascii_alphanumeric()) && words[0].len() == 20);
    assert!(words[2].bytes().all(|b| b"0123456789abcdef".contains(&b)) && words[2].len() == 20);
    assert!(words[3].bytes().all(|b| b.is_ascii_digit()) && words[3].len() == 20);
    assert_eq!((words[4].len(), &words[4][14..15]), (36, "4"));
    assert!(b"89ab".contains(&words[4].as_bytes()[19]));
    let other = filled(text, Notation::Plain, &SlotContext { random: 1, ..FILL });
    assert_ne!(first.as_bytes(), other);
    assert_eq!(filled("{random 11 bytes}", Notation::Plain, &FILL).len(), 11);
}

#[test]
fn the_requests_of_an_iteration_are_spans_of_one_trace_and_the_share_is_sampled() {
    let of = |text: &str, number, random| {
        let line = filled(text, Notation::Plain, &SlotContext { number, random, run: 5, ..FILL });
        String::from_utf8(line).unwrap()
    };
    let (first, second) = (of("{traceparent}", 1, 2), of("{traceparent}", 1, 3));
    let parts: Vec<&str> = first.split('-').collect();
    assert_eq!((parts[0], parts[1].len(), parts[2].len(), parts[3]), ("00", 32, 16, "01"));
    assert!(first.bytes().all(|b| b"0123456789abcdef-".contains(&b)), "{first}");
    assert_eq!(first[..35], second[..35]);
    assert_ne!(first[36..52], second[36..52]);
    assert_eq!(first, of("{traceparent 100%}", 1, 2));
    let mut traces: Vec<String> = (0..10_000).map(|number| of("{traceparent 0.1}", number, number)).collect();
    let sampled = traces.iter().filter(|line| line.ends_with("-01")).count();
    assert!((850..1150).contains(&sampled), "{sampled}");
    assert!((0..1000).all(|number| of("{traceparent 0%}", number, 1).ends_with("-00")));
    traces.sort();
    traces.dedup_by(|a, b| a[..35] == b[..35]);
    assert_eq!(traces.len(), 10_000);
}

/// Coverage of a small range: 4000 samples of 8 values, 500 ± 6 standard deviations each.
#[test]
fn random_numbers_cover_their_span() {
    let template = Template::parse("{random 3..10}", "").unwrap();
    let mut seen = [0; 11];
    for random in 0..4000 {
        let mut out = Vec::new();
        template.fill(&SlotContext { random, ..FILL }, &mut out);
        seen[std::str::from_utf8(&out).unwrap().parse::<usize>().unwrap()] += 1;
    }
    assert_eq!(seen[..3], [0; 3]);
    assert!(seen[3..].iter().all(|count| (374..626).contains(count)), "{seen:?}");
}

#[test]
fn columns_of_files() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("us ers.v1.csv");
    std::fs::write(&file, "\u{feff}id,name\r\n1,\"Ada, \"\"the\"\" first\"\r\n2,Bob\n\n30,\n").unwrap();
    let file = file.display();
    let text = format!("{{csv {file}.id}}={{csv {file}.name}};{{csv {file}.id u16}}");
    let wanted: [&[u8]; 4] =
        [b"1=Ada, \"the\" first;\0\x01", b"2=Bob;\0\x02", b"30=;\0\x1e", b"1=Ada, \"the\" first;\0\x01"];
    for (number, wanted) in wanted.into_iter().enumerate() {
        let fill = SlotContext { number: number as u64 + 1, ..FILL };
        assert_eq!(filled(&text, Notation::Plain, &fill), wanted);
    }
    let complaint = |text: String| Template::parse(&text, "--send").map_err(bilingual).unwrap_err();
    let said = complaint(format!("{{csv {file}.age}}"));
    assert_eq!(said, format!("--send: {file} has no column \"age\"; its first row names id, name"));
    assert!(complaint(format!("{{csv {file}.name u16}}")).contains("which is not a whole number"));
    assert!(complaint("{csv nowhere.csv.id}".into()).contains("nowhere.csv cannot be read"));
}

#[test]
fn values_missing_at_the_end_of_a_row_are_empty() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ragged.csv");
    std::fs::write(&path, "a,b\n1,2\n\n3\n4,\n5,6,7\n").unwrap();
    let text = format!("{{csv {}.a}}:{{csv {0}.b}}", path.display());
    let rows = (1..=4).map(|number| filled(&text, Notation::Plain, &SlotContext { number, ..FILL }));
    assert_eq!(rows.collect::<Vec<_>>(), [&b"1:2"[..], b"3:", b"4:", b"5:6"]);
    let short = [ShortRow { place: format!("{} line 4", path.display()), values: 1, columns: 2 }];
    assert_eq!(short_rows([text.as_str()]), short);
    std::fs::write(&path, "a,b\n1,2\n4,\n").unwrap();
    assert_eq!(short_rows([text.as_str()]), []);
}

#[test]
fn columns_of_files_as_spreadsheets_write_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let utf_16: Vec<u8> =
        "\u{feff}first name\tcity\r\nZoë\t\"São\tPaulo\"\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let files: [(&str, &[u8], &str, &str); 12] = [
        ("semicolon", "name;price\nZoë;1,5\n".as_bytes(), "{csv F.name}={csv F.price}", "Zoë=1,5"),
        ("tab", b"name\tage\nann\t3\n", "{csv F.age}", "3"),
        ("bar", b"name|age\nann|3\n", "{csv F.age}", "3"),
        ("stated", b"sep=^\nname^age\nann^3\n", "{csv F.age u8}", "\u{3}"),
        ("utf_16", &utf_16, "{csv F.first name}/{csv F.city}", "Zoë/São\tPaulo"),
        ("unmarked", &utf_16[2..], "{csv F.first name}/{csv F.city}", "Zoë/São\tPaulo"),
        ("windows", b"name,paid\nZo\xeb,\x805\n", "{csv F.name}{csv F.paid}", "Zoë€5"),
        ("returns", b"name,age\rann,3\rbob,4\r", "{csv F.name}{csv F.age}", "ann3"),
        ("plain", b"ann,3\nbob,4\n", "{csv F.1 no-header}{csv F.2 no-header}", "ann3"),
        (
            "dots",
            b"user.name,the hex,,  padded \nann,ff,9,x\n",
            "{csv F.user.name}{csv F.the hex}{csv F.3}{csv F.padded}",
            "annff9x",
        ),
        ("excel.csv", b"\"a\" b,c\n1,\"x \"\"y\"\"\nz\"\n", "{csv F.a b}{csv F.c}", "1x \"y\"\nz"),
        ("wide.tsv", b"a,b\tc\n1,2\t3\n", "{csv F.a,b}", "1,2"),
    ];
    for (name, content, text, wanted) in files {
        std::fs::write(path(name), content).unwrap();
        let filled = filled(&text.replace('F', &path(name)), Notation::Plain, &SlotContext { number: 1, ..FILL });
        assert_eq!(String::from_utf8_lossy(&filled), wanted, "{name}");
    }
}

#[test]
fn rows_that_cannot_be_meant_are_refused_with_their_line() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("f");
    let table = [
        ("a,b\r\n1,2\r\n3,\"4\r\n5,6\r\n", "a", "f line 3 has a quote that is never closed; double a quote"),
        ("a,b\n1,\"2\n3,4\n5,\"6\",7\n", "a", "f line 2 has a quote that is closed only on line 4, within a value"),
        ("ann,3\nbob,4\n", "1", "no column \"1\"; its first row names ann, 3; if that row has values, write {csv "),
        ("a,b\n", "a", "has no rows below the header"),
    ];
    for (content, column, wanted) in table {
        std::fs::write(&path, content).unwrap();
        let said =
            Template::parse(&format!("{{csv {}.{column}}}", path.display()), "--send").map_err(bilingual).unwrap_err();
        assert!(said.contains(wanted), "{said}");
    }
    std::fs::write(&path, "a,b\n1,2\n").unwrap();
    let said = Template::parse(&format!("{{csv {0}.1 no-header}}{{csv {0}.b}}", path.display()), "").unwrap_err();
    assert!(said.to_string().contains("are chosen in two ways"), "{said}");
    std::fs::write(&path, "PK\u{3}\u{4}\u{14}[Content_Types].xml").unwrap();
    let wrong = Template::parse(&format!("{{csv {}.a}}", path.display()), "--send").unwrap_err();
    assert!(wrong.to_string().contains("f is a workbook of Excel"), "{wrong}");
    assert!(wrong.problem.zh().contains("工作簿"), "{}", wrong.problem.zh());
    std::fs::write(&path, "a,b\n1,2\n").unwrap();
    let said =
        Template::parse(&format!("{{jsonl {}.a no-header}}", path.display()), "").map_err(bilingual).unwrap_err();
    assert!(said.contains("has JSON lines, whose keys name the columns; leave out no-header"), "{said}");
}

/// A large file is not read into memory: its values are those of the same rows in a small one.
#[test]
fn values_of_a_large_file_are_read_when_they_are_needed() {
    use std::io::Write as _;
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let rows = (crate::file::TEXT_BOUND / 5000 + 10) as usize;
    let row = |n: usize| {
        format!("{n};\"{:0>5000};\"\"Zoë\"\"\n{}\"\r\n{}", n * 7, n % 10, if n.is_multiple_of(3) { "\r\n" } else { "" })
    };
    let write = |name: &str, encode: &dyn Fn(&str) -> Vec<u8>| {
        let mut file = std::io::BufWriter::new(std::fs::File::create(path(name)).unwrap());
        file.write_all(&encode("id;text\n")).unwrap();
        (0..rows).for_each(|n| file.write_all(&encode(&row(n))).unwrap());
        file.flush().unwrap();
        assert!(file.get_ref().metadata().unwrap().len() > crate::file::TEXT_BOUND, "{name}");
    };
    write("utf-8.csv", &|text| text.as_bytes().to_vec());
    write("latin.csv", &|text| text.chars().map(|c| c as u8).collect());
    for name in ["utf-8.csv", "latin.csv"] {
        let text = format!("{{csv {0}.id u32 unique}} {{csv {0}.text unique}}", path(name));
        let template = Template::parse(&text, "").unwrap();
        assert_eq!(template.data_end(), Some(rows as u64));
        for n in [0, 1, 2, 49, rows / 2, rows - 1] {
            let mut out = Vec::new();
            template.fill(&SlotContext { number: n as u64 + 1, ..FILL }, &mut out);
            let text = format!(" {:0>5000};\"Zoë\"\n{}", n * 7, n % 10);
            assert_eq!(out, [&(n as u32).to_be_bytes(), text.as_bytes()].concat(), "{name} {n}");
        }
    }
    let said = Template::parse(&format!("{{csv {}.text u8}}", path("utf-8.csv")), "").map_err(bilingual).unwrap_err();
    assert!(said.contains("which is not a whole number"), "{said}");
}

#[test]
fn columns_of_json_lines() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("users.jsonl");
    let lines =
        "{\"id\":1,\"name\":\"Ada \\\"A\\\"\",\"tags\":[1,2]}\n\n{\"name\":null,\"id\":2.5,\"tags\":{\"a\":true}}\r\n";
    std::fs::write(&file, lines).unwrap();
    let file = file.display();
    for slot in ["csv", "jsonl"] {
        let text = format!("{{{slot} {file}.id}}={{{slot} {file}.name | json}};{{{slot} {file}.tags}}");
        let of = |number| filled(&text, Notation::Plain, &SlotContext { number, ..FILL });
        assert_eq!(of(1), b"1=Ada \\\"A\\\";[1,2]");
        assert_eq!(of(2), b"2.5=;{\"a\":true}");
        assert_eq!((of(3), of(1)), (of(1), of(0)), "the first answer has the first row, and so has the first request");
    }
    let complaint = |text: String| Template::parse(&text, "--send").map_err(bilingual).unwrap_err();
    let said = complaint(format!("{{csv {file}.age}}"));
    assert!(said.ends_with("line 1 has no \"age\", but id, name, tags; give every line the same keys"), "{said}");
    std::fs::write(directory.path().join("odd"), "{}\n[]\n").unwrap();
    let said = complaint(format!("{{jsonl {}.a}}", directory.path().join("odd").display()));
    assert!(said.contains("odd line 1 has no \"a\""), "{said}");
}

#[test]
fn all_columns_of_a_file_are_of_one_row() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("users.csv");
    std::fs::write(&file, (0..50).fold("id,name\n".to_owned(), |all, n| all + &format!("{n},n{n}\n"))).unwrap();
    let file = file.display();
    for words in ["", " random", " shuffle", " unique", " shuffle stop"] {
        let template = Template::parse(&format!("{{csv {file}.id{words}}} {{csv {file}.name{words}}}"), "").unwrap();
        let mut rows: Vec<String> = (1..=50)
            .map(|number| {
                let mut out = Vec::new();
                template.fill(&SlotContext { number, ..FILL }, &mut out);
                let text = String::from_utf8(out).unwrap();
                let (id, name) = text.split_once(' ').unwrap();
                assert_eq!(name, format!("n{id}"), "{words}");
                text
            })
            .collect();
        rows.sort();
        rows.dedup();
        assert_eq!(rows.len() == 50, words != " random", "{words}");
        assert_eq!(template.data_end(), (words.contains("stop") || words.contains("unique")).then_some(50), "{words}");
    }
    let said = Template::parse(&format!("{{csv {file}.id random}}{{csv {file}.name}}"), "--send")
        .map_err(bilingual)
        .unwrap_err();
    assert!(said.contains("are chosen in two ways"), "{said}");
}

#[test]
fn rows_are_chosen_in_one_way_by_the_same_users() {
    let mut files = DataFiles::default();
    let mut chosen = |scenarios: Option<&[u16]>, words: &str| {
        files.set_users(scenarios);
        let (choice, named) = RowChoice::read(words).expect(words);
        files.record_choice(named, choice, 9).is_ok()
    };
    assert!(chosen(Some(&[0]), "f.csv.a random"));
    assert!(chosen(Some(&[1, 2]), "f.csv.a unique"));
    assert!(chosen(Some(&[0]), "f.csv.b random") && !chosen(Some(&[0]), "f.csv.b"));
    assert!(!chosen(Some(&[2, 3]), "f.csv.a") && chosen(Some(&[3]), "f.csv.a"));
    assert!(!chosen(None, "f.csv.a"), "a text of all users must agree with each");
    assert!(chosen(None, "g.csv.a") && !chosen(Some(&[0]), "g.csv.a random"));
}

#[test]
fn fixed_texts_are_known() {
    let table =
        [("GET a", Some("GET a")), ("{{}}", Some("{}")), ("{length abc}", Some("3")), ("{user}", None), ("", Some(""))];
    for (text, wanted) in table {
        let template = Template::parse(text, "").unwrap();
        assert_eq!(template.fixed_bytes(), wanted.map(str::as_bytes), "{text}");
    }
}

/// A truncated length would not match the content that follows.
#[test]
fn a_length_that_does_not_fit_is_refused() {
    let refused = [
        ("{length u8 {a}}{a={random 300 digits}}", "may reach 300, and this format only goes up to 255"),
        ("{length u8 +4 {a}}{a={random 252}}", "may reach 256"),
        ("{a={length u16le {a}}{pad 65534 x}}", "may reach 65536, and this format only goes up to 65535"),
        ("{a={length width 2 {a}}{random 98}}", "may reach 100, and this format only goes up to 99"),
        ("{hex {length u8 {base64 {random 192 bytes}}}}", "may reach 256"),
        ("{xor {length u8 {random 256}} {text x}}", "may reach 256"),
        ("{xor {text x} {length u8 {hex {random 128}}}}", "may reach 256"),
        ("{length u8 {random 240}{counter}}", "may reach 260"),
        ("{b=x{length u8 {a}}}{a={c}{c}}{c={random 128}}", "may reach 256"),
    ];
    for (text, wanted) in refused {
        let said = Template::parse(text, "--send").map_err(bilingual).expect_err(text);
        assert!(said.starts_with("--send: a length ") && said.contains(wanted), "{text}: {said}");
    }
    let taken = [
        "{length u8 {a}}{a={random 255}}",
        "{length u8 -4 {a}}{a={random 259}}",
        "{length width 2 {a}}{a={random 300}}",
        "{a={length width 2 {a}}{random 97}}",
        "{length u8 {random 240}{counter below 1000}{user u32}{random 1..99}}",
        "{length u8 {uuid}{time}{time iso}{crc32 x}{md5 x}}",
        "{length u64 {random 1000}}",
    ];
    for text in taken {
        Template::parse(text, "--send").expect(text);
    }
}

#[test]
fn complaints() {
    let table = [
        ("{", "{ is not a slot; use {counter}"),
        ("{\"a\":1}", "{\"a\":1} is not a slot"),
        ("{nobody}", "{nobody} at character 1 names neither a slot nor a part"),
        ("{nobody x}", "{nobody x} is not a slot"),
        ("a}", "the } at character 2 closes nothing; write }} for a literal brace"),
        ("{counter", "is not a slot"),
        ("{counter {user}}", "is not closed"),
        ("{counter by 3}", "\"by\" is not supported in {counter}; use from N"),
        ("{counter step x}", "{counter step} needs a whole number"),
        ("{counter below 0}", "has no numbers"),
        ("{counter width 100}", "\"100\" is not a width; use a number from 1 to 64"),
        ("{counter u8 width 4}", "a width is for digits"),
        ("{random}", "is incomplete"),
        ("{random x}", "{random x} is not a count"),
        ("{random 5..1}", "is not a range of whole numbers"),
        ("{random 5 letters}", "{random 5 letters} is not supported"),
        ("{time now}", "{time now} is not supported"),
        ("{counter varint width 4}", "a width is for digits"),
        ("{a=x{length varint {a}}}", "needs a fixed size"),
        ("{uuid 4}", "\"4\" is not supported in {uuid}; use {uuid} alone"),
        ("{traceparent 2}", "{traceparent 2} is not a share of the traces"),
        ("{traceparent 1% x}", "\"x\" is not supported in {traceparent}"),
        ("{csv users}", "\"users\" is not a column; write {csv FILE.COLUMN}"),
        ("{length}", "{length} needs a part"),
        ("{a=x}{a=y}", "a= is given twice"),
        ("{user=x}", "user is the name of a slot"),
        ("{a=x{a}}", "would contain itself"),
        ("{a=x{length {a}}}", "needs a fixed size"),
        ("{a=x{hex {length u8 {a}}}}", "is inside another slot computed from that part"),
        ("{a=x{b}}{c=y{b={length {a}}}}", "the part a depends on itself"),
        ("{p={q={length u8 {p}}}}{q}", "{q} contains a length or checksum of the part around it"),
        ("{xor a b}", "xor takes two slots"),
        ("{pad x}", "pad needs a size"),
        ("{length {a}", "is not closed"),
        ("{hmac-md5 key}", "hmac-md5 needs a key and a part; write {hmac-md5 KEY PART}"),
        ("{hmac-md5 {user}}", "hmac-md5 needs a key and a part"),
        ("{p={hmac-md5 {p} {p}}}", "would contain itself"),
        ("{p={hmac-md5 {k} {p}}}{k={p}}", "depends on itself"),
        ("{k={p={hmac-md5 {k} {p}}}}", "would contain itself"),
    ];
    for (text, wanted) in table {
        let said = Template::parse(text, "--send").map_err(bilingual).expect_err(text);
        assert!(said.starts_with("--send: ") && said.contains(wanted), "{text}: {said}");
    }
    let table =
        [("\\q", "\\q is not an escape"), ("\\x0", "\\x must be followed by two"), ("a\\", "\\ is not an escape")];
    for (text, wanted) in table {
        let said = Template::parse_as(text, "--send", Notation::Escaped).map_err(bilingual).unwrap_err();
        assert!(said.contains(wanted), "{text}: {said}");
    }
    let said = Template::parse_as("0d0", "--send-hex", Notation::Hex).map_err(bilingual).unwrap_err();
    assert_eq!(said, "--send-hex: \"0\" is not a pair of hexadecimal digits; write bytes as 0d0a or 0d 0a");
}

/// A text of doubled parts that would expand to 2^60 pieces.
#[test]
fn a_text_that_explodes_is_refused() {
    let mut text = String::from("{p0=x{user}}");
    for n in 1..60 {
        text += &format!("{{p{n}={{p{0}}}{{p{0}}}}}", n - 1);
    }
    let said = Template::parse(&text, "--send").map_err(bilingual).unwrap_err();
    assert!(said.contains("more than 100000 pieces"), "{said}");
    let said = Template::parse(&"{hex ".repeat(100), "--send").map_err(bilingual).unwrap_err();
    assert!(said.contains("nested more than 32 deep"), "{said}");
}

proptest! {
    #[test]
    fn no_text_panics(text in "([{}=\\\\ a-c0-9.x+]|counter|random|length|u16|varint|xor|pad|hex|user|crc32|hmac-md5|md5){0,24}") {
        super::oracle(&text);
    }

    #[test]
    fn texts_without_braces_stand_for_themselves(text in "[^{}]{0,40}") {
        let template = Template::parse(&text, "").unwrap();
        prop_assert_eq!(template.fixed_bytes(), Some(text.as_bytes()));
    }
}
