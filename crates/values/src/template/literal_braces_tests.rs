//! Tests of texts with both slots and literal braces.

use brunt_contract::SlotContext;
use proptest::prelude::*;

use super::{Notation, SlotScope, Template};

const FILL: SlotContext<'static> = SlotContext {
    number: 41,
    user: 7,
    random: 3,
    unix_ns: 5_000_000_000,
    run: 9,
    sequence: 0,
    values: brunt_contract::UserValues::NONE,
};

fn filled(text: &str) -> String {
    let template = Template::parse_text(text, "--data", Notation::Plain, SlotScope::default())
        .unwrap_or_else(|wrong| panic!("{text}: {wrong}"));
    let mut out = Vec::new();
    template.fill(&FILL, &mut out);
    String::from_utf8(out).expect("text")
}

#[test]
fn braces_that_begin_no_slot_stay() {
    let texts = [
        "{}",
        "{\"a\":{\"b\":[{}]}}",
        "{ \"user\": 1, \"time\": {\"uuid\": null}}",
        "{user: 1, time: 2}",
        "query { user { id } }",
        "query Q($id: ID!){user(id:$id){id name}time{iso}}",
        "{users{id}user{ time }}",
        "{user {id name}}",
        "{text {value} length {width height}}",
        "{length width height}",
        "/items/{id}/parts/{partId}{?page,size}{&more*}{+path}{#frag}",
        "a{color:red}@media (x){b{margin:0}}p{}",
        "fn main() { println!(\"{}\", x); }",
        "{id=5}{name=Bob, age=3}",
        "{{handlebars}} {{ user }} {{#each users}}{{name}}{{/each}} {{users}}",
        "{country} {count} {name} {type} {title} {item} {code} {end} {start} {value} {key} {test}",
        "{users name}{timer on}{en x}{random",
        "{user\n}{user\t}{user\"}",
        "{",
        "}}}{{{",
        "{user",
        "\u{fc}{\u{e9}}",
    ];
    for text in texts {
        assert_eq!(filled(text), text);
    }
}

#[test]
fn slots_are_filled_between_other_braces() {
    let table = [
        ("{\"id\":{counter},\"of\":{\"user\":{user}}}", "{\"id\":41,\"of\":{\"user\":7}}"),
        ("{{counter}} {counter}", "{counter} 41"),
        ("{{\"a\":{user}}}", "{{\"a\":7}}"),
        ("{{random 1..9}}", "{random 1..9}"),
        ("{text {{uuid}}} {text {{countr}}}", "{uuid} {countr}"),
        ("{base64 {user}:{counter}}", "Nzo0MQ=="),
        ("{n=a{user}}-{n}-{length {n}}", "a7-a7-2"),
        ("{n=a {user}&} {n | url} {n|json}", "a 7& a%207%26 a 7&"),
        ("{time iso}", "1970-01-01T00:00:05.000Z"),
        ("{counter width 4 | base64}", "MDA0MQ=="),
        ("{hex {user} | base64}", "Mzc="),
        ("Basic {base64 ann:secret}", "Basic YW5uOnNlY3JldA=="),
        ("{md5 hello | hex}", "5d41402abc4b2a76b9719d911017c592"),
        ("{sha256 hello | hex}", "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"),
        ("{hmac-sha256 key hello | hex}", "9307b3b915efb5171ff14d8cb55fbcc798c6c0ef1456d66ded1a6aa723a58b7b"),
        ("{crc32 hello | hex}", "3610a686"),
        ("{file{sha256 }}{sha256}{crc32\n}", "{file{sha256 }}{sha256}{crc32\n}"),
    ];
    for (text, wanted) in table {
        assert_eq!(filled(text), wanted, "{text}");
    }
}

