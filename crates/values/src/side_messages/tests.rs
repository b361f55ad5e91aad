//! Openings and replies, tested without a protocol: order of messages, captures and errors.

use brunt_contract::{ProtocolConfig, SlotContext};

use super::{SideMessageState, SideMessages, UnsolicitedKind};
use crate::group_captures::GroupCaptures;
use crate::template::{CapturedGroups, Notation, Template};

const FILL: SlotContext<'static> = SlotContext {
    number: 3,
    user: 9,
    random: 77,
    unix_ns: 1_000_000_000,
    run: 1,
    sequence: 0,
    values: brunt_contract::UserValues::NONE,
};

fn beside(openings: &[&str], replies: &[&str]) -> Result<SideMessages<Template>, String> {
    let mut asked = ProtocolConfig::default();
    asked.options.insert("on-connect".into(), openings.iter().map(|text| (*text).to_owned()).collect());
    asked.options.insert("reply".into(), replies.iter().map(|text| (*text).to_owned()).collect());
    let compile = |text: &str, place: &str, scope| Template::parse_scoped(text, place, Notation::Escaped, scope);
    SideMessages::read(&asked, compile).map_err(|complaint| complaint.to_string())
}

fn good(openings: &[&str], replies: &[&str]) -> SideMessages<Template> {
    beside(openings, replies).expect("good options")
}

/// Returns the messages sent next, concatenated.
fn go_on(talk: &mut SideMessageState, beside: &SideMessages<Template>) -> String {
    let mut out = Vec::new();
    talk.continue_opening(beside, |template, fill| template.fill(fill, &mut out));
    String::from_utf8_lossy(&out).into_owned()
}

fn pay(talk: &mut SideMessageState, beside: &SideMessages<Template>) -> (u32, String) {
    let mut out = Vec::new();
    let say = |template: &Template, context: &SlotContext, captured: CapturedGroups<'_>| {
        template.fill_captured(context, captured, &mut out)
    };
    let paid = talk.write_replies(beside, 5_000_000_000, say);
    (paid, String::from_utf8_lossy(&out).into_owned())
}

#[test]
fn openings_are_said_in_order_up_to_what_is_awaited() {
    let beside = good(&["a{counter}{user}", "b{sequence}=>^yes$", "c{sequence}=>", "=>ready", "d{sequence}"], &[]);
    let mut talk = beside.connection_state(&FILL).expect("something is said");
    assert_eq!((go_on(&mut talk, &beside), talk.is_opening(&beside)), ("a39b1".into(), true));
    assert!(talk.on_opening_message(&beside, b"yes ").is_err(), "it is not what was awaited");
    assert_eq!(talk.on_opening_message(&beside, b"yes"), Ok(None));
    assert_eq!(go_on(&mut talk, &beside), "c2");
    assert_eq!(talk.on_opening_message(&beside, b"anything"), Ok(None));
    assert_eq!((go_on(&mut talk, &beside), talk.is_opening(&beside)), (String::new(), true));
    assert_eq!(talk.on_opening_message(&beside, b"I am ready."), Ok(None));
    assert_eq!((go_on(&mut talk, &beside), talk.is_opening(&beside)), ("d3".into(), false));
    assert_eq!((talk.opening_messages(), talk.last_number()), (4, 3));
    assert_eq!(talk.next_numbered(&FILL).sequence, 4, "the first request");
}

#[test]
fn connections_of_other_runs_remember_nothing() {
    assert!(good(&[], &[]).connection_state(&FILL).is_none());
    assert!(good(&[], &[]).with_numbered_requests(true).connection_state(&FILL).is_some());
    assert!(good(&[], &["a=>"]).connection_state(&FILL).is_some());
}

#[test]
fn replies_are_said_once_together_with_what_was_found() {
    let beside = good(
        &[],
        &[
            "^ping(.*)$=>pong{captured}#{sequence} {time}",
            "^x(a)?(b)=>{captured 0}-{captured 1}-{captured 2}",
            "^quiet=>",
        ],
    );
    let mut talk = beside.connection_state(&FILL).expect("something is said");
    let heard: Vec<UnsolicitedKind> = [&b"ping 1"[..], b"ping", b"quiet", b"xab", b"xb", b"pin"]
        .into_iter()
        .map(|message| talk.on_message(&beside, message).expect("no flood"))
        .collect();
    assert_eq!(
        heard,
        [
            UnsolicitedKind::FirstReply,
            UnsolicitedKind::LaterReply,
            UnsolicitedKind::Ignored,
            UnsolicitedKind::LaterReply,
            UnsolicitedKind::LaterReply,
            UnsolicitedKind::Unknown
        ]
    );
    assert_eq!(pay(&mut talk, &beside), (4, "pong 1#1 5pong#2 5xab-a-bxb--b".into()));
    assert_eq!((pay(&mut talk, &beside), talk.unread_replies()), ((0, String::new()), 4));
    talk.mark_replies_read();
    assert_eq!((talk.on_message(&beside, b"ping"), talk.unread_replies()), (Ok(UnsolicitedKind::FirstReply), 1));
}

