//! `harness serve`: all runs and histories of this folder's reports, to look at in a browser; read-only, for this machine only.

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use super::history;
use super::past::Known;
use super::print;
use crate::cli::ServeArgs;
use crate::error::{Error, Kind, Result};
use crate::exit::Exit;
use crate::journal;
use crate::report::{Report, html};
use crate::verdict;
use crate::workplace::{self, Workplace};

/// What is answered.
type Answer = Response<Full<Bytes>>;

pub(super) async fn run(workplace: Workplace, arguments: &ServeArgs) -> Result<Exit> {
    let address = (Ipv4Addr::LOCALHOST, arguments.port);
    let cannot = |error: std::io::Error| {
        Error::new(
            Kind::Machine,
            format!("cannot listen on port {}", arguments.port),
        )
        .because(error)
        .hint("harness serve --port 0 takes a free one")
    };
    let listener = TcpListener::bind(address).await.map_err(cannot)?;
    let port = listener.local_addr().map_err(cannot)?.port();
    print(&format!("http://localhost:{port}/  (^C ends it)"))?;
    let workplace = Arc::new(workplace);
    loop {
        let (stream, _) = listener.accept().await.map_err(cannot)?;
        let workplace = Arc::clone(&workplace);
        tokio::spawn(async move {
            let serve = service_fn(move |request| {
                let workplace = Arc::clone(&workplace);
                async move { Ok::<_, Infallible>(answer(workplace, request).await) }
            });
            // A browser that goes away is no error.
            drop(
                http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), serve)
                    .await,
            );
        });
    }
}

async fn answer(workplace: Arc<Workplace>, request: Request<Incoming>) -> Answer {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return refuse(StatusCode::METHOD_NOT_ALLOWED, "this server only shows");
    }
    // A page of another site must not read this one through a name of its own that leads here.
    let host = request
        .headers()
        .get(HOST)
        .and_then(|host| host.to_str().ok());
    if !host.is_some_and(is_local) {
        return refuse(StatusCode::FORBIDDEN, "ask for localhost");
    }
    let path = request.uri().path().to_owned();
    let made = tokio::task::spawn_blocking(move || page(&workplace, &path));
    match made.await {
        Ok(Ok(Some(answer))) => answer,
        Ok(Ok(None)) => refuse(StatusCode::NOT_FOUND, "there is no such page"),
        Ok(Err(error)) => refuse(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
        Err(_) => refuse(
            StatusCode::INTERNAL_SERVER_ERROR,
            "this is a bug in Harness",
        ),
    }
}

/// Returns whether a name of a server is this machine's own.
fn is_local(host: &str) -> bool {
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    matches!(name, "localhost" | "127.0.0.1")
}

fn refuse(status: StatusCode, why: &str) -> Answer {
    let body = format!(
        "<h1>{}</h1>\n<pre>{}</pre>",
        status.as_u16(),
        html::escape(why)
    );
    reply(
        status,
        "text/html; charset=utf-8",
        html::page("Harness", &body),
    )
}

fn reply(status: StatusCode, kind: &'static str, body: String) -> Answer {
    let mut answer = Response::new(Full::from(body));
    *answer.status_mut() = status;
    let kind = hyper::header::HeaderValue::from_static(kind);
    answer.headers_mut().insert(CONTENT_TYPE, kind);
    answer
}

fn shown(title: &str, body: &str) -> Answer {
    let body = format!("<main id=\"main\">\n{body}</main>");
    reply(
        StatusCode::OK,
        "text/html; charset=utf-8",
        html::page(title, &body),
    )
}

/// Makes the page of a path; none if there is none.
fn page(workplace: &Workplace, path: &str) -> Result<Option<Answer>> {
    let Some(parts) = parts(path) else {
        return Ok(None);
    };
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match parts.as_slice() {
        [] => Ok(Some(shown("Harness", &index(workplace)))),
        ["run", matrix, run] => one_run(workplace, matrix, run),
        ["history", matrix] => one_history(workplace, matrix),
        ["nightly", night] => one_night(workplace, night),
        ["log", rest @ ..] => one_log(workplace, &rest.iter().collect::<PathBuf>()),
        _ => Ok(None),
    }
}

/// Returns the names in a path; none if one of them leads elsewhere.
fn parts(path: &str) -> Option<Vec<String>> {
    let names = path.split('/').filter(|part| !part.is_empty());
    let names: Option<Vec<String>> = names.map(decoded).collect();
    let plain = |name: &String| {
        let mut components = Path::new(name).components();
        matches!(
            (components.next(), components.next()),
            (Some(Component::Normal(_)), None)
        )
    };
    names.filter(|names| names.iter().all(plain))
}

