//! Encryption with certificates on both sides.

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Ciphertext that is read at once.
const READ_BYTES: usize = 64 << 10;

/// Certificates that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be used.
    #[error("{}: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The fault.
        reason: String,
    },
    /// They do not go together.
    #[error("TLS: {0}")]
    Unfit(String),
}

/// The certificate of the server, and the authority that signed those of its clients.
#[derive(Clone)]
pub struct ServerTls(Arc<ServerConfig>);

impl ServerTls {
    /// Reads `ca-cert.pem`, `server-cert.pem` and `server-key.pem` of a folder.
    ///
    /// # Errors
    /// A file is missing or is none of a certificate or key, or they do not go together.
    pub fn from_folder(folder: &Path) -> Result<ServerTls, TlsError> {
        let unfit = |e: &dyn std::fmt::Display| TlsError::Unfit(e.to_string());
        let mut roots = RootCertStore::empty();
        for authority in certificates(&folder.join("ca-cert.pem"))? {
            roots.add(authority).map_err(|e| unfit(&e))?;
        }
        let chain = certificates(&folder.join("server-cert.pem"))?;
        let path = folder.join("server-key.pem");
        let key = PrivateKeyDer::from_pem_file(&path).map_err(|e| file_error(&path, &e))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let clients =
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
        let clients = clients.build().map_err(|e| unfit(&e))?;
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| unfit(&e))?
            .with_client_cert_verifier(clients)
            .with_single_cert(chain, key)
            .map_err(|e| unfit(&e))?;
        Ok(ServerTls(Arc::new(config)))
    }
}

fn file_error(path: &Path, reason: &dyn std::fmt::Display) -> TlsError {
    TlsError::File {
        path: path.to_owned(),
        reason: reason.to_string(),
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read = CertificateDer::pem_file_iter(path).map_err(|e| file_error(path, &e))?;
    let read: Result<Vec<_>, _> = read.collect();
    let read = read.map_err(|e| file_error(path, &e))?;
    if read.is_empty() {
        Err(file_error(path, &"it has no certificate"))
    } else {
        Ok(read)
    }
}

struct TlsState {
    connection: ServerConnection,
    /// Ciphertext that was read from the socket and not taken by the connection.
    pending: Vec<u8>,
}

/// The encrypted side of a connection, of which one thread reads and one writes.
pub(crate) struct TlsLink {
    state: Mutex<TlsState>,
}

impl TlsLink {
    pub fn new(certificates: &ServerTls) -> io::Result<TlsLink> {
        let config = Arc::clone(&certificates.0);
        let connection = ServerConnection::new(config).map_err(io::Error::other)?;
        let pending = Vec::new();
        Ok(TlsLink {
            state: Mutex::new(TlsState {
                connection,
                pending,
            }),
        })
    }

    fn state(&self) -> MutexGuard<'_, TlsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn handshake(&self, socket: &mut (impl Read + Write)) -> io::Result<()> {
        let mut state = self.state();
        while state.connection.is_handshaking() {
            state.connection.complete_io(socket)?;
        }
        Ok(())
    }

    pub fn read(&self, socket: &mut impl Read, out: &mut [u8]) -> io::Result<usize> {
        loop {
            {
                let mut state = self.state();
                match state.connection.reader().read(out) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    done => return done,
                }
                if !state.pending.is_empty() {
                    let TlsState {
                        connection,
                        pending,
                    } = &mut *state;
                    let mut rest = &pending[..];
                    connection.read_tls(&mut rest)?;
                    let taken = pending.len() - rest.len();
                    pending.drain(..taken);
                    let news = connection.process_new_packets();
                    news.map_err(io::Error::other)?;
                    continue;
                }
            }
            // The other thread writes while this one waits.
            let mut buffer = vec![0; READ_BYTES];
            let n = socket.read(&mut buffer)?;
            if n == 0 {
                return Ok(0);
            }
            buffer.truncate(n);
            self.state().pending = buffer;
        }
    }

    /// Only one thread writes, so records leave in the order they were made.
    pub fn write(&self, socket: &mut impl Write, data: &[u8]) -> io::Result<usize> {
        let mut out = Vec::new();
        let taken = {
            let connection = &mut self.state().connection;
            let taken = connection.writer().write(data)?;
            while connection.wants_write() {
                connection.write_tls(&mut out)?;
            }
            taken
        };
        socket.write_all(&out)?;
        Ok(taken)
    }
}
