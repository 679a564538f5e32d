//! In place of `tls` in a build without the feature of that name: there are no certificates, so no connection
//! is ever encrypted.

use std::convert::Infallible;
use std::io::{self, Read, Write};
use std::path::Path;

/// This build cannot encrypt.
#[derive(Debug, thiserror::Error)]
#[error(
    "this destage was built without the feature `tls`; build it with `--features tls` to encrypt connections"
)]
pub struct TlsError;

/// There is no value of this type.
#[derive(Clone)]
pub struct ServerTls(Infallible);

impl ServerTls {
    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub fn from_folder(_: &Path) -> Result<ServerTls, TlsError> {
        Err(TlsError)
    }
}

/// There is no value of this type.
pub(crate) struct TlsLink(Infallible);

impl TlsLink {
    pub fn new(certificates: &ServerTls) -> io::Result<TlsLink> {
        match certificates.0 {}
    }

    pub fn handshake(&self, _: &mut (impl Read + Write)) -> io::Result<()> {
        match self.0 {}
    }

    pub fn read(&self, _: &mut impl Read, _: &mut [u8]) -> io::Result<usize> {
        match self.0 {}
    }

    pub fn write(&self, _: &mut impl Write, _: &[u8]) -> io::Result<usize> {
        match self.0 {}
    }
}
