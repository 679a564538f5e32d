//! As much of HTTP/1.1 as three documents take: GET and HEAD, a connection for each.

use crate::server::{Guests, OpenConnection, Socket};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Connections at once.
const CONNECTIONS: usize = 64;
/// Bytes of a request.
const MAX_HEAD_BYTES: usize = 8 << 10;
/// Header lines of a request.
const MAX_HEADERS: usize = 64;
/// Time for a request to come in whole, and for a reply to be taken.
const PATIENCE: Duration = Duration::from_secs(10);

/// A page asks its own server only, and no other page shows it.
pub const SCRIPTS_INSIDE: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                                  connect-src 'self'; img-src data:; base-uri 'none'; frame-ancestors 'self'";
/// The same of a page in several files, with WebAssembly in workers. A check shows the page in a frame.
pub const SCRIPTS_BESIDE: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; \
                                  worker-src 'self'; frame-src 'self'; connect-src 'self'; img-src data: blob:; base-uri 'none'; \
                                  frame-ancestors 'self'";

/// A document.
#[derive(Clone)]
pub struct Response {
    kind: &'static str,
    body: Arc<[u8]>,
}

impl Response {
    /// A document of that media type.
    pub fn new(kind: &'static str, body: impl Into<Vec<u8>>) -> Response {
        let body: Vec<u8> = body.into();
        Response {
            kind,
            body: body.into(),
        }
    }
}

/// Gives documents by their path.
pub struct HttpGuests<F> {
    answer: F,
    /// The rights of pages (Content-Security-Policy).
    policy: &'static str,
    /// The documents, in words.
    known: &'static str,
}

impl<F: Fn(&str) -> Option<Response>> HttpGuests<F> {
    /// `answer` gives the document at a path, if there is one. `known` names them, and `policy` says what pages
    /// may do.
    pub fn new(answer: F, policy: &'static str, known: &'static str) -> HttpGuests<F> {
        HttpGuests {
            answer,
            policy,
            known,
        }
    }

    fn serve_one(&self, socket: &Socket) -> io::Result<()> {
        let (status, response, whole) = match read_head(socket)? {
            Asked::Document { path, whole } => match (self.answer)(&path) {
                Some(found) => ("200 OK", found, whole),
                None => refusal("404 Not Found", self.known),
            },
            Asked::Elsewhere => refusal(
                "421 Misdirected Request",
                "the host of the address is to be an IP address or a name without a dot, such as localhost",
            ),
            Asked::Other => refusal("405 Method Not Allowed", "GET and HEAD are allowed"),
            Asked::Bad => refusal("400 Bad Request", "this is no request of HTTP/1"),
            Asked::TooLong => refusal(
                "431 Request Header Fields Too Large",
                "a request has at most 8192 bytes and 64 header lines",
            ),
        };
        send(
            socket,
            status,
            &response,
            Sent {
                policy: self.policy,
                whole,
            },
        )
    }
}

fn refusal(status: &'static str, why: &str) -> (&'static str, Response, bool) {
    let body = format!("{why}\n");
    (
        status,
        Response::new("text/plain; charset=utf-8", body),
        true,
    )
}

/// How a response is sent.
struct Sent {
    policy: &'static str,
    /// With its body?
    whole: bool,
}

fn send(mut socket: &Socket, status: &str, response: &Response, how: Sent) -> io::Result<()> {
    let Sent { policy, whole } = how;
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         Allow: GET, HEAD\r\nContent-Security-Policy: {policy}\r\nX-Content-Type-Options: nosniff\r\n\
         Connection: close\r\n\r\n",
        response.kind,
        response.body.len()
    );
    socket.write_all(head.as_bytes())?;
    if whole {
        socket.write_all(&response.body)
    } else {
        Ok(())
    }
}

/// A parsed request.
enum Asked {
    /// A document, with its body if `whole`.
    Document {
        path: String,
        whole: bool,
    },
    /// Something of another host.
    Elsewhere,
    Other,
    Bad,
    TooLong,
}

fn read_head(mut socket: &Socket) -> io::Result<Asked> {
    let begun = Instant::now();
    let mut bytes = Vec::new();
    loop {
        let left = PATIENCE.saturating_sub(begun.elapsed());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        socket.set_timeouts(left, PATIENCE)?;
        let mut buffer = [0; 2048];
        match socket.read(&mut buffer) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(n) => bytes.extend(&buffer[..n]),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        if let Some(head) = parse(&bytes) {
            return Ok(head);
        }
        if bytes.len() > MAX_HEAD_BYTES {
            return Ok(Asked::TooLong);
        }
    }
}

/// The request in `bytes`; `None` if it is not complete.
fn parse(bytes: &[u8]) -> Option<Asked> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(bytes) {
        Ok(httparse::Status::Partial) => None,
        Ok(httparse::Status::Complete(_)) => {
            let target = request.path.unwrap_or_default();
            let path = target
                .split(['?', '#'])
                .next()
                .unwrap_or_default()
                .to_owned();
            let mut hosts = (request.headers.iter())
                .filter(|header| header.name.eq_ignore_ascii_case("host"))
                .map(|header| header.value);
            if !hosts.all(is_own_host) {
                return Some(Asked::Elsewhere);
            }
            Some(match request.method {
                Some("GET") => Asked::Document { path, whole: true },
                Some("HEAD") => Asked::Document { path, whole: false },
                _ => Asked::Other,
            })
        }
        Err(httparse::Error::TooManyHeaders) => Some(Asked::TooLong),
        Err(_) => Some(Asked::Bad),
    }
}

/// May the page of this host be ours? A page of another site can have its own name lead to this machine, and then read
/// what is served here (DNS rebinding). That name has a dot; no browser leaves it out.
fn is_own_host(host: &[u8]) -> bool {
    let Ok(host) = std::str::from_utf8(host) else {
        return false;
    };
    if let Some(v6) = host.strip_prefix('[') {
        let inside = v6.split_once(']').map(|(inside, _)| inside);
        return inside.is_some_and(|v6| v6.parse::<Ipv6Addr>().is_ok());
    }
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    name.parse::<Ipv4Addr>().is_ok() || !name.is_empty() && !name.contains(['.', '%', '@'])
}

impl<F: Fn(&str) -> Option<Response> + Send + Sync + 'static> Guests for HttpGuests<F> {
    const THREAD: &'static str = "guest";

    fn at_once(&self) -> usize {
        CONNECTIONS
    }

    fn of_one_client(&self) -> usize {
        CONNECTIONS / 2
    }

    fn serve(&self, guest: &Arc<OpenConnection>) {
        // A client that breaks off harms only itself.
        let _ = self.serve_one(&guest.socket);
    }

    fn refuse(&self, socket: &Socket) {
        let (status, response, whole) =
            refusal("503 Service Unavailable", "64 connections are open already");
        let timeouts = socket.set_timeouts(PATIENCE, Duration::from_millis(100));
        // A reply of this length fits into the buffer of the socket.
        let _ = timeouts.and_then(|()| {
            let policy = self.policy;
            send(socket, status, &response, Sent { policy, whole })
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_other_sites_are_not_answered() {
        for own in [
            "127.0.0.1:9100",
            "localhost",
            "[::1]:9100",
            "lab7:9100",
            "10.0.0.7",
        ] {
            assert!(is_own_host(own.as_bytes()), "{own}");
        }
        for other in [
            "evil.example:9100",
            "localhost.",
            "127.0.0.1.evil.example",
            "",
            "[evil]",
            ":80",
        ] {
            assert!(!is_own_host(other.as_bytes()), "{other}");
        }
        assert!(!is_own_host(b"\xff"));
    }
}
