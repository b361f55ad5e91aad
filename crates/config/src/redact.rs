//! Masking of secrets in all output of the program: events before they are shown or recorded, and our own messages.

use std::sync::RwLock;

use brunt_cause::Cause;
use brunt_plan::Plan;
use brunt_plan::mask::{self, Blanks, MASK, Secrets, TextOrigin};
use brunt_record::{FailureExample, FirstResponse, RunEvent};

/// Masks secrets by position and by value, or nothing with `--keep-secrets`.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Redaction(Option<Secrets>);

/// The redaction that applies to all error messages.
static UNSAID: RwLock<Redaction> = RwLock::new(Redaction(None));

/// Masks the secrets of [`Redaction::apply_to_errors`] in an error message.
pub fn redact_error(text: &str) -> String {
    UNSAID.read().map_or_else(|_| text.to_owned(), |redaction| redaction.sentence(text))
}

impl Redaction {
    /// Creates a redaction of these secrets.
    pub fn new(secrets: Secrets) -> Redaction {
        Redaction(Some(secrets))
    }

    /// Creates a redaction of the possible secrets on a command line that is not parsed yet.
    pub fn for_command_line(line: &[String]) -> Redaction {
        let shown = line.iter().any(|word| word == "--keep-secrets");
        if shown { Redaction::default() } else { Redaction::new(Secrets::of_words(line)) }
    }

    /// Masks these secrets in all further error messages as well.
    pub fn apply_to_errors(&self) {
        if let (Ok(mut unsaid), Some(secrets)) = (UNSAID.write(), &self.0) {
            unsaid.0.get_or_insert_default().join(secrets);
        }
    }

    /// Masks a message by value only: it may quote secrets, but its own words describe syntax and could be mistaken for
    /// secrets.
    pub fn sentence(&self, text: &str) -> String {
        self.0.as_ref().map_or_else(|| text.to_owned(), |secrets| secrets.hide(text))
    }

    /// Adds the value of a user with this name if it is a secret: it is masked in everything from now on.
    pub fn learn(&mut self, name: &str, value: &str) {
        if let Some(secrets) = self.0.as_mut().filter(|secrets| secrets.is_secret_variable(name)) {
            secrets.learn_value(value);
        }
    }

    /// Returns the plan as it is saved: with a blank for each secret.
    pub fn saved_plan(&self, plan: &Plan) -> (Plan, Blanks) {
        let saved = self.0.as_ref().map(|secrets| mask::plan_with_blanks(plan, secrets));
        saved.unwrap_or_else(|| (plan.clone(), Blanks::default()))
    }

