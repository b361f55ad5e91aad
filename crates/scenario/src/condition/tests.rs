use proptest::prelude::*;

use super::*;

/// Names and their values; `later` is not known yet.
const VALUES: [(&str, Option<&[u8]>); 17] = [
    ("state", Some(b"open")),
    ("items", Some(b"3")),
    ("pages", Some(b"12")),
    ("price", Some(b"9.50")),
    ("code", Some(b"007")),
    ("day", Some(b"2026-01-05")),
    ("empty", Some(b"")),
    ("zero", Some(b"0.0")),
    ("yes", Some(b"true")),
    ("no", Some(b"false")),
    ("nothing", Some(b"null")),
    ("order-id", Some(b"9007199254740993")),
    ("spaced", Some(b" 3\r\n")),
    ("bytes", Some(b"\xff\xfe")),
    ("contains", Some(b"it")),
    ("huge", Some(b"1e999")),
    ("later", None),
];

fn names() -> Vec<&'static str> {
    VALUES.iter().map(|(name, _)| *name).collect()
}

fn holds(text: &str) -> bool {
    let condition = Condition::parse(text, &names()).unwrap_or_else(|why| panic!("{text}: {why}"));
    condition.holds(|at| VALUES[usize::from(at)].1)
}

fn check(all: &[(&str, bool)]) {
    for (text, expected) in all {
        assert_eq!(holds(text), *expected, "{text}");
    }
}

#[test]
fn a_name_alone_holds_if_it_is_something() {
    check(&[
        ("state", true),
        ("items", true),
        ("yes", true),
        ("code", true),
        ("bytes", true),
        ("huge", true),
        ("empty", false),
        ("zero", false),
        ("no", false),
        ("nothing", false),
        ("later", false),
        ("not later", true),
        ("contains", true),
    ]);
}

#[test]
fn texts_are_equal_byte_for_byte_and_numbers_as_numbers() {
    check(&[
        ("state == 'open'", true),
        ("state == \"open\"", true),
        ("state == 'Open'", false),
        ("state != 'done'", true),
        ("'open' == state", true),
        ("code == 7", true),
        ("code == '7'", false),
        ("code == '007'", true),
        ("price == 9.5", true),
        ("price == 95e-1", true),
        ("price == '9.5'", false),
        ("state == 5", false),
        ("state != 5", true),
        ("items == spaced", true),
        ("items == code", false),
        ("state == state", true),
        ("yes == true", true),
        ("no == true", false),
        ("nothing == null", true),
        // Distinct as integers; equal as floating point numbers.
        ("order-id == 9007199254740993", true),
        ("order-id == 9007199254740992", false),
        ("order-id > 9007199254740992", true),
        ("zero == 0", true),
        ("zero == -0", true),
    ]);
}

#[test]
fn numbers_are_ordered_as_numbers_and_texts_by_their_bytes() {
    check(&[
        ("items < pages", true),
        ("pages > items", true),
        ("items <= 3", true),
        ("items < 3", false),
        ("items >= 3", true),
        ("items > -1", true),
        ("2 < items", true),
        ("price < 10", true),
        ("pages > '3'", true),
        ("day > '2025-12-31'", true),
        ("day < '2026-01-05T00:00'", true),
        ("day > 5", false),
        ("day <= 5", false),
        ("state < 'p'", true),
        ("bytes > 'z'", true),
        ("empty < 1", false),
        ("empty < 'a'", true),
        ("huge > 5", false),
    ]);
}

#[test]
fn what_is_not_known_is_as_an_empty_text_but_stands_in_no_order() {
    check(&[
        ("later == ''", true),
        ("later == empty", true),
        ("later != 'a'", true),
        ("later == 0", false),
        ("later < 5", false),
        ("later >= 0", false),
        ("later < 'a'", false),
        ("later <= later", false),
        ("later contains ''", false),
        ("state contains later", false),
        ("state starts with later", false),
    ]);
}

#[test]
fn texts_are_looked_for_in_values() {
    check(&[
        ("state contains 'pe'", true),
        ("state contains 'x'", false),
        ("state starts with 'op'", true),
        ("state starts  with 'pe'", false),
        ("state ends with 'en'", true),
        ("state ends with 'e'", false),
        ("'a bit' contains contains", true),
        ("contains contains 'it'", true),
        ("pages contains 2", true),
        ("not state contains 'pe'", false),
    ]);
}

#[test]
fn not_binds_closer_than_and_and_that_closer_than_or() {
    check(&[
        ("yes or no and no", true),
        ("(yes or no) and no", false),
        ("not no and yes", true),
        ("not (no and yes)", true),
        ("not yes or yes", true),
        ("not (yes or yes)", false),
        ("not not yes", true),
        ("not state == 'open'", false),
        ("!no && yes || no", true),
        ("!(yes||no)", false),
        ("((yes))and(yes)", true),
        ("state == 'open'and items>0", true),
        ("state == ')' or state == 'a or b'", false),
        ("no or no or no or yes", true),
        ("yes and yes and yes and no", false),
    ]);
}

