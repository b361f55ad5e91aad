//! Named checks: conditions on a response, each counted by name as passed or failed.

use std::collections::HashMap;

use brunt_cause::complaint;

use crate::{ProtocolConfig, UsageError};

/// Key in a URL's own options that assigns names to its checks. A value such as `expect-json 1 has a token` consists of
/// the option, the index of its value, and the name.
pub const CHECK_NAMES: &str = "check-names";
/// Maximum number of checks per request.
pub const MAX_CHECKS: usize = 32;
/// Maximum number of check names counted in a run.
pub const MAX_CHECK_NAMES: usize = 4000;
/// Maximum length in bytes of a name derived from the check itself.
const MAX_NAME_BYTES: usize = 100;

/// The checks of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checks {
    /// Names of the checks in reports; equal names are counted together.
    pub names: Vec<String>,
    /// Check sets of individual requests: indices into `names`, in the order in which a session reports them.
    pub sets: Vec<Box<[u16]>>,
    /// Index of each URL's set; empty if all URLs use the first set.
    pub set_of_url: Vec<u16>,
}

impl Checks {
    /// Collects the checks of a run; `options` returns the options of a URL that are checks, in the order in which its
    /// sessions report them. Returns `None` if nothing is checked.
    ///
    /// # Errors
    /// Returns a usage error if a request has more than [`MAX_CHECKS`] checks.
    pub fn read(
        config: &ProtocolConfig,
        options: impl Fn(&str) -> &'static [&'static str],
    ) -> Result<Option<Checks>, UsageError> {
        let mut reading = CheckCollector::default();
        let first = config.urls.first().map_or("", |url| &url.url);
        if config.url_options.iter().all(|own| own.is_empty())
            && config.urls.iter().all(|url| options(&url.url) == options(first))
        {
            // There may be a million URLs with the same checks.
            let of_all = checks_of(config, options(first));
            if of_all.is_empty() {
                return Ok(None);
            }
            reading.set(&of_all, "")?;
            return Ok(Some(reading.checks));
        }
        for (index, url) in config.urls.iter().enumerate() {
            let alone = config.for_url(index);
            let name = config.name(index).unwrap_or(url.path());
            let own = |option: &str| config.url_options.get(index).is_some_and(|own| own.contains_key(option));
            let mut wanted = checks_of(alone.as_ref().unwrap_or(config), options(&url.url));
            // Checks from shared options are not prefixed with the request's name.
            wanted
                .iter_mut()
                .filter(|check| check.custom_name.is_none() && own(check.option))
                .for_each(|check| check.has_request_prefix = true);
            let set = reading.set(&wanted, name)?;
            reading.checks.set_of_url.push(set);
        }
        Ok(Some(reading.checks).filter(|checks| !checks.names.is_empty()))
    }
}

/// A single check of a request.
struct NamedCheck<'a> {
    option: &'static str,
    value: &'a str,
    custom_name: Option<&'a str>,
    has_request_prefix: bool,
}

fn checks_of<'a>(config: &'a ProtocolConfig, options: &'static [&'static str]) -> Vec<NamedCheck<'a>> {
    let named = |option: &str, at: usize| {
        let mut names = config.values(CHECK_NAMES).iter().filter_map(|text| {
            let (of, rest) = text.split_once(' ')?;
            let (which, name) = rest.split_once(' ')?;
            (of == option && which.parse() == Ok(at)).then_some(name)
        });
        names.next_back()
    };
    let of_option = |option: &&'static str| {
        // For an option that is not repeatable, the last value counts.
        let values = config.values(option);
        let from = if REPEATED.contains(option) { 0 } else { values.len().saturating_sub(1) };
        let values = values.iter().enumerate().skip(from).filter(|(_, value)| !value.is_empty());
        let option = *option;
        values
            .map(move |(at, value)| NamedCheck {
                option,
                value,
                custom_name: named(option, at),
                has_request_prefix: false,
            })
            .collect::<Vec<_>>()
    };
    options.iter().flat_map(of_option).collect()
}

/// Options that may be given several times.
const REPEATED: [&str; 3] = ["expect-header", "expect-json", "expect-trailer"];

impl NamedCheck<'_> {
    fn name(&self, request: &str) -> String {
        if let Some(name) = self.custom_name {
            return name.to_owned();
        }
        let value = self.value;
        let what = match self.option {
            "expect-status" => format!("status {value}"),
            "expect-header" => format!("header {value}"),
            "expect-trailer" => format!("trailer {value}"),
            "expect-json" => format!("json {value}"),
            "expect-rows" => format!("rows {value}"),
            "expect-messages" => format!("messages {value}"),
            "expect-regex" => format!("matches {value}"),
            "expect-field" => format!("field {value}"),
            _ => format!("contains {value}"),
        };
        let name = if self.has_request_prefix { format!("{request}: {what}") } else { what };
        let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
        match name.floor_char_boundary(MAX_NAME_BYTES) {
            cut if cut < name.len() => format!("{}…", &name[..cut]),
            _ => name,
        }
    }
}

#[derive(Default)]
struct CheckCollector {
    checks: Checks,
    names: HashMap<String, u16>,
    sets: HashMap<Box<[u16]>, u16>,
}

