//! Captures from HTML and XML.

use proptest::prelude::*;

use super::oracle;
use super::tests::taken;

/// A typical malformed page, with unclosed tags, unquoted attributes and misplaced elements.
const PAGE: &str = "<!DOCTYPE html><html><head><title> Shop &amp; more </title>
    <meta name=csrf-token content='a&lt;b'></head><body>
    <form action=/login><input type=hidden name=csrf value=\"t0k&amp;en\"><input name=user></form>
    <ul id=items><li class='item sold'><a href='/item/1'>One<li class=item><a href='/item/2'>T<b>w</b>o</a>
    <li class=item><a href='/item/3'>Three</a></ul><p>end <table><tr><td>cell";

const FEED: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
    <feed xmlns="http://www.w3.org/2005/Atom" xmlns:s="urn:shop"><entry id="1"><s:price>12</s:price><title>A</title></entry>
    <entry id="2"><s:price>8</s:price><title><![CDATA[B & C]]></title></entry></feed>"#;

#[test]
fn elements_of_html_are_found_by_selectors_of_css() {
    for (text, value) in [
        ("css input[name=csrf] @value", "t0k&en"),
        ("css 'input[name=\"csrf\"]' @value", "t0k&en"),
        ("css meta[name='csrf-token'] @content", "a<b"),
        ("css title", "Shop & more"),
        ("css li.item:not(.sold) a @href | all", "/item/2,/item/3"),
        ("css #items > li:last-child a", "Three"),
        ("css li a | nth 2", "Two"),
        ("css li a @href | random", "/item/2"),
        ("css li:has(b) a @href", "/item/2"),
        ("css li.sold ~ li a | count", "2"),
        ("css a @title | count", "0"),
        ("css h1 | default none", "none"),
        ("css td", "cell"),
        ("css form @action", "/login"),
    ] {
        assert_eq!(taken(text, PAGE).as_deref(), Ok(value), "{text}");
    }
}

#[test]
fn xml_and_html_are_searched_by_xpath() {
    for (text, body, value) in [
        ("xpath //entry[s:price < 10]/title", FEED, "B & C"),
        ("xpath //entry/@id | all", FEED, "1,2"),
        ("xpath //entry/@id | //title", FEED, "1"),
        ("xpath count(//entry)", FEED, "2"),
        ("xpath string(//s:price)", FEED, "12"),
        ("xpath //entry[last()]/@id", FEED, "2"),
        ("xpath //entry | count", FEED, "2"),
        ("xpath //none | default 'a | b'", FEED, "a | b"),
        ("xpath //input[@name='csrf']/@value", PAGE, "t0k&en"),
        ("xpath //a[contains(@href, 'item')]/@href | last", PAGE, "/item/3"),
        ("xpath //table/tbody/tr/td", PAGE, "cell"),
        ("xpath //li[2]/a", PAGE, "Two"),
        ("xpath //div[@class='or']/and/@or", "<a><div class='or'><and or='x'/></div></a>", "x"),
        ("xpath 7 mod 4 div 2 + count(//mod | //div)", "<a><mod/></a>", "2.5"),
        ("xpath div[ div and div]/p:div", "<div xmlns:p='urn:p'><div/><p:div>x</p:div></div>", "x"),
        ("xpath /a/b", "<a><b> x </b></a>", "x"),
        // A body that is not XML and does not declare itself as XML is parsed as HTML.
        ("xpath //div/br/following-sibling::i", "<div><br><i>x</i></div>", "x"),
    ] {
        assert_eq!(taken(text, body).as_deref(), Ok(value), "{text}");
    }
}

#[test]
fn what_documents_do_not_have_is_told_with_what_was_there() {
    let long = " ".repeat(1_100_000);
    for (text, body, told) in [
        ("css h1", PAGE, "css h1 found nothing; the body is <!DOCTYPE html>"),
        ("css li | nth 7", PAGE, "css li | nth 7 found only 3"),
        ("css a", "", "css a found nothing; the body is empty"),
        ("xpath //x:a", FEED, "xpath //x:a found nothing; the body is <?xml"),
        ("xpath //a", "<?xml version='1.0'?><a><b></a>", "the body is not XML: "),
        ("xpath //a", "<?xml version='1.0'?><!DOCTYPE a [<!ENTITY e 'x'>]><a>&e;</a>", "the body is not XML: "),
        ("xpath //a[foo()]", "<a/>", "xpath //a[foo()] cannot be evaluated"),
        ("css a", &long, "the body is 1.10 MB; only documents of up to 1.00 MB are searched"),
    ] {
        let why = taken(text, body).expect_err(text);
        assert!(why.starts_with(told), "{text}: {why}");
        assert!(!why.contains(['\u{1b}', '\n']), "{why:?}");
    }
}

/// Documents that would take minutes, or all memory, without a bound.
#[test]
fn hostile_documents_are_refused() {
    let half = |from: &str, then: &str| from.repeat((1 << 18) / from.len()) + &then.repeat((1 << 18) / then.len());
    let formats: String = (0..4000).map(|n| format!("<b a={n}></p>")).collect();
    let attributes: String = (0..100_000).map(|n| format!("a{n} ")).collect();
    let xml_attributes: String = (0..60_000).map(|n| format!("a{n}='' ")).collect();
    for (text, body, told) in [
        ("css x", "<a>".repeat(300_000), "more than 50000 elements"),
        ("css x", half("<div>", "</li>"), "250 deep"),
        ("css x", formats + &"<p>".repeat(200_000), "deep"),
        ("css x", format!("<p {attributes}>"), "too many attributes"),
        ("css x", format!("<p a<{}>", attributes.replace(' ', "< ")), "too many attributes"),
        ("css b ~ a", "<a></a><i></i>".repeat(20_000), "takes too long"),
        ("xpath //x", "<a>".repeat(300_000), "more than 50000 elements"),
        ("xpath //x", format!("<?xml version='1.0'?>{}", "<a>".repeat(40_000)), "not XML"),
        ("xpath //x", format!("<?xml version='1.0'?><a {xml_attributes}/>"), "more than 50000 elements"),
        ("xpath //i[preceding::i[preceding::i]]", format!("<a>{}</a>", "<i/>".repeat(40_000)), "takes too long"),
    ] {
        let why = taken(text, &body).expect_err(text);
        assert!(why.contains(told), "{text}: {why}");
    }
    // A long comment is not a tag.
    let comment = format!("<!-- {} --><a>x</a>", "a ".repeat(100_000));
    assert_eq!(taken("css a", &comment).as_deref(), Ok("x"));
}

proptest! {
    #[test]
    fn whatever_pieces_a_document_is_made_of_it_is_read_or_refused(
        text in prop_oneof![
            "css [a-z*#.\\[\\]=:> ~+,()\"]{1,14}( @[a-z]{1,5})?( \\| (last|all|count|nth 2|random))?",
            "xpath (//|/|@|\\*|\\[|\\]|\\(|\\)|::|\\||=|<|\\.|'|1|p:|a|b|div|mod|or|and|not|last|text|count|following|ancestor| ){1,9}",
        ],
        body in "(<[?]xml version='1.0'[?]>)?(<|>|</|/>|<a|<b |<div>|</div>|<table>|<tr>|<td>|</a>|<p>|<br/>|<svg>|<math>|<template>|<script>|<!--|-->|<!|<!\\[CDATA\\[|\\]\\]>|&amp;|&#x0;|&#|x|'|\"|=| |p:a|xmlns:p='q'|xmlns='q'|\u{0}|\u{e9}){0,40}",
    ) {
        oracle(&text, b"", body.as_bytes());
    }
}