#[test]
fn a_complaint_says_where_and_what_would_be_right() {
    let cases = [
        ("", "a condition is missing; use, for example, state == 'open' and items > 0"),
        ("state = 'a'", "`= 'a'` in the condition is not a comparison; write == for equal"),
        (
            "stat == 'a'",
            "`stat == 'a'` in the condition is not a captured value; use one of state, items, pages, price, ",
        ),
        ("State", "`State` in the condition is not a captured value; write `state` if you meant that"),
        ("state ==", "the condition `state ==` ends too early: its end is where a value should be; use, for example, "),
        ("(state", "the condition `(state` ends too early: its end follows a ( that is not closed; write ) before it"),
        ("state)", "`)` in the condition has no ( before it"),
        ("state == 'a", "`'a` in the condition is not closed; write ' after the text"),
        ("state items", "`items` in the condition is one too many; put `and`, `or` or a comparison before it"),
        (
            "1 < items < 5",
            "`< 5` in the condition compares a third value; compare two at a time and join them with \
            `and`",
        ),
        (
            "1 < 2",
            "`1 < 2` in the condition compares no captured value, so its result is always the same; name a \
            value",
        ),
        ("items > 0 or true", "`true` in the condition is the same for every user; compare it with a value"),
        (
            "items > 5ms",
            "`5ms` in the condition is not a number; write numbers as 12, -0.5 or 1e6, and texts in quotes",
        ),
        ("day > 2026-01-05", "`2026-01-05` in the condition is not a number; write numbers as "),
        ("items > 1e999", "`1e999` in the condition is not a number; "),
        ("{state} == 'a'", "`{state} == 'a'` in the condition does not belong here; write names without braces"),
        (
            "items + 1 > 3",
            "`+ 1 > 3` in the condition is arithmetic, which conditions do not have; compare values \
            as they are",
        ),
        ("yes & no", "`& no` in the condition is not an operator of conditions; write and"),
        ("yes | no", "`| no` in the condition is not an operator of conditions; write or"),
        ("state == 打开", "`打开` in the condition is not a value, number or comparison; write texts in quotes"),
        ("state starts 'a'", "`'a'` in the condition follows `starts`; write `starts with`"),
        ("state == not yes", "`not yes` in the condition cannot be inside a comparison; put `not` before all of it"),
        ("state == (yes)", "`(yes)` in the condition cannot be inside a comparison; put parentheses around all of it"),
        ("\u{1b}[2J", "`\\x1b[2J` in the condition is not a value, "),
        ("and", "`and` in the condition is where a value should be; "),
    ];
    for (text, expected) in cases {
        let why = Condition::parse(text, &names()).expect_err(text);
        assert!(why.starts_with(expected), "{text}: {why}");
    }
    let why = Condition::parse("open", &[""; 0]).expect_err("no names");
    assert!(why.ends_with("is not a captured value, as nothing is captured; write texts in quotes: 'open'"), "{why}");
}

#[test]
fn length_and_depth_are_bounded_and_complaints_short() {
    let nested = |depth: usize| format!("{}state{}", "(".repeat(depth), ")".repeat(depth));
    assert!(holds(&nested(50)));
    let deep = [nested(51), nested(2000), "!".repeat(51) + "state", "not ".repeat(1000) + "state"];
    for text in deep {
        let why = Condition::parse(&text, &names()).expect_err("too deep");
        assert!(why.contains("is nested more than 50 deep"), "{why}");
    }
    let long = vec!["state"; 400].join(" and ");
    assert!(holds(&long), "many are not deep");
    assert!(holds(&vec!["not (no)"; 60].join(" and ")), "many beside each other are not deep");
    let why = Condition::parse(&(long + &" and state".repeat(200)), &names()).expect_err("too long");
    assert!(why.ends_with("bytes; at most 4096 are read"), "{why}");
    let many: Vec<String> = (0..500).map(|n| format!("value-{n}")).collect();
    let why = Condition::parse(&"x".repeat(4000), &many).expect_err("unknown");
    assert!(why.chars().count() < 400, "{why}");
}

#[test]
fn the_values_it_looks_at_are_told() {
    let condition = Condition::parse("not (items > 0 or code == items) and state", &names()).expect("right");
    assert_eq!(condition.value_indices(), [1, 4, 1, 0]);
}

/// A tree that can be written with only the necessary parentheses or with all of them; both must mean the same.
#[derive(Clone, Debug)]
enum ConditionTree {
    Leaf(usize),
    Not(Box<ConditionTree>),
    All(Vec<ConditionTree>),
    Any(Vec<ConditionTree>),
}

impl ConditionTree {
    fn holds(&self, known: u8) -> bool {
        match self {
            ConditionTree::Leaf(n) => known >> n & 1 == 1,
            ConditionTree::Not(tree) => !tree.holds(known),
            ConditionTree::All(trees) => trees.iter().all(|tree| tree.holds(known)),
            ConditionTree::Any(trees) => trees.iter().any(|tree| tree.holds(known)),
        }
    }

