//! The client without sockets: however the bytes of the answers are cut, the same is counted.

use proptest::prelude::*;

use super::*;
use crate::load::engine::client::{Client, Next};
use crate::load::engine::plan::Plan;
use crate::load::engine::shared::Shared;
use crate::matrix::PathShare;

const BODIES: [&str; 2] = ["hello", "bee"];

fn client(pipeline: u32) -> (Client, Arc<Shared>) {
    let share = |path: &str| PathShare {
        path: path.to_owned(),
        share: 1,
    };
    let manner = Manner {
        mix: vec![share("/0"), share("/1")],
        pipeline: Some(pipeline),
        ..Manner::default()
    };
    let workload = Workload {
        manner,
        ..workload(1, true)
    };
    let body = |text: &&'static str| Expected {
        length: None,
        body: Some(Bytes::from_static(text.as_bytes())),
    };
    let target = Target {
        expected: BODIES.iter().map(body).collect(),
        ..target(SocketAddr::from(([127, 0, 0, 1], 9)))
    };
    let plan = Plan::new(&workload, &[target], 1, Schedule::Together, Instant::now()).unwrap();
    let shared = Arc::new(Shared::new(1, 1, None));
    let mut client = Client::new(Arc::new(plan), Arc::clone(&shared), 0).unwrap();
    client.start(0);
    assert_eq!(client.awake(0), Some((0, Next::Open)));
    client.connecting(0, 0);
    client.established(0, 0);
    (client, shared)
}

/// Takes what is to be sent and returns the paths asked for.
fn take(client: &mut Client) -> Vec<usize> {
    let text = String::from_utf8(client.outgoing(0).to_vec()).unwrap();
    client.sent(0, text.len());
    let paths = text.split("GET /").skip(1);
    paths.map(|rest| rest[..1].parse().unwrap()).collect()
}

/// An answer to a path: right, or wrong in one of two ways, in one of two framings.
fn answer(path: usize, way: u8, chunked: bool) -> String {
    let right = BODIES[path];
    let body = match way {
        0 => format!("{}!", &right[..right.len() - 1]),
        1 => format!("{right}{right}"),
        _ => right.to_owned(),
    };
    let length = body.len();
    if chunked {
        let (first, rest) = body.split_at(2);
        let rest_length = rest.len();
        format!(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{first}\r\n{rest_length:x}\r\n{rest}\r\n0\r\n\r\n"
        )
    } else {
        format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}")
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn any_cut_of_pipelined_answers_counts_the_same(
        pipeline in 1..5_u32,
        ways in prop::collection::vec((0..6_u8, any::<bool>()), 1..20),
        cuts in prop::collection::vec(1..90_usize, 1..30),
    ) {
        let (mut client, shared) = client(pipeline);
        let mut asked = take(&mut client);
        let (mut given, mut bytes) = (0, Vec::new());
        let mut cuts = cuts.iter().cycle();
        while given < ways.len() || !bytes.is_empty() {
            // As many answers lie ready as were asked for.
            for path in asked.drain(..) {
                if let Some(&(way, chunked)) = ways.get(given) {
                    bytes.extend_from_slice(answer(path, way, chunked).as_bytes());
                    given += 1;
                }
            }
            let cut = cuts.next().map_or(1, |&cut| cut.min(bytes.len()));
            let piece: Vec<u8> = bytes.drain(..cut).collect();
            match client.received(0, &piece, 1) {
                Next::Await => {}
                Next::Send => asked.extend(take(&mut client)),
                other @ (Next::Open | Next::Close) => prop_assert!(false, "{:?}", other),
            }
        }
        let wrong = |which: u8| ways.iter().filter(|(way, _)| *way == which).count() as u64;
        let failed = wrong(0) + wrong(1);
        let expected = Counts { answers: ways.len() as u64 - failed, failed };
        prop_assert_eq!(shared.counts(), [expected]);
        let done = client.done(2);
        let errors = done.parts[0].tally.figures().errors;
        let count = |kind| errors.get(&kind).copied().unwrap_or(0);
        prop_assert_eq!(count(ErrorKind::BadBody), wrong(0));
        prop_assert_eq!(count(ErrorKind::BadLength), wrong(1));
    }
}