impl CheckCollector {
    fn set(&mut self, wanted: &[NamedCheck<'_>], request: &str) -> Result<u16, UsageError> {
        if wanted.len() > MAX_CHECKS {
            let place = wanted.last().map_or("", |check| check.option);
            let trouble = complaint!(
                "is one of {} checks of a request, and at most {MAX_CHECKS} are allowed; use fewer",
                "是一个请求的 {} 个检查之一，最多允许 {MAX_CHECKS} 个；请减少",
                wanted.len()
            );
            return Err(UsageError::new(format!("--{place}"), trouble));
        }
        let rows: Box<[u16]> = wanted.iter().map(|check| self.row(check.name(request))).collect();
        let CheckCollector { checks, sets, .. } = self;
        let next = sets.len() as u16;
        Ok(*sets.entry(rows).or_insert_with_key(|rows| {
            checks.sets.push(rows.clone());
            next
        }))
    }

    /// Returns the row of a name; names beyond the first [`MAX_CHECK_NAMES`] share the row [`crate::OTHER`].
    fn row(&mut self, name: String) -> u16 {
        let CheckCollector { checks, names, .. } = self;
        let name =
            if names.len() + 1 < MAX_CHECK_NAMES || names.contains_key(&name) { name } else { crate::OTHER.to_owned() };
        *names.entry(name).or_insert_with_key(|name| {
            checks.names.push(name.clone());
            checks.names.len() as u16 - 1
        })
    }
}

/// Bit set of failed checks, one bit per check, in the order in which the checks were made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FailedChecks {
    bits: u32,
    count: u32,
}

impl FailedChecks {
    /// Appends the result of the next check.
    pub fn push(&mut self, failed: bool) {
        // Checks beyond the last bit share it.
        let at = self.count.min(u32::BITS - 1);
        self.bits |= u32::from(failed) << at;
        self.count += 1;
    }

    /// Appends the results of several checks.
    pub fn extend(mut self, failed: impl IntoIterator<Item = bool>) -> FailedChecks {
        failed.into_iter().for_each(|failed| self.push(failed));
        self
    }

    /// Appends the first `many` results of another set.
    pub fn append(self, others: FailedChecks, many: usize) -> FailedChecks {
        self.extend((0..many).map(|at| others.bits.checked_shr(at as u32).unwrap_or(0) & 1 == 1))
    }

    /// Returns `true` if any check failed.
    pub fn any(self) -> bool {
        self.bits != 0
    }

    /// Returns the bits.
    pub fn bits(self) -> u32 {
        self.bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OptionValues, RequestedUrl};

    fn options(pairs: &[(&str, &str)]) -> OptionValues {
        let mut options = OptionValues::new();
        for (name, value) in pairs {
            options.entry((*name).to_owned()).or_default().push((*value).to_owned());
        }
        options
    }

    fn asked(urls: &[&str], all: &[(&str, &str)], own: &[&[(&str, &str)]]) -> ProtocolConfig {
        let url = |url: &&str| RequestedUrl { url: (*url).to_owned(), weight: 1.0 };
        ProtocolConfig {
            urls: urls.iter().map(url).collect(),
            options: options(all),
            url_options: own.iter().map(|own| options(own)).collect(),
            ..ProtocolConfig::default()
        }
    }

    fn read(config: &ProtocolConfig) -> Option<Checks> {
        let options = |url: &str| match url.starts_with("redis") {
            true => &["expect-body"][..],
            false => &["expect-status", "expect-body", "expect-json"],
        };
        Checks::read(config, options).expect("read")
    }

    #[test]
    fn checks_of_all_have_one_set_and_those_of_one_name_who_asks() {
        assert_eq!(read(&asked(&["http://h/"; 3], &[("redirects", "3")], &[])), None);
        let of_all =
            read(&asked(&["http://h/"; 3], &[("expect-json", "$.a"), ("expect-status", "200")], &[])).expect("two");
        assert_eq!((of_all.names, of_all.set_of_url), (vec!["status 200".to_owned(), "json $.a".to_owned()], vec![]));
        let own: [&[(&str, &str)]; 2] = [&[("expect-body", "hi")], &[]];
        let mixed =
            read(&asked(&["http://h/a?b", "redis://h/"], &[("expect-status", "2xx"), ("expect-body", "o")], &own));
        let mixed = mixed.expect("three");
        assert_eq!(mixed.names, ["status 2xx", "/a: contains hi", "contains o"]);
        assert_eq!((mixed.sets, mixed.set_of_url), (vec![[0, 1].into(), [2].into()], vec![0, 1]));
    }

    #[test]
    fn names_that_are_given_stand_and_equal_ones_are_one() {
        let named: &[(&str, &str)] = &[
            ("expect-json", "$.a"),
            ("expect-json", "$.b"),
            (CHECK_NAMES, "expect-json 1 has b"),
            ("expect-status", ""),
        ];
        let checks = read(&asked(&["http://h/a", "http://h/b"], &[], &[named, named])).expect("three");
        assert_eq!(checks.names, ["/a: json $.a", "has b", "/b: json $.a"]);
        assert_eq!(checks.sets, [Box::from([0, 1]), Box::from([2, 1])]);
    }

    #[test]
    fn there_are_bounds() {
        let many: Vec<(&str, &str)> = vec![("expect-json", "$.a"); MAX_CHECKS + 1];
        let options: fn(&str) -> &'static [&'static str] = |_| &["expect-json"];
        let complaint = Checks::read(&asked(&["http://h/"], &many, &[]), options).expect_err("too many");
        assert!(complaint.to_string().starts_with("--expect-json: is one of 33 checks"), "{complaint}");
        let long = "x".repeat(300);
        let checks = Checks::read(&asked(&["http://h/"], &[("expect-json", &long)], &[]), options).expect("read");
        assert!(checks.expect("one").names[0].len() < 110);
        assert_eq!(FailedChecks::default().extend([true, false, true]).bits(), 0b101);
        assert_eq!(FailedChecks::default().extend([true; 99]).bits(), u32::MAX);
    }
}