    /// Masks related texts; a secret found in one of them is masked in all.
    fn texts<'a>(&self, texts: impl IntoIterator<Item = &'a mut String>, origin: TextOrigin) {
        if let Some(secrets) = &self.0 {
            secrets.hide_all(&mut texts.into_iter().map(|text| (text, origin)).collect::<Vec<_>>());
        }
    }

    /// Masks the bytes sent and received, texts about them, and the values of a user by name; a secret found in one of
    /// them is masked in all.
    pub fn exchange<'a>(
        &mut self,
        [sent, received]: [&'a mut String; 2],
        about: impl IntoIterator<Item = &'a mut String>,
        values: impl IntoIterator<Item = (&'a str, &'a mut String)>,
    ) {
        let mut texts = vec![(sent, TextOrigin::Sent), (received, TextOrigin::Received)];
        texts.extend(about.into_iter().map(|text| (text, TextOrigin::Received)));
        for (name, value) in values {
            self.learn(name, value);
            match &self.0 {
                Some(secrets) if secrets.is_secret_variable(name) => *value = MASK.into(),
                _ => texts.push((value, TextOrigin::Received)),
            }
        }
        if let Some(secrets) = &self.0 {
            secrets.hide_all(&mut texts);
        }
    }

    /// Masks an event. The plan and the command in the header of the record are already masked.
    pub fn event(&mut self, event: &mut RunEvent) {
        match event {
            RunEvent::Example(example) => {
                let FailureExample { sent, received, detail, status, cause, values, .. } = example;
                let places = cause.iter_mut().flat_map(Cause::words_mut);
                let values = values.iter_mut().filter_map(|used| Some((&*used.name, used.value.as_mut()?)));
                self.exchange([sent, received], [detail, status].into_iter().chain(places), values);
            }
            RunEvent::FirstResponse(found) => self.probe(found),
            // The causes may quote the server.
            RunEvent::Second(second) | RunEvent::Provisional(second) => {
                let losses = second.losses.iter_mut().chain(&mut second.unopened).chain(&mut second.failed_addresses);
                losses.for_each(|loss| self.reason(Some(&mut loss.detail), loss.cause.as_mut()));
            }
            RunEvent::Notice(notice) => {
                notice.facts.values_mut().for_each(|fact| self.texts([fact], TextOrigin::Received));
                notice.causes.values_mut().for_each(|cause| self.reason(None, Some(cause)));
            }
            // The watched program chooses the names of its threads, and writes lines of its log about requests.
            RunEvent::Counters(counters) => {
                counters.labels.values_mut().for_each(|word| self.texts([word], TextOrigin::Received));
                if counters.values.keys().any(|name| is_log_line(name)) {
                    let values = std::mem::take(&mut counters.values).into_iter();
                    counters.values = values.map(|(name, n)| (self.counter(name), n)).collect();
                }
                counters.gone.iter_mut().for_each(|name| *name = self.counter(std::mem::take(name)));
            }
            // Some names come from the request, such as a path, a statement or a comparison.
            RunEvent::Started(started) => {
                let names = started.names.iter_mut().chain(&mut started.checks);
                names.for_each(|name| self.texts([name], TextOrigin::Plan));
            }
            RunEvent::Joined(joined) => {
                self.texts([&mut joined.host, &mut joined.probe, &mut joined.kernel], TextOrigin::Received);
            }
            RunEvent::OfAgent(told) => self.event(&mut told.event),
            RunEvent::Reference(_)
            | RunEvent::Began(_)
            | RunEvent::Changed(_)
            | RunEvent::Ended(_)
            | RunEvent::Spans(_)
            | RunEvent::Unknown => {}
        }
    }

    /// Masks the name of a counter that is a line of a log.
    fn counter(&self, mut name: String) -> String {
        if is_log_line(&name) {
            self.texts([&mut name], TextOrigin::Received);
        }
        name
    }

    /// Masks the response to the first request, which is known without what was sent and received.
    pub fn probe(&self, probe: &mut FirstResponse) {
        self.clone().probed_exchange(probe, [&mut String::new(), &mut String::new()], []);
    }

    /// Masks the response to a single request with the bytes sent and received, like [`Redaction::exchange`].
    pub fn probed_exchange<'a>(
        &mut self,
        probe: &'a mut FirstResponse,
        said: [&'a mut String; 2],
        values: impl IntoIterator<Item = (&'a str, &'a mut String)>,
    ) {
        if let Some(secrets) = &self.0 {
            probe.url = secrets.hide(&mask::url(&probe.url));
        }
        let FirstResponse { status, spoken, through, failure, cause, .. } = probe;
        let words = cause.iter_mut().flat_map(Cause::words_mut);
        self.exchange(said, [status, spoken].into_iter().chain(through).chain(failure).chain(words), values);
    }

    /// Masks the cause of a failure, both as English text and in structured form.
    fn reason(&self, detail: Option<&mut String>, cause: Option<&mut Cause>) {
        let words = detail.into_iter().chain(cause.into_iter().flat_map(Cause::words_mut));
        self.texts(words, TextOrigin::Received);
    }
}