/// Returns a part of a path with `%41` read as `A`.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &rest[2..];
    }
    String::from_utf8(bytes).ok()
}

/// Lists what there is, by the names of the files alone: a thousand runs are not read for it.
fn index(workplace: &Workplace) -> String {
    let mut text = "<h1>Runs and nights</h1>\n".to_owned();
    let nights = names(&workplace.reports().join("nightly"), "md");
    let night = |name: &String| link(&format!("/nightly/{name}"), name);
    text.push_str(&listed("Nights", nights.iter().rev().map(night)));
    for matrix in folders(&workplace.reports().join("data")) {
        let journals = names(&workplace.journals(&matrix), "jsonl");
        let run = |name: &String| link(&format!("/run/{matrix}/{name}"), name);
        let history = std::iter::once(link(&format!("/history/{matrix}"), "history"));
        let runs = journals.iter().rev().map(run);
        text.push_str(&listed(&matrix, history.chain(runs)));
    }
    text
}

fn link(to: &str, name: &str) -> String {
    format!(
        "<a href=\"{}\">{}</a>",
        html::escape(to),
        html::escape(name)
    )
}

fn listed(title: &str, entries: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = entries.map(|entry| format!("<li>{entry}</li>")).collect();
    if items.is_empty() {
        return String::new();
    }
    let title = html::escape(title);
    format!("<h2>{title}</h2>\n<ul>\n{}\n</ul>\n", items.join("\n"))
}

/// Returns the names of the files with this ending, without it, in order.
fn names(folder: &Path, ending: &str) -> Vec<String> {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let files = entries.map(|entry| entry.path());
    let own = files.filter(|file| file.extension().is_some_and(|end| end == ending));
    let mut names: Vec<String> = own
        .filter_map(|file| Some(file.file_stem()?.to_str()?.to_owned()))
        .collect();
    names.sort();
    names
}

fn folders(folder: &Path) -> Vec<String> {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> = folders
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}

fn one_run(workplace: &Workplace, matrix: &str, run: &str) -> Result<Option<Answer>> {
    let path = workplace.journals(matrix).join(format!("{run}.jsonl"));
    if !path.is_file() {
        return Ok(None);
    }
    let run = journal::read(&path)?;
    let judgement = verdict::judge(&run);
    let known = Known::before(workplace, &run)?;
    let report = Report::new(&run, &judgement, &known.past());
    let text = report.html("/log/");
    Ok(Some(reply(
        StatusCode::OK,
        "text/html; charset=utf-8",
        text,
    )))
}

fn one_history(workplace: &Workplace, matrix: &str) -> Result<Option<Answer>> {
    let history = history::of_all(workplace, matrix)?;
    let body = format!("<pre>{}</pre>\n", html::escape(&history.terminal()));
    Ok(Some(shown(&format!("History of {matrix}"), &body)))
}

fn one_night(workplace: &Workplace, night: &str) -> Result<Option<Answer>> {
    let file = workplace
        .reports()
        .join("nightly")
        .join(format!("{night}.md"));
    if !file.is_file() {
        return Ok(None);
    }
    let body = format!("<pre>{}</pre>\n", html::escape(&workplace::read(&file)?));
    Ok(Some(shown(&format!("Night of {night}"), &body)))
}

/// Shows a log: a file of that ending, and of no folder but the cache's.
fn one_log(workplace: &Workplace, log: &Path) -> Result<Option<Answer>> {
    let inside =
        |folder: &Path, file: &Path| Some((folder.canonicalize().ok()?, file.canonicalize().ok()?));
    let Some((cache, file)) = inside(&workplace.cache(), &workplace.root.join(log)) else {
        return Ok(None);
    };
    if !file.starts_with(cache) || file.extension().is_none_or(|end| end != "log") {
        return Ok(None);
    }
    let bytes = std::fs::read(&file).map_err(|error| {
        Error::new(Kind::Machine, format!("cannot read {}", log.display())).because(error)
    })?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(Some(reply(
        StatusCode::OK,
        "text/plain; charset=utf-8",
        text,
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_names_and_leads_nowhere_else() {
        let names = |path: &str| parts(path).map(|names| names.join("|"));
        assert_eq!(names("/").as_deref(), Some(""));
        assert_eq!(names("/run/a%20b/c").as_deref(), Some("run|a b|c"));
        for wrong in [
            "/run/../x",
            "/run/%2e%2e/x",
            "/log/a%2Fb",
            "/run/%zz",
            "/run/%4",
            "/log/%ff",
        ] {
            assert_eq!(names(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn only_this_machines_own_names_are_answered() {
        assert!(is_local("localhost:8000") && is_local("127.0.0.1"));
        assert!(!is_local("example.org:8000") && !is_local("localhost.example.org"));
    }
}
