//! Arbitrary bytes as the output of a gRPC server, after its SETTINGS; the first byte chooses where they are also
//! split.
//! `cargo +nightly fuzz run grpc_answers fuzz/corpus/grpc_answers fuzz/seeds/grpc_answers`

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some((at, said)) = bytes.split_first() {
        brunt_protocols::grpc::oracle::answer(said, usize::from(*at) * said.len() / 255);
    }
});