/// The awaited message takes precedence over messages with a reply; both may arrive during the opening.
#[test]
fn a_ping_while_the_connection_is_opened() {
    let beside = good(&["hi=>^ok"], &["^ping=>pong", "^ok=>no"]);
    let mut talk = beside.connection_state(&FILL).expect("something is said");
    go_on(&mut talk, &beside);
    assert_eq!(talk.on_opening_message(&beside, b"ping"), Ok(Some(UnsolicitedKind::FirstReply)));
    assert_eq!(pay(&mut talk, &beside), (1, "pong".into()));
    assert_eq!(talk.on_opening_message(&beside, b"ok"), Ok(None));
    assert_eq!(pay(&mut talk, &beside), (0, String::new()));
}

#[test]
fn a_peer_that_asks_and_never_reads_is_a_flood() {
    let beside = good(&[], &["p=>q"]);
    let mut talk = beside.connection_state(&FILL).expect("something is said");
    let asked = (0..100_000).take_while(|_| talk.on_message(&beside, b"p").is_ok()).count();
    assert_eq!(asked, 32_768);
    assert_eq!(pay(&mut talk, &beside).0, 32_768);
}

#[test]
fn random_values_of_messages_differ() {
    let beside = good(&["{uuid} ", "{uuid} "], &["p=>{uuid} "]);
    let mut talk = beside.connection_state(&FILL).expect("something is said");
    let mut said = go_on(&mut talk, &beside);
    for _ in 0..2 {
        assert!(talk.on_message(&beside, b"p").is_ok());
    }
    said += &pay(&mut talk, &beside).1;
    let mut all: Vec<&str> = said.split_whitespace().collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 4, "{said}");
}

#[test]
fn groups_are_found_in_bytes() {
    let find = |pattern: &str, message: &[u8]| {
        let captures = GroupCaptures::new(pattern).expect("a pattern");
        let mut spans = vec![(7, 7)];
        captures.find(message, &mut spans).expect("few steps");
        assert_eq!(spans.len(), captures.groups() + 2);
        spans.split_off(1)
    };
    assert_eq!(find(r"(?s)^\x32.(..)", b"\x32\xff\x80\n"), [(0, 4), (2, 4)]);
    // The cache was last used by another pattern.
    assert_eq!(find(r"a(b)?(c)(?:d)", b"xxacd"), [(2, 5), (0, 0), (3, 4)]);
    assert_eq!(find("z", b"z"), [(0, 1)]);
}

#[test]
fn patterns_look_at_the_beginning_of_a_message() {
    let beside = good(&[], &["end$=>x", "^begin=>y"]);
    let mut talk = beside.connection_state(&FILL).expect("something is said");
    let long = [&b"begin"[..], &[b'.'; 5000], b"end"].concat();
    assert_eq!(talk.on_message(&beside, &long), Ok(UnsolicitedKind::FirstReply));
    assert_eq!(pay(&mut talk, &beside), (1, "y".into()));
}

#[test]
fn complaints() {
    let table: [(&[&str], &[&str], &str); 12] = [
        (&[""], &[], "--on-connect: is empty; use, for example, 'LOGIN me=>OK'"),
        (&["a=>("], &[], "--on-connect: \"(\" is not a valid regular expression"),
        (&["{captured}=>b"], &[], "--on-connect: {captured} at character 1 names neither a slot nor a part"),
        (&["{nobody}"], &[], "--on-connect: {nobody} at character 1 names neither"),
        (&["\\q"], &[], "--on-connect: \\q is not an escape"),
        (&["{sequence below 1}"], &[], "--on-connect: {sequence} from 1 has no numbers below that"),
        (&[], &["ping"], "--reply: \"ping\" has no reply; write PATTERN=>TEXT"),
        (&[], &["=>pong"], "--reply: has an empty pattern, which matches every message"),
        (&[], &["(=>pong"], "--reply: \"(\" is not a valid regular expression"),
        (&[], &["a(b)=>{captured 2}"], "--reply: {captured 2} is not a group of the pattern, which has 1"),
        (&[], &["a=>{captured x}"], "--reply: {captured x} is not a group of the pattern, which has 0"),
        (&[], &["a=>{sequence by 2}"], "--reply: \"by\" is not supported in {sequence}; use from N, below N"),
    ];
    for (openings, replies, wanted) in table {
        let said = beside(openings, replies).map(|_| String::new()).unwrap_or_else(|said| said);
        assert!(said.starts_with(wanted), "{openings:?} {replies:?}: {said}");
    }
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("users.csv");
    std::fs::write(&file, "name\nann\n").expect("written");
    let said = beside(&[&format!("{{csv {}.name unique}}", file.display())], &[]).map(|_| ()).unwrap_err();
    assert!(said.starts_with("--on-connect: uses each row of a file once"), "{said}");
    assert!(beside(&[&format!("{{csv {}.name}}", file.display())], &[]).is_ok());
}