/// Returns `true` if a counter is named after a line of a watched log.
fn is_log_line(counter: &str) -> bool {
    counter.starts_with("log.other.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redaction() -> Redaction {
        Redaction::for_command_line(&["--user".into(), "ann:hunter-22".into()])
    }

    #[test]
    fn examples_and_probes_are_masked() {
        let mut example = RunEvent::Example(FailureExample {
            sent: "GET /?token=a HTTP/1.1\r\nCookie: b\r\n".into(),
            received: "HTTP/1.1 500 Oh\r\nSet-Cookie: c\r\n\r\nann, hunter-22 is wrong".into(),
            ..FailureExample::default()
        });
        redaction().event(&mut example);
        let RunEvent::Example(example) = example else { unreachable!() };
        assert_eq!(example.sent, "GET /?token=*** HTTP/1.1\r\nCookie: ***\r\n");
        assert_eq!(example.received, "HTTP/1.1 500 Oh\r\nSet-Cookie: ***\r\n\r\nann, *** is wrong");
        let mut found =
            RunEvent::FirstResponse(FirstResponse { url: "http://u:p@h/".into(), ..FirstResponse::default() });
        redaction().event(&mut found);
        assert_eq!(
            found,
            RunEvent::FirstResponse(FirstResponse { url: "http://***@h/".into(), ..FirstResponse::default() })
        );
    }

    #[test]
    fn what_was_captured_is_masked_with_what_was_received() {
        let mut sent = "POST /token HTTP/1.1\r\n\r\ngrant=x".to_owned();
        let mut received =
            "HTTP/1.1 200 OK\r\nSet-Cookie: sid=abcdef99; Path=/login\r\n\r\n{\"access_token\":\"t-8821\",\"n\":3}"
                .to_owned();
        let pairs = [("access", "t-8821"), ("csrf", "a&b"), ("n", "3"), ("where", "/login")];
        let mut captured = pairs.map(|(name, value)| (name, value.to_owned()));
        let values = captured.iter_mut().map(|(name, value)| (*name, value));
        redaction().exchange([&mut sent, &mut received], [], values);
        assert_eq!(captured.map(|(_, value)| value), ["***", "***", "3", "/login"]);
        assert!(!received.contains("8821") && sent.starts_with("POST /token"), "{sent} {received}");
    }

    #[test]
    fn values_of_an_example_are_masked_by_their_names_and_by_what_they_are() {
        let used = |name: &str, value: &str| brunt_record::UsedValue { name: name.into(), value: Some(value.into()) };
        let mut example = RunEvent::Example(FailureExample {
            sent: "GET /7 HTTP/1.1\r\nAuthorization: Bearer t-8821\r\n".into(),
            values: vec![used("token", "abcdef"), used("access", "t-8821"), used("id", "7")],
            ..FailureExample::default()
        });
        redaction().event(&mut example);
        let RunEvent::Example(example) = example else { unreachable!() };
        assert_eq!(example.values, [used("token", "***"), used("access", "***"), used("id", "7")]);
        assert!(!example.sent.contains("8821"), "{}", example.sent);
    }

    #[test]
    fn names_of_threads_are_masked() {
        let labels = [("service.7.busiest.comm".to_owned(), "job hunter-22".to_owned())];
        let mut event = RunEvent::Counters(brunt_record::HostCounters { labels: labels.into(), ..Default::default() });
        redaction().event(&mut event);
        let RunEvent::Counters(counters) = event else { unreachable!() };
        assert_eq!(counters.labels["service.7.busiest.comm"], "job ***");
    }

    #[test]
    fn lines_of_watched_logs_are_masked() {
        let counter = |name: &str| (name.to_owned(), brunt_record::CounterValue::Whole(3));
        let values = [counter("log.other.GET /?key=hunter-22 failed"), counter("log.lines")].into();
        let gone = vec!["log.other.hunter-22 is unknown".to_owned()];
        let mut event = RunEvent::Counters(brunt_record::HostCounters { values, gone, ..Default::default() });
        redaction().event(&mut event);
        let RunEvent::Counters(counters) = event else { unreachable!() };
        assert_eq!(counters.values, [counter("log.lines"), counter("log.other.GET /?key=*** failed")].into());
        assert_eq!(counters.gone, ["log.other.*** is unknown"]);
    }

    #[test]
    fn our_own_sentences_keep_their_words() {
        let said = "`hunter-22` is refused; write redis://:password@host";
        assert_eq!(redaction().sentence(said), "`***` is refused; write redis://:password@host");
        assert_eq!(Redaction::default().sentence(said), said);
        assert_eq!(
            Redaction::for_command_line(&["--keep-secrets".into(), "http://u:p@h".into()]),
            Redaction::default()
        );
    }
}
