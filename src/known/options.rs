//! What the known server is to be. Pure.

use std::net::SocketAddr;
use std::time::Duration;

use clap::Parser;

use super::KNOWN;

/// A small HTTP/1.1 server of known cost: every request gets the same short answer.
#[derive(Debug, Clone, PartialEq, Eq, Parser)]
#[command(name = "harness known-server", no_binary_name = false)]
pub(super) struct Options {
    /// Where to listen.
    #[arg(long, value_name = "HOST:PORT")]
    pub(super) listen: SocketAddr,
    /// Turns of a loop before each answer; every turn is the same few instructions.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) turns: u64,
    /// Threads that answer.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(super) threads: u16,
    /// Processes that answer, each with those threads.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(super) processes: u16,
    /// Wait of each answer that takes no CPU time.
    #[arg(long, value_name = "TIME", value_parser = crate::matrix::duration)]
    pub(super) delay: Option<Duration>,
    /// After so many answers, begin one more thread, which is busy for ever and answers nothing.
    #[arg(long, value_name = "N")]
    pub(super) grow_after: Option<u64>,
}

impl Options {
    /// Returns the command line of one of several processes.
    pub(super) fn of_one_process(&self) -> Vec<String> {
        let mut words = vec![
            KNOWN.to_owned(),
            format!("--listen={}", self.listen),
            format!("--turns={}", self.turns),
            format!("--threads={}", self.threads),
        ];
        let delay = self
            .delay
            .map(|delay| format!("--delay={}ms", delay.as_millis()));
        let grow = self.grow_after.map(|after| format!("--grow-after={after}"));
        words.extend(delay.into_iter().chain(grow));
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_several_processes_is_told_all_but_their_number() {
        let words = "known-server --listen 127.0.0.1:80 --turns 7 --threads 2 --processes 3 \
                     --delay 5ms --grow-after 9";
        let all = Options::try_parse_from(words.split_whitespace()).unwrap();
        let one = Options::try_parse_from(all.of_one_process()).unwrap();
        let processes = 1;
        assert_eq!(one, Options { processes, ..all });
    }
}
