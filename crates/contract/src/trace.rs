//! The trace that a request belongs to (W3C Trace Context, level 1). It is derived from the slot context alone:
//! nothing is stored, and the ids that were sent can be derived again from the same context.

use brunt_measure::random::splitmix64;

use crate::SlotContext;

/// Name of the header.
pub const TRACEPARENT: &str = "traceparent";

/// Identifiers that locate a request in the traces of its service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Trace id, shared by all requests of an iteration.
    pub id: u128,
    /// Span id of the request.
    pub span: u64,
    /// Set if the service is asked to record the trace.
    pub sampled: bool,
}

/// Length of the header's value in bytes.
const LENGTH: usize = 55;

impl Trace {
    /// Derives the trace from the run and the request's number, which the requests of an iteration share, and the span
    /// from the request's own random bits. A trace is sampled if its low half is below `sampled`; `u64::MAX` samples
    /// all.
    #[inline]
    pub fn derive(context: &SlotContext<'_>, sampled: u64) -> Trace {
        /// Salt that keeps span ids independent of the random slots in the same request.
        const SPAN: u64 = 0x7370_616e_u64.wrapping_mul(0xd1b5_4a32_d192_ed03);
        let (mut seed, mut number) = (context.run, context.number);
        seed ^= splitmix64(&mut number);
        let (high, low) = (splitmix64(&mut seed), splitmix64(&mut seed));
        let mut span = splitmix64(&mut (context.random ^ SPAN));
        Trace {
            // Neither id may be zero.
            id: (u128::from(high) << 64 | u128::from(low)).max(1),
            span: splitmix64(&mut span).max(1),
            sampled: low < sampled || sampled == u64::MAX,
        }
    }

    /// Returns the bound with which [`Trace::derive`] samples this share of all traces; saturates at `u64::MAX`.
    pub fn sampling_bound(share: f64) -> u64 {
        (share * 2f64.powi(64)) as u64
    }

    /// Returns the value of the header: `00-TRACE-SPAN-FLAGS`.
    pub fn header(&self) -> [u8; LENGTH] {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = *b"00-00000000000000000000000000000000-0000000000000000-00";
        let digits = |text: &mut [u8], bits: u128| {
            let digit = |at: usize| DIGITS[(bits >> (4 * at) & 15) as usize];
            text.iter_mut().rev().enumerate().for_each(|(at, byte)| *byte = digit(at));
        };
        digits(&mut text[3..35], self.id);
        digits(&mut text[36..52], u128::from(self.span));
        text[54] = b'0' + u8::from(self.sampled);
        text
    }

    /// Parses the value of a header; `None` if it is malformed.
    pub fn parse(value: &[u8]) -> Option<Trace> {
        let text = std::str::from_utf8(value).ok()?;
        let whole = text.len() == LENGTH && text.starts_with("00-") && &text[35..36] == "-" && &text[52..53] == "-";
        let digits =
            |part: &str| part.bytes().all(|b| b.is_ascii_hexdigit()).then(|| u128::from_str_radix(part, 16).ok());
        let part = |from: usize, to: usize| digits(text.get(from..to)?).flatten();
        if !whole {
            return None;
        }
        let (id, span, flags) = (part(3, 35)?, part(36, 52)? as u64, part(53, 55)?);
        (id > 0 && span > 0).then_some(Trace { id, span, sampled: flags & 1 == 1 })
    }

    /// Finds the trace in the head of an HTTP request.
    pub fn find_in_head(request: &[u8]) -> Option<Trace> {
        let head = request.split(|byte| *byte == b'\n').take_while(|line| !line.trim_ascii().is_empty());
        let value = |line: &[u8]| {
            let (name, value) = line.split_at_checked(TRACEPARENT.len())?;
            name.eq_ignore_ascii_case(TRACEPARENT.as_bytes())
                .then(|| value.strip_prefix(b":").map(<[u8]>::trim_ascii))?
                .map(<[u8]>::to_vec)
        };
        head.into_iter().find_map(value).and_then(|value| Trace::parse(&value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_was_written_and_found_in_the_head_of_a_request_alone() {
        let fill = SlotContext { number: 7, random: 9, run: 5, ..SlotContext::default() };
        let trace = Trace::derive(&fill, u64::MAX);
        let header = trace.header();
        assert_eq!(Trace::parse(&header), Some(trace));
        let text = String::from_utf8(header.to_vec()).expect("ASCII");
        let found = |request: String| Trace::find_in_head(request.as_bytes());
        assert_eq!(found(format!("GET / HTTP/1.1\r\nHost: a\r\nTraceParent: {text}\r\n\r\n")), Some(trace));
        assert_eq!(found(format!("POST / HTTP/1.1\r\nHost: a\r\n\r\ntraceparent: {text}\r\n")), None);
        for wrong in [&text[1..], &text.replace("00-", "01-"), &text.replace('-', "_"), &format!("{text}0"), "é"] {
            assert_eq!(Trace::parse(wrong.as_bytes()), None, "{wrong}");
        }
        assert_eq!(Trace::parse(b"00-00000000000000000000000000000000-0000000000000001-01"), None);
    }

    #[test]
    fn the_requests_of_an_iteration_share_their_trace_and_a_share_is_sampled() {
        let of = |number, random| {
            Trace::derive(&SlotContext { number, random, run: 5, ..SlotContext::default() }, u64::MAX / 10)
        };
        assert_eq!(of(1, 2).id, of(1, 3).id);
        assert_ne!(of(1, 2).span, of(1, 3).span);
        let sampled = (0..10_000).filter(|number| of(*number, 1).sampled).count();
        assert!((850..1150).contains(&sampled), "{sampled}");
    }
}
