//! Loads over HTTP/2 against tiny real servers.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Frame};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tokio_rustls::TlsAcceptor;

use super::tls::certificate;
use super::*;
use crate::matrix::{PathShare, Protocol};

/// What a server does with a request.
#[derive(Clone, Copy)]
enum Act {
    Say(u16, &'static str),
    /// Say a part of a body and reset the stream.
    Break,
    /// Say nothing.
    Stall,
    /// Answer, and take no more requests on the connection.
    Part,
    /// Close the connection at once.
    Hang,
}

const HELLO: Act = Act::Say(200, "hello");

/// What a server does with its nth request.
type Acting = fn(u64, &str) -> Act;

#[derive(Default)]
struct Watched {
    asked: AtomicU64,
    opened: AtomicU64,
    /// Most requests under way at once on any connection.
    most: AtomicU64,
}

/// A server that counts; dropping it closes its connections.
struct Http2 {
    address: Address,
    watched: Arc<Watched>,
    // It ends with these.
    _runtime: Runtime,
    _folder: TempDir,
}

/// How a server is to be reached.
#[derive(Clone, Copy, PartialEq)]
enum Over {
    Tcp,
    Unix,
    Tls(&'static [u8]),
}

impl Http2 {
    fn new(acting: Acting) -> Self {
        Self::over(Over::Tcp, 200, acting)
    }

    fn over(over: Over, streams: u32, acting: Acting) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let folder = tempfile::tempdir().unwrap();
        let watched = Arc::new(Watched::default());
        let seen = Arc::clone(&watched);
        let path = folder.path().join("socket");
        let address = runtime.block_on(async move {
            if over == Over::Unix {
                let listener = tokio::net::UnixListener::bind(&path).unwrap();
                tokio::spawn(async move {
                    while let Ok((stream, _)) = listener.accept().await {
                        tokio::spawn(talk(stream, streams, acting, Arc::clone(&seen)));
                    }
                });
                return Address::Unix(path);
            }
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            tokio::spawn(async move {
                while let Ok((stream, _)) = listener.accept().await {
                    stream.set_nodelay(true).unwrap();
                    let seen = Arc::clone(&seen);
                    tokio::spawn(async move {
                        let Over::Tls(alpn) = over else {
                            return talk(stream, streams, acting, seen).await;
                        };
                        let acceptor = TlsAcceptor::from(certificate(&[alpn]));
                        if let Ok(stream) = acceptor.accept(stream).await {
                            talk(stream, streams, acting, seen).await;
                        }
                    });
                }
            });
            Address::Tcp(address)
        });
        Self {
            address,
            watched,
            _runtime: runtime,
            _folder: folder,
        }
    }

    fn target(&self) -> Target {
        target(self.address.clone())
    }

    fn asked(&self) -> u64 {
        self.watched.asked.load(Ordering::SeqCst)
    }
}

/// Serves one connection to its end.
async fn talk(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    streams: u32,
    acting: Acting,
    watched: Arc<Watched>,
) {
    watched.opened.fetch_add(1, Ordering::SeqCst);
    let (part, hang) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let under_way = Arc::new(AtomicU64::new(0));
    let signals = (Arc::clone(&part), Arc::clone(&hang));
    let service = service_fn(move |request: Request<_>| {
        let (watched, under_way) = (Arc::clone(&watched), Arc::clone(&under_way));
        answer(request, acting, signals.clone(), (watched, under_way))
    });
    let mut builder = http2::Builder::new(TokioExecutor::new());
    let builder = builder.max_concurrent_streams(streams);
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
    loop {
        tokio::select! {
            // The client may be gone at any time.
            _ = connection.as_mut() => return,
            () = part.notified() => connection.as_mut().graceful_shutdown(),
            () = hang.notified() => return,
        }
    }
}

type Answered = Response<BoxBody<Bytes, io::Error>>;

async fn answer(
    request: Request<hyper::body::Incoming>,
    acting: Acting,
    (part, hang): (Arc<Notify>, Arc<Notify>),
    (watched, under_way): (Arc<Watched>, Arc<AtomicU64>),
) -> Result<Answered, Infallible> {
    let count = watched.asked.fetch_add(1, Ordering::SeqCst) + 1;
    let now = under_way.fetch_add(1, Ordering::SeqCst) + 1;
    watched.most.fetch_max(now, Ordering::SeqCst);
    // Others have their turn to come in meanwhile.
    tokio::task::yield_now().await;
    let act = acting(count, request.uri().path());
    let body = |text: &'static str| {
        let body = Full::from(text).map_err(|never: Infallible| match never {});
        body.boxed()
    };
    let response = match act {
        Act::Say(status, text) => Response::builder().status(status).body(body(text)),
        Act::Break => Response::builder().body(Breaking(Some("he")).boxed()),
        Act::Stall => std::future::pending().await,
        Act::Part => {
            part.notify_one();
            Response::builder().body(body("hello"))
        }
        Act::Hang => {
            hang.notify_one();
            std::future::pending().await
        }
    };
    under_way.fetch_sub(1, Ordering::SeqCst);
    Ok(response.unwrap())
}

