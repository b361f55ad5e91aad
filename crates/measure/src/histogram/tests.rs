use proptest::prelude::*;

use super::*;

fn histogram(values: &[u64]) -> Histogram {
    let mut h = Histogram::new();
    values.iter().for_each(|&v| h.record(Nanos(v)));
    h
}

/// Values of every magnitude, including corner cases.
fn value() -> impl Strategy<Value = u64> {
    let corners = prop::sample::select(vec![0, 1, 255, 256, 511, 512, 513, TOP - 1, TOP, TOP + 1, u64::MAX]);
    prop_oneof![1 => corners, 2 => 0u64..2000, 8 => (0u32..64, any::<u64>()).prop_map(|(shift, v)| v >> shift)]
}

fn values() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(value(), 0..200)
}

#[test]
fn buckets_tile_the_numbers() {
    let mut next = 0;
    for i in 0..BUCKETS {
        let (low, width) = bucket(i);
        assert_eq!(low, next, "bucket {i}");
        assert_eq!((index_of(low), index_of(low + width - 1)), (i, i), "bucket {i}");
        assert!(width == 1 || width as f64 / low as f64 <= 0.004, "bucket {i} is {width} wide at {low}");
        next = low + width;
    }
    assert_eq!(next, TOP + 1);
    assert_eq!(index_of(u64::MAX), BUCKETS - 1);
}

#[test]
fn an_empty_one_has_no_values() {
    let h = Histogram::new();
    assert_eq!((h.count(), h.sum(), h.min(), h.max(), h.mean()), (0, 0, 0, 0, None));
    assert_eq!((h.at_rank(0), h.at_rank(1), h.buckets().count()), (None, None, 0));
    assert_eq!(h.count_at_most(Nanos::MAX), 0);
}

#[test]
fn counting_nothing_changes_nothing() {
    let mut h = histogram(&[5]);
    h.record_n(Nanos(1_000_000), 0);
    assert_eq!(h, histogram(&[5]));
}

#[test]
fn beyond_the_top_maximum_and_sum_stay_exact() {
    let h = histogram(&[u64::MAX, u64::MAX, 1]);
    assert_eq!((h.max(), h.sum()), (u64::MAX, 2 * u128::from(u64::MAX) + 1));
    assert_eq!(h.at_rank(1), Some(Nanos(1)));
    assert!(h.at_rank(3) >= Some(Nanos(TOP / 1024 * 1020)));
}

#[test]
fn compact_forms_that_are_none() {
    let mut good = Vec::new();
    histogram(&[1, 3, 700]).encode(&mut good);
    assert_eq!(good[..2], [1, 0xbc]);
    let bad: &[(&str, &[u8])] = &[
        ("nothing", &[]),
        ("a varint without end", &[0xff; 40]),
        ("no pairs but a sum", &[0, 0, 1, 0]),
        ("no pairs but a maximum", &[0, 9, 0, 0]),
        ("minimum above maximum", &[9, 1, 5, 1, 1, 1]),
        ("minimum outside the buckets", &[1, 5, 10, 1, 5, 2]),
        ("maximum outside the buckets", &[5, 6, 10, 1, 5, 2]),
        ("a count of zero", &[5, 5, 0, 1, 5, 0]),
        ("the same bucket twice", &[5, 5, 10, 2, 5, 1, 0, 1]),
        ("a sum too small", &[5, 5, 9, 1, 5, 2]),
        ("a sum too large", &[5, 5, 11, 1, 5, 2]),
        ("a bucket beyond the last", &[5, 5, 10, 1, 0xff, 0xff, 0x7f, 2]),
        ("fewer pairs than announced", &[5, 5, 10, 2, 5, 2]),
        ("endless pairs", &[5, 5, 10, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 5, 2]),
    ];
    for (name, bytes) in bad {
        let before = histogram(&[1, 2, 3]);
        let mut after = before.clone();
        assert_eq!(after.decode_into(&mut &bytes[..]), None, "{name}");
        assert_eq!(after, before, "{name} left something behind");
    }
    for cut in 0..good.len() {
        assert_eq!(Histogram::decode(&mut &good[..cut]), None, "cut at {cut}");
    }
}

#[test]
fn counts_that_do_not_fit_are_refused() {
    let mut bytes = Vec::new();
    let mut full = Histogram::new();
    full.record_n(Nanos(0), u64::MAX);
    full.encode(&mut bytes);
    let mut h = histogram(&[0]);
    assert_eq!(h.decode_into(&mut bytes.as_slice()), None);
    assert_eq!(h, histogram(&[0]));
    assert_eq!(Histogram::decode(&mut bytes.as_slice()), Some(full));
}

