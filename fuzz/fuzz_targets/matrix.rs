//! Whatever text a matrix is: it is read, or the message says what is wrong with it.
#![no_main]

use std::path::Path;

use harness::matrix::parse;

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Err(error) = parse(text, Path::new("/project/fuzz.toml"), None) {
        assert!(!error.to_string().is_empty());
    }
});