/// A body that breaks off.
struct Breaking(Option<&'static str>);

impl Body for Breaking {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        Poll::Ready(Some(match self.0.take() {
            Some(text) => Ok(Frame::data(Bytes::from(text))),
            None => Err(io::Error::other("broken")),
        }))
    }
}

fn hello_always(_: u64, _: &str) -> Act {
    HELLO
}

fn http2(connections: u32, streams: u32) -> Workload {
    let manner = Manner {
        protocol: Protocol::Http2,
        streams: Some(streams),
        ..Manner::default()
    };
    Workload {
        manner,
        ..workload(connections, true)
    }
}

fn errors(figures: &LoadFigures) -> Vec<ErrorKind> {
    figures.errors.keys().copied().collect()
}

/// Loads a server until so many requests have failed, and returns the kinds of the failures.
fn fails(workload: &Workload, server: &Http2) -> Vec<ErrorKind> {
    errors(&load_in_vain(workload, server.target(), 1))
}

#[test]
fn client_and_servers_count_the_same_over_every_kind_of_connection() {
    for over in [Over::Tcp, Over::Unix, Over::Tls(b"h2")] {
        for streams in [1, 8] {
            let servers = [(); 2].map(|()| Http2::over(over, 200, hello_always));
            let targets: Vec<Target> = servers.iter().map(Http2::target).collect();
            let mut workload = http2(3, streams);
            workload.manner.tls = matches!(over, Over::Tls(_));
            let running = start(&workload, &targets, &cpus(2)).unwrap();
            assert_eq!(running.engine(), "http/2 (hyper)");
            until_answers(&running, 300);
            for (server, figures) in servers.iter().zip(running.stop()) {
                assert_agree(&figures, server.asked(), u64::from(3 * streams));
                assert_eq!((figures.connections_opened, figures.connect.count), (3, 3));
                assert_eq!(server.watched.opened.load(Ordering::SeqCst), 3);
                let most = server.watched.most.load(Ordering::SeqCst);
                assert!(most <= u64::from(streams), "{most}");
                assert!((most > 1) == (streams > 1), "{most}");
                assert_eq!(figures.body_bytes, figures.answers * 5);
                assert!(figures.wire_bytes > figures.answers * (5 + 9 + 9));
                assert!(figures.first_response.mean <= figures.latency.max);
            }
        }
    }
}

#[test]
fn requests_under_way_are_as_many_as_the_connections_have_streams() {
    let server = Http2::new(hello_always);
    let running = start(&http2(4, 5), &[server.target()], &cpus(1)).unwrap();
    until_answers(&running, 500);
    running.begin_measuring();
    until_answers(&running, 3000);
    let figures = running.stop().remove(0);
    assert!((15.0..=20.1).contains(&figures.in_flight), "{figures:?}");
    let by_little = figures.fetches_per_second() * figures.latency.mean / 1e3;
    assert!(
        (by_little / figures.in_flight - 1.0).abs() < 0.1,
        "{figures:?}"
    );
    assert!(figures.connections_measured == 0 && figures.connections_opened == 4);
}

#[test]
fn a_load_of_requests_ends_after_as_many_answers() {
    let servers = [Http2::new(hello_always), Http2::new(hello_always)];
    let targets: Vec<Target> = servers.iter().map(Http2::target).collect();
    let workload = Workload {
        stop: Stop::Requests(500),
        ..http2(4, 3)
    };
    let running = start(&workload, &targets, &cpus(2)).unwrap();
    until_answers(&running, 50);
    running.begin_measuring();
    until("the end", || running.finished());
    for figures in running.stop() {
        assert_eq!((figures.answers, figures.failed()), (500, 0));
        assert!(figures.seconds > 0.0);
    }
}

#[test]
fn servers_have_their_turns_in_slices() {
    let servers = [Http2::new(hello_always), Http2::new(hello_always)];
    let targets: Vec<Target> = servers.iter().map(Http2::target).collect();
    let schedule = Schedule::Slices {
        slice: Duration::from_millis(5),
        seed: 1,
    };
    let running = crate::load::start(&http2(4, 3), &targets, &cpus(2), schedule).unwrap();
    let began = Instant::now();
    until_answers(&running, 1000);
    let took = began.elapsed().as_secs_f64();
    let mut loaded = 0.0;
    for (server, figures) in servers.iter().zip(running.stop()) {
        assert_agree(&figures, server.asked(), 12);
        assert!(figures.seconds < took * 0.8, "{figures:?} in {took} s");
        loaded += figures.seconds;
    }
    assert!(loaded < took * 1.1, "{loaded} of {took} s");
}