#[test]
fn a_word_that_was_meant_to_be_a_slot_is_a_complaint_with_the_nearest_name() {
    let table = [
        ("{countr}", "{countr} is not a slot; use {counter}, or {text {{countr}}} to send it as is"),
        ("{\"a\":{uuuid}}", "{uuuid} is not a slot; use {uuid}, or"),
        ("{cuonter from 5}", "use {counter from 5}, or"),
        ("{UUID}", "use {uuid}, or"),
        ("{Random 1..9}", "use {random 1..9}, or"),
        ("{randm}", "use {random 16}, or"),
        ("{users}", "use {user}, or"),
        ("{cvs users.csv.name}", "use {csv users.csv.name}, or"),
        ("{evn TOKEN}", "use {env TOKEN}, or"),
        ("{order={uuid}} {ordre}", "use {order}, or"),
        ("{counter form 5}", "\"form\" is not supported in {counter}"),
        ("{counter | ulr}", "\"ulr\" is not an encoding; after | write url, json, base64, base64url, hex, unurl,"),
        ("{env }", "{env} needs the name"),
        ("{sha512 hello}", "{sha512 …} is not a slot; use {base64 …}, {md5 …}"),
        ("{hmac-sha512 key {user}}", "{hmac-sha512 …} is not a slot"),
        ("{base46 {user}}", "{base46 …} is not a slot"),
        ("{hmac-sha256 key}", "hmac-sha256 needs a key and a part"),
        ("{env BRUNT_NO_SUCH_VARIABLE}", "{env BRUNT_NO_SUCH_VARIABLE} is not set; write BRUNT_NO_SUCH_VARIABLE=…"),
    ];
    for (text, wanted) in table {
        let wrong = Template::parse_text(text, "--data", Notation::Plain, SlotScope::default()).expect_err(text);
        assert!(wrong.is_translated(), "{text}");
        let said = wrong.to_string();
        assert!(said.starts_with("--data: ") && said.contains(wanted), "{text}: {said}");
    }
}

#[test]
fn a_variable_of_the_environment_is_read_once_and_may_be_encoded() {
    let path = std::env::var("PATH").expect("every process has one");
    assert_eq!(filled("a{env PATH}b"), format!("a{path}b"));
    assert_eq!(filled("{env PATH | url}"), path.replace('/', "%2F").replace(':', "%3A"));
    assert!(
        Template::parse_text("{env PATH}", "", Notation::Plain, SlotScope::default())
            .is_ok_and(|template| template.fixed_bytes().is_some())
    );
}

#[test]
fn encodings_write_what_may_stand_there() {
    let table = [
        ("{text a\"b\\c{user} | json}", "a\\\"b\\\\c7"),
        ("{text \u{e9}/ ~{user} | url}", "%C3%A9%2F%20~7"),
        ("{text {user} | hex | base64}", "Mzc="),
        ("{text {user}|url}", "7"),
        ("{text {user} x|url}", "7 x|url"),
    ];
    for (text, wanted) in table {
        assert_eq!(filled(text), wanted, "{text}");
    }
    let mut out = Vec::new();
    Template::parse("{text {hex {user}}\u{1}\n| json}", "").unwrap().fill(&FILL, &mut out);
    assert_eq!(out, b"37\x01\n| json", "no blank in front of it: it is text");
    let mut out = Vec::new();
    Template::parse("{text {user}\u{1}\n\t | json}", "").unwrap().fill(&FILL, &mut out);
    assert_eq!(out, b"7\\u0001");
}

proptest! {
    #[test]
    fn a_text_without_slots_is_unchanged(text in "([{}\" :,\\[\\]a-z0-9=|$]|\\{[b-d][a-z]{5,9}\\}|\\{\\{|\\}\\}|user|\"id\":){0,30}") {
        let mut known = Vec::new();
        super::collect_part_names(&text, SlotScope::default(), &mut known);
        if let Ok(found) = super::split_pieces(&text, &known, SlotScope::default())
            && found.iter().all(|piece| matches!(piece, super::SlotTextPiece::Text(_)))
            && found.len() <= 1
            && !text.contains("{{user}")
        {
            prop_assert_eq!(filled(&text), text);
        }
    }

    #[test]
    fn a_text_whose_braces_are_followed_by_no_letter_is_unchanged(text in "([}\" :,a-z0-9=|]|\\{[ \"0-9:{}$(]){0,40}\\}") {
        prop_assert_eq!(filled(&text), text);
    }

    #[test]
    fn no_text_panics(text in "([{}=\\\\ a-c0-9.x+|]|counter|countr|random|length|uuid|text|hex|user|json|\u{e9}){0,24}") {
        super::oracle(&text);
        let _ = Template::parse_text(&text, "", Notation::Plain, SlotScope::default());
    }
}
