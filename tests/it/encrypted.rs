//! Servers that speak TLS or HTTP/2, through the whole program.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Request, Response, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::PrivatePkcs8KeyDer;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;

use crate::world::{Ended, World};

/// What a server speaks.
#[derive(Clone, Copy, PartialEq)]
struct Manner {
    tls: bool,
    version: Version,
}

/// A server on a thread of the test's own, which ends with it.
struct Server {
    address: SocketAddr,
    /// Requests that it has answered.
    answered: Arc<AtomicU64>,
    _runtime: Runtime,
}

impl Server {
    fn new(manner: Manner) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let answered = Arc::new(AtomicU64::new(0));
        let acceptor = TlsAcceptor::from(certificate(manner.version));
        let count = Arc::clone(&answered);
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, count) = (acceptor.clone(), Arc::clone(&count));
                tokio::spawn(async move {
                    if !manner.tls {
                        talk(stream, manner, count).await;
                    } else if let Ok(stream) = acceptor.accept(stream).await {
                        talk(stream, manner, count).await;
                    }
                });
            }
        });
        Self {
            address,
            answered,
            _runtime: runtime,
        }
    }
}

fn certificate(version: Version) -> Arc<ServerConfig> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key.into())
        .unwrap();
    let name: &[u8] = if version == Version::HTTP_2 {
        b"h2"
    } else {
        b"http/1.1"
    };
    config.alpn_protocols = vec![name.to_vec()];
    Arc::new(config)
}

/// Serves one connection to its end; the client may be gone at any time.
async fn talk(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    manner: Manner,
    answered: Arc<AtomicU64>,
) {
    let service = service_fn(move |request: Request<Incoming>| {
        assert_eq!(request.version(), manner.version);
        answered.fetch_add(1, Ordering::SeqCst);
        async {
            // The server and not the client is to set the pace, also where the client is not optimised.
            tokio::time::sleep(Duration::from_millis(2)).await;
            Ok::<_, Infallible>(Response::new(Full::<Bytes>::from("Hello World\n")))
        }
    });
    let io = TokioIo::new(stream);
    if manner.version == Version::HTTP_2 {
        let connection = http2::Builder::new(TokioExecutor::new()).serve_connection(io, service);
        drop(connection.await);
    } else {
        drop(http1::Builder::new().serve_connection(io, service).await);
    }
}

/// Runs the load with these keys against two servers that speak so.
fn run(world: &World, server: Manner, keys: &str) -> ([Server; 2], Ended) {
    let servers = [Server::new(server), Server::new(server)];
    let [one, other] = [&servers[0], &servers[1]].map(|server| server.address);
    let text = format!(
        r#"schema = 2
[source.attach]
addresses = {{ one = "{one}", other = "{other}" }}
[check]
body = "Hello World\n"
[ready]
timeout = "300ms"
[load]
connections = 4
duration = "200ms"
window = "50ms"
warmup = {{ answers = 50, at_most = "300ms" }}
{keys}
[sessions]
count = 3
solo = 1
[verdict]
confirm = false
"#
    );
    world.write("attached.toml", &text);
    let ended = world.run(&["run", "attached.toml"]);
    (servers, ended)
}

/// Returns the sessions, and the answers that each server was measured and warmed up by.
fn counted(world: &World) -> (Vec<serde_json::Value>, [u64; 2]) {
    let mut answers = [0; 2];
    let sessions = world
        .records("attached")
        .into_iter()
        .filter(|record| record["record"] == "session");
    let sessions: Vec<_> = sessions.collect();
    for launch in sessions
        .iter()
        .flat_map(|session| session["launches"].as_array().unwrap())
    {
        let sample = &launch["sample"];
        assert!(sample.is_object(), "{launch}");
        let cell = usize::try_from(launch["cell"].as_u64().unwrap()).unwrap();
        answers[cell] += sample["load"]["answers"].as_u64().unwrap();
        answers[cell] += sample["warmup_answers"].as_u64().unwrap();
        assert_eq!(sample["load"]["connections_opened"], 4, "{launch}");
    }
    (sessions, answers)
}

#[test]
fn servers_that_speak_tls_or_http_2_are_loaded_as_they_want_it() {
    let manner = |tls, version| Manner { tls, version };
    for (server, keys, engine) in [
        (manner(true, Version::HTTP_11), "tls = true", "epoll"),
        (
            manner(false, Version::HTTP_2),
            "protocol = \"http/2\"",
            "http/2 (hyper)",
        ),
        (
            manner(true, Version::HTTP_2),
            "tls = true\nprotocol = \"http/2\"\nstreams = 5",
            "http/2 (hyper)",
        ),
    ] {
        let world = World::new();
        let (servers, ended) = run(&world, server, keys);
        assert!(matches!(ended.code, Some(0 | 1 | 125)), "{ended:?}");
        let (sessions, counted) = counted(&world);
        assert_eq!(sessions.len(), 5, "{ended:?}");
        for session in sessions {
            assert_eq!(session["client"]["engine"], engine, "{session}");
        }
        for (server, counted) in servers.iter().zip(counted) {
            // The probe's two for each launch, and what was answered between warm-up and measuring and at the end.
            let answered = server.answered.load(Ordering::SeqCst);
            assert!(
                counted > 200 && counted <= answered,
                "{counted} of {answered}"
            );
        }
    }
}

#[test]
fn a_server_that_speaks_otherwise_is_not_ready_and_it_is_said_why() {
    let plain = Manner {
        tls: false,
        version: Version::HTTP_11,
    };
    for (keys, why) in [
        ("tls = true", "the TLS handshake failed"),
        (
            "protocol = \"http/2\"",
            "no answer over HTTP/2, which is spoken at once",
        ),
    ] {
        let world = World::new();
        let (_servers, ended) = run(&world, plain, keys);
        assert_eq!(ended.code, Some(125), "{ended:?}");
        let gaps = world.records("attached").into_iter();
        let gaps: Vec<_> = gaps.filter(|record| record["record"] == "gap").collect();
        assert_eq!(gaps.len(), 2, "{ended:?}");
        for gap in gaps {
            assert_eq!(gap["gap"]["kind"], "not-ready");
            let cause = gap["gap"]["cause"].as_str().unwrap();
            assert!(cause.contains(why), "{cause}");
        }
    }
}