#[test]
fn the_paths_of_a_mix_are_asked_for_in_their_shares() {
    let server = Http2::new(|_, path| match path {
        "/a" => Act::Say(200, "hello"),
        _ => Act::Say(200, "other"),
    });
    let mut workload = http2(3, 2);
    let share = |path: &str, share| PathShare {
        path: path.to_owned(),
        share,
    };
    workload.manner.mix = vec![share("/a", 3), share("/b", 1)];
    let mut target = server.target();
    target.expected.push(Expected {
        length: None,
        body: Some(Bytes::from_static(b"wrong")),
    });
    let running = start(&workload, &[target], &cpus(1)).unwrap();
    until_answers(&running, 300);
    let figures = running.stop().remove(0);
    assert_eq!(errors(&figures), [ErrorKind::BadBody]);
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    let share = figures.failed() as f64 / figures.answers as f64;
    assert!((share - 1.0 / 3.0).abs() < 0.1, "{share}");
}

#[test]
fn wrong_answers_are_failures_by_kind() {
    let failures: [(Acting, ErrorKind); 4] = [
        (|_, _| Act::Say(500, "hello"), ErrorKind::BadStatus),
        (|_, _| Act::Say(200, "hell"), ErrorKind::BadLength),
        (|_, _| Act::Say(200, "hullo"), ErrorKind::BadBody),
        (|_, _| Act::Break, ErrorKind::Reset),
    ];
    for (acting, kind) in failures {
        let server = Http2::new(acting);
        assert_eq!(fails(&http2(2, 2), &server), [kind]);
    }
}

#[test]
fn a_connection_that_the_server_drops_is_a_failure() {
    let server = Http2::new(|_, _| Act::Hang);
    // If bytes were there that it has not read, the kernel says more than that it is closed.
    for kind in fails(&http2(2, 2), &server) {
        assert!(
            matches!(kind, ErrorKind::Closed | ErrorKind::Reset),
            "{kind:?}"
        );
    }
}

#[test]
fn silence_is_a_failure_after_the_time_out() {
    let server = Http2::new(|count, _| if count < 20 { HELLO } else { Act::Stall });
    let workload = Workload {
        timeout: Duration::from_millis(50),
        ..http2(2, 2)
    };
    assert_eq!(fails(&workload, &server), [ErrorKind::Timeout]);
}

#[test]
fn connections_that_the_server_takes_leave_of_are_opened_anew_and_nothing_is_lost() {
    let server = Http2::new(|count, _| if count % 25 == 0 { Act::Part } else { HELLO });
    let running = start(&http2(2, 4), &[server.target()], &cpus(1)).unwrap();
    until_answers(&running, 500);
    let figures = running.stop().remove(0);
    assert_agree(&figures, server.asked(), 8);
    assert!(figures.connections_opened > 5, "{figures:?}");
    assert_eq!(figures.resent, 0);
}

#[test]
fn a_server_that_allows_fewer_streams_gets_no_more() {
    let server = Http2::over(Over::Tcp, 2, hello_always);
    let running = start(&http2(1, 8), &[server.target()], &cpus(1)).unwrap();
    until_answers(&running, 300);
    let figures = running.stop().remove(0);
    assert_agree(&figures, server.asked(), 8);
    assert!(server.watched.most.load(Ordering::SeqCst) <= 2);
}

#[test]
fn a_server_that_does_not_speak_http_2_is_no_server() {
    let over = |alpn| Http2::over(Over::Tls(alpn), 200, hello_always);
    let mut encrypted = http2(1, 1);
    encrypted.manner.tls = true;
    // Both ends of the handshake may be the one to say so.
    let kinds = fails(&encrypted, &over(b"http/1.1"));
    assert_eq!(kinds, [ErrorKind::Malformed]);
    let plain = Server::new(|wire| {
        say(
            wire,
            "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
        )
    });
    let figures = load_in_vain(&http2(1, 1), plain.target(), 1);
    assert_eq!(errors(&figures), [ErrorKind::Malformed]);
    let nobody = target(Address::Unix("/nobody/listens/here".into()));
    let figures = load_in_vain(&http2(1, 1), nobody, 1);
    assert_eq!(errors(&figures), [ErrorKind::Refused]);
}

#[test]
fn an_answer_without_a_body_is_an_answer() {
    let server = Http2::new(|_, _| Act::Say(204, ""));
    let mut target = server.target();
    target.status = 204;
    target.expected = vec![Expected::default()];
    let running = start(&http2(1, 1), &[target], &cpus(1)).unwrap();
    until_answers(&running, 20);
    assert_eq!(running.stop().remove(0).body_bytes, 0);
}
