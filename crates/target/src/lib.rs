//! The built-in server under test.
