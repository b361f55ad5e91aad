//! The built pages of brunt, and a function that fills them with data.
//!
//! Their sources are in `web/`; the build output (`npm run build` there) is committed and compiled in, so that building
//! brunt needs no Node. `cargo xtask test web` checks that it matches the sources. A page is a single file that loads
//! nothing: its policy, style and script are included, and it has three placeholders.

use std::io::{self, Read, Write};
use std::sync::LazyLock;

use flate2::read::GzDecoder;

/// The report page.
pub static REPORT: LazyLock<String> = LazyLock::new(|| decompress(include_bytes!("../../../web/dist/report.html.gz")));

/// The page of an experiment.
pub static EXPERIMENT: LazyLock<String> =
    LazyLock::new(|| decompress(include_bytes!("../../../web/dist/experiment.html.gz")));

/// The console page.
pub static CONSOLE: LazyLock<String> =
    LazyLock::new(|| decompress(include_bytes!("../../../web/dist/console.html.gz")));

/// The script that the console page requests when a plan is edited; the page's policy contains the hash of this text.
pub static EDITOR: LazyLock<String> = LazyLock::new(|| decompress(include_bytes!("../../../web/dist/editor.js.gz")));

/// The script that the console page requests when a run or an experiment is to be started; the page's policy contains its
/// hash, too.
pub static FORMS: LazyLock<String> = LazyLock::new(|| decompress(include_bytes!("../../../web/dist/forms.js.gz")));

/// The script that the console page requests when an experiment is looked at; the page's policy contains its hash, too.
pub static EXPERIMENT_DRAWING: LazyLock<String> =
    LazyLock::new(|| decompress(include_bytes!("../../../web/dist/experiment.js.gz")));

/// Decompresses a page; pages are compiled in compressed because most runs show none.
fn decompress(bytes: &[u8]) -> String {
    let mut text = String::new();
    GzDecoder::new(bytes)
        .read_to_string(&mut text)
        .expect("what is compiled in was compressed by the build of the pages");
    text
}

/// Placeholders, in the order in which they occur on the page.
const LANG: &str = "@@LANG@@";
const TITLE: &str = "@@TITLE@@";
const DATA: &str = "@@DATA@@";

/// Writes a page with its placeholders filled: the initial language, the title, and the data to draw, which `data`
/// writes as base64 characters.
///
/// # Errors
/// Returns an error of `out` or of `data`, or an error if the page was built incorrectly and lacks a placeholder.
pub fn fill(
    page: &str,
    lang: &str,
    title: &str,
    out: &mut dyn Write,
    data: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let gap = |of: &'static str| io::Error::other(format!("the page has no {of}"));
    let (head, rest) = page.split_once(LANG).ok_or_else(|| gap(LANG))?;
    let (between, rest) = rest.split_once(TITLE).ok_or_else(|| gap(TITLE))?;
    let (body, end) = rest.split_once(DATA).ok_or_else(|| gap(DATA))?;
    for piece in [head, &escape_html(lang), between, &escape_html(title), body] {
        out.write_all(piece.as_bytes())?;
    }
    data(out)?;
    out.write_all(end.as_bytes())
}

/// Escapes text for HTML, between tags and in attributes.
fn escape_html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(page: &str, title: &str) -> io::Result<String> {
        let mut out = Vec::new();
        fill(page, "zh", title, &mut out, |to| to.write_all(b"QUJD"))?;
        Ok(String::from_utf8(out).expect("a page is text"))
    }

    #[test]
    fn titles_of_others_are_no_markup() {
        let page = r#"<html lang="@@LANG@@"><title>@@TITLE@@</title><script>@@DATA@@</script>"#;
        let said = filled(page, "</title><script>alert('1')&\"").expect("it has all gaps");
        let title = "&lt;/title&gt;&lt;script&gt;alert(&#39;1&#39;)&amp;&quot;";
        assert_eq!(said, format!(r#"<html lang="zh"><title>{title}</title><script>QUJD</script>"#));
        assert!(filled("@@LANG@@@@DATA@@", "x").is_err());
    }

    #[test]
    fn pages_in_files_load_nothing_and_have_their_gaps() {
        for (page, most) in [(&REPORT, 330_000), (&EXPERIMENT, 140_000)] {
            let said = filled(page, "x").expect("it has all gaps");
            assert!(!said.contains("@@LANG@@") && !said.contains("@@TITLE@@") && !said.contains("@@DATA@@"));
            assert!(said.contains("default-src &#39;none&#39;") || said.contains("default-src 'none'"));
            for loading in [" src=\"", "<link", "@import", "url(http"] {
                assert!(!said.contains(loading), "{loading}");
            }
            assert!(said.len() < most, "{} bytes without any data", said.len());
        }
    }
}
