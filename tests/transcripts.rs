//! What the command line says, as transcripts under `tests/transcripts/`.
//!
//! `TRYCMD=overwrite cargo test --test transcripts` writes them again; a run in CI never does.

#[test]
fn the_command_line_says_what_its_transcripts_say() {
    trycmd::TestCases::new()
        .case("tests/transcripts/*.trycmd")
        .env("NO_COLOR", "1")
        .env("COLUMNS", "100");
}
