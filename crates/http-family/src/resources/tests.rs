//! Tests of the resource finder: as browsers fetch, each resource once, within the bounds.

use proptest::prelude::*;

use super::*;
use brunt_values::budget::MemoryBudget;

/// Returns the resources of a page at `http://h.test/a/page`, and how many were left out because of their host and
/// because of the bounds.
fn found(page: &str) -> (Vec<String>, u32, u32) {
    let wish = ResourceSettings { concurrency: 6, hosts: vec![("cdn.test".to_owned(), None)], may_fail: false };
    let allowed = AllowedHosts::of(&[Origin::tcp("h.test", 80, false)], &wish);
    let url = Url::parse("http://h.test/a/page").expect("a URL");
    let mut found = finder::find(page.as_bytes(), &url, &allowed, &MemoryBudget::default());
    let urls = std::iter::from_fn(|| found.next().map(str::to_owned)).collect();
    (urls, found.other_hosts, found.over_limit)
}

fn check(page: &str, expected: &[&str]) {
    let expected: Vec<String> = expected.iter().map(|path| format!("http://h.test{path}")).collect();
    assert_eq!(found(page).0, expected, "{page}");
}

#[test]
fn what_browsers_fetch_is_found() {
    check("<img src=x.png><IMG SRC='/y.png#z'>", &["/a/x.png", "/y.png"]);
    check("<link rel='shortcut icon' href=i><link rel=stylesheet href=s.css>", &["/a/i", "/a/s.css"]);
    check("<link rel=preload as=font href=f><link rel=modulepreload href=m.js>", &["/a/f", "/a/m.js"]);
    check("<script src=a.js></script><script type=module src=b.js></script>", &["/a/a.js", "/a/b.js"]);
    check(
        "<iframe src=f></iframe><embed src=e><object data=o></object><input type=image src=i>",
        &["/a/f", "/a/e", "/a/o", "/a/i"],
    );
    check("<video poster=p src=v></video><video autoplay><source src=w></video>", &["/a/p", "/a/w"]);
    check("<picture><source srcset='s.webp' type=image/webp><img src=s.png></picture>", &["/a/s.webp"]);
    check("<img src=1.png srcset='2.png 2x'>", &["/a/1.png"]);
}

#[test]
fn what_browsers_leave_is_left() {
    check("<link rel='alternate stylesheet' href=a><link rel=canonical href=c><link rel=next href=n>", &[]);
    check("<script type=text/template src=t></script><script nomodule src=n></script>", &[]);
    check("<script>'<img src=x>'</script><noscript><img src=n></noscript><!-- <img src=c> -->", &[]);
    check("<template><img src=t></template><textarea><img src=a></textarea><img src=b>", &["/a/b"]);
    check("<img src=''><img src='data:image/png,x'><a href=/l>l</a><img src=mailto:x><img src=page>", &[]);
    check("<img src=x.png><img src='./x.png#y'><img src=/a/x.png>", &["/a/x.png"]);
}

#[test]
fn the_first_base_holds_for_what_follows_it() {
    check("<img src=x><base href=/b/><base href=/c/><img src=x>", &["/a/x", "/b/x"]);
    check("<base href=javascript:x><img src=x>", &["/a/x"]);
}

#[test]
fn other_hosts_are_counted_and_never_fetched() {
    let page = "<img src=//other.test/x><img src=//other.test/x><img src=https://h.test/y><img src=//cdn.test:81/z>";
    assert_eq!(found(page), (vec!["http://cdn.test:81/z".to_owned()], 2, 0));
}

#[test]
fn what_is_more_than_a_page_may_have_is_counted() {
    let page: String = (0..finder::MAX_RESOURCES + 50).map(|n| format!("<img src={n}>")).collect();
    let (urls, elsewhere, beyond) = found(&page);
    assert_eq!((urls.len(), elsewhere, beyond), (finder::MAX_RESOURCES, 0, 50));
    let long = format!("<img src={}><img src=x>", "y".repeat(10_000));
    assert_eq!((found(&long).0.len(), found(&long).2), (1, 1));
}

proptest! {
    #[test]
    fn any_page_is_read_within_its_bounds(page in "(<[a-z]{1,6}( (src|href|srcset|rel|type)=['\"]?[a-z:/.#, 0-9]{0,20}['\"]?){0,3}>?|[ -~]{0,9}){0,40}") {
        oracle(page.as_bytes());
    }
}