#[test]
fn text_form() {
    let h = histogram(&[1, 1, 1_000_000]);
    let text = serde_json::to_string(&h).expect("a string");
    assert_eq!(serde_json::from_str::<Histogram>(&text).expect("a histogram"), h);
    assert_eq!(serde_json::to_string(&Histogram::new()).expect("a string"), "\"AAAAAA\"");
    for bad in ["\"\"", "\"*\"", "\"AAAAAAAA\"", "7"] {
        assert!(serde_json::from_str::<Histogram>(bad).is_err(), "{bad}");
    }
}

proptest! {
    #[test]
    fn encoding_comes_back(values in values(), behind in prop::collection::vec(any::<u8>(), 0..4)) {
        let h = histogram(&values);
        let mut bytes = Vec::new();
        h.encode(&mut bytes);
        bytes.extend(&behind);
        let mut rest = bytes.as_slice();
        prop_assert_eq!(Histogram::decode(&mut rest), Some(h));
        prop_assert_eq!(rest, behind.as_slice());
    }

    #[test]
    fn merging_is_recording_all(a in values(), b in values()) {
        let all = histogram(&[a.as_slice(), b.as_slice()].concat());
        let mut merged = histogram(&a);
        merged.merge(&histogram(&b));
        prop_assert_eq!(&merged, &all);
        let mut bytes = Vec::new();
        histogram(&b).encode(&mut bytes);
        let mut decoded = histogram(&a);
        decoded.decode_into(&mut bytes.as_slice()).expect("well formed");
        prop_assert_eq!(decoded, all);
    }

    #[test]
    fn values_come_back_by_rank(mut values in values()) {
        let h = histogram(&values);
        values.sort_unstable();
        for (i, &v) in values.iter().enumerate().filter(|&(_, &v)| v <= TOP) {
            let found = h.at_rank(i as u64 + 1).expect("a rank within the count").0;
            prop_assert!(found.abs_diff(v) as f64 <= v as f64 * 0.004, "{} for {}", found, v);
        }
        prop_assert_eq!(h.at_rank(values.len() as u64 + 1), None);
        prop_assert_eq!(h.min(), values.first().copied().unwrap_or(0));
        prop_assert_eq!(h.max(), values.last().copied().unwrap_or(0));
        prop_assert_eq!(h.sum(), values.iter().map(|&v| u128::from(v)).sum::<u128>());
        prop_assert_eq!(h.buckets().map(|(_, n)| n).sum::<u64>(), values.len() as u64);
    }

    #[test]
    fn ranks_of_two_are_ranks_of_the_merged(a in values(), b in values()) {
        let (a, b) = (histogram(&a), histogram(&b));
        let mut merged = a.clone();
        merged.merge(&b);
        for rank in 0..=merged.count() + 1 {
            prop_assert_eq!(a.at_rank_of_both(&b, rank), merged.at_rank(rank));
        }
    }

    #[test]
    fn counts_up_to_a_limit(values in values(), limit in value()) {
        let (values, limit) = (values.into_iter().map(|v| v.min(TOP)).collect::<Vec<_>>(), limit.min(TOP));
        let found = histogram(&values).count_at_most(Nanos(limit));
        let (sure, possible) = (limit as f64 * 0.996, limit as f64 * 1.004);
        let at_most = |bound: f64| values.iter().filter(|&&v| v as f64 <= bound).count() as u64;
        prop_assert!(at_most(sure) <= found && found <= at_most(possible));
    }

    #[test]
    fn clearing_leaves_nothing(a in values(), b in values()) {
        let mut h = histogram(&a);
        h.clear();
        prop_assert_eq!(&h, &Histogram::new());
        b.iter().for_each(|&v| h.record(Nanos(v)));
        prop_assert_eq!(h, histogram(&b));
    }

    #[test]
    fn garbage_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        if let Some(mut h) = Histogram::decode(&mut bytes.as_slice()) {
            // Accepted bytes form a usable histogram.
            let copy = h.clone();
            h.at_rank(h.count() / 2);
            h.mean();
            h.clear();
            prop_assert_eq!(&h, &Histogram::new());
            h.merge(&copy);
            prop_assert_eq!(h, copy);
        }
    }

    #[test]
    fn damaged_forms_never_panic(values in values(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = Vec::new();
        histogram(&values).encode(&mut bytes);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Some(mut h) = Histogram::decode(&mut bytes.as_slice()) {
            h.at_rank(1);
            h.clear();
            prop_assert_eq!(h, Histogram::new());
        }
    }
}

#[test]
fn values_at_most_a_limit_are_so_for_certain() {
    // 50.06 ms shares a bucket with 50.00 ms, whose middle is below 50.01 ms although the value is not.
    let mut h = Histogram::new();
    h.record_n(Nanos::from_millis(10), 999);
    h.record(Nanos(50_060_000));
    assert_eq!(h.count_at_most(Nanos(50_010_000)), 999);
    assert_eq!(h.count_at_most(Nanos(50_060_000)), 1000);
    assert_eq!(h.count_at_most(Nanos(9_999_999)), 0);
}
