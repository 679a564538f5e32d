//! In place of `tls` in a build without the feature of that name: there are no certificates, so no connection
//! is ever encrypted.

pub use self::NoCertificates as ServerTls;
pub(crate) use self::NoLink as TlsLink;
pub use self::NoTls as TlsError;
use std::io::{self, Read, Write};
use std::path::Path;

/// This build cannot encrypt.
#[derive(Debug, thiserror::Error)]
#[error(
    "this destage was built without the feature `tls`; build it with `--features tls` to encrypt connections"
)]
pub struct NoTls;

/// There are none.
#[derive(Clone)]
pub enum NoCertificates {}

impl NoCertificates {
    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub fn from_folder(_: &Path) -> Result<NoCertificates, NoTls> {
        Err(NoTls)
    }
}

/// There is none.
pub(crate) enum NoLink {}

impl NoLink {
    pub fn new(certificates: &NoCertificates) -> io::Result<NoLink> {
        match *certificates {}
    }

    pub fn handshake(&self, _: &mut (impl Read + Write)) -> io::Result<()> {
        match *self {}
    }

    pub fn read(&self, _: &mut impl Read, _: &mut [u8]) -> io::Result<usize> {
        match *self {}
    }

    pub fn write(&self, _: &mut impl Write, _: &[u8]) -> io::Result<usize> {
        match *self {}
    }
}