    /// Binding strength of the operator.
    fn rank(&self) -> u8 {
        match self {
            ConditionTree::Any(_) => 0,
            ConditionTree::All(_) => 1,
            ConditionTree::Not(_) | ConditionTree::Leaf(_) => 2,
        }
    }

    fn text(&self, within: u8) -> String {
        let joined = |trees: &[ConditionTree], by: &str, rank| {
            trees.iter().map(|tree| tree.text(rank)).collect::<Vec<_>>().join(by)
        };
        let text = match self {
            ConditionTree::Leaf(n) => ["a", "b == 'y'", "c > 0"][*n].to_owned(),
            ConditionTree::Not(tree) => format!("not {}", tree.text(2)),
            ConditionTree::All(trees) => joined(trees, " and ", 2),
            ConditionTree::Any(trees) => joined(trees, " or ", 1),
        };
        if self.rank() < within { format!("({text})") } else { text }
    }
}

fn trees() -> impl Strategy<Value = ConditionTree> {
    (0..3usize).prop_map(ConditionTree::Leaf).prop_recursive(5, 30, 4, |inner| {
        prop_oneof![
            inner.clone().prop_map(|tree| ConditionTree::Not(Box::new(tree))),
            prop::collection::vec(inner.clone(), 1..4).prop_map(ConditionTree::All),
            prop::collection::vec(inner, 1..4).prop_map(ConditionTree::Any),
        ]
    })
}

#[test]
fn what_a_condition_always_says_is_known_from_the_values_that_nobody_knows() {
    let names = ["known", "never"];
    for (text, expected) in [
        ("known", None),
        ("never", Some(false)),
        ("not never", Some(true)),
        ("never == ''", Some(true)),
        ("never > 3", Some(false)),
        ("never == known", None),
        ("known and never", Some(false)),
        ("known or never", None),
        ("known or not never", Some(true)),
        ("not (never or never == 1)", Some(true)),
    ] {
        let condition = Condition::parse(text, &names).expect("right");
        assert_eq!(condition.constant_result(|value| value == 0), expected, "{text}");
    }
}

proptest! {
    #[test]
    fn any_tree_holds_as_it_is_written(tree in trees()) {
        let text = tree.text(0);
        let condition = Condition::parse(&text, &["a", "b", "c"]).expect("right");
        for known in 0..8u8 {
            let value = |at: u16| Some(if known >> at & 1 == 1 { [&b"x"[..], b"y", b"1"][usize::from(at)] } else { b"0" });
            prop_assert_eq!(condition.holds(value), tree.holds(known), "{} of {:03b}", text, known);
        }
    }

    #[test]
    fn any_numbers_compare_as_they_do(a in any::<i64>(), b in prop_oneof![any::<i64>(), -3..3i64]) {
        let (left, right) = (a.to_string(), b.to_string());
        let values = [left.as_bytes(), right.as_bytes()];
        for (sign, expected) in [("==", a == b), ("!=", a != b), ("<", a < b), ("<=", a <= b), (">", a > b), (">=", a >= b)] {
            for text in [format!("a {sign} b"), format!("a {sign} {b}"), format!("{a} {sign} b")] {
                let condition = Condition::parse(&text, &["a", "b"]).expect("right");
                prop_assert_eq!(condition.holds(|at| Some(values[usize::from(at)])), expected, "{}", text);
            }
        }
    }

    #[test]
    fn any_text_is_read_or_complained_about(text in r#"([abc]|==|!=|[<>]=?|and|or|not|contains|starts|ends|with|[()'"!&|=+{$\-]|-?[0-9]{1,3}|\PC| ){0,20}"#) {
        match Condition::parse(&text, &["a", "b", "c"]) {
            Ok(condition) => prop_assert!(condition.value_indices().iter().all(|at| *at < 3) && !condition.value_indices().is_empty()),
            Err(why) => prop_assert!(!why.is_empty() && !why.contains('\n')),
        }
    }

    #[test]
    fn any_values_are_compared_without_panic(
        a in prop::option::of(prop::collection::vec(any::<u8>(), 0..80)),
        b in prop::option::of("[-+0-9.eE ]{0,70}"),
        at in 0..10usize,
    ) {
        let text = ["a", "a == b", "a != b", "a < b", "a <= b", "a > b", "a >= b", "a contains b", "a starts with b", "b ends with a"][at];
        let condition = Condition::parse(text, &["a", "b"]).expect("right");
        let values = [a.as_deref(), b.as_deref().map(str::as_bytes)];
        let held = condition.holds(|at| values[usize::from(at)]);
        let not = Condition::parse(&format!("not ({text})"), &["a", "b"]).expect("right");
        prop_assert_eq!(not.holds(|at| values[usize::from(at)]), !held);
    }
}
