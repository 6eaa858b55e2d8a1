//! Whatever a server sends, in whatever pieces: the parser does not panic, keeps little, and reads the same.
#![no_main]

use harness::load::reading::hold_pieces_against_whole;

libfuzzer_sys::fuzz_target!(|data: &[u8]| hold_pieces_against_whole(data));
