//! Where the bytes of a trace come from.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use sha2::{Digest, Sha256};

use crate::TraceError;
use crate::bytes::ahead::ReadAhead;
use crate::bytes::container;

/// A trace as stored: a file, standard input, a file that is made, or any stream of bytes.
pub enum Source {
    /// A file, or anything that can be opened like one.
    Path(PathBuf),
    /// Standard input.
    Stdin,
    /// A file that is made when it is read, under the name given.
    Made(&'static str, fn() -> io::Result<Vec<u8>>),
    /// Bytes from elsewhere, under the name given.
    Stream(String, Box<dyn Read + Send>),
}

impl Source {
    /// Bytes in memory under a file name of choice.
    pub fn bytes(name: &str, bytes: impl AsRef<[u8]> + Send + 'static) -> Source {
        Source::Stream(name.to_owned(), Box::new(io::Cursor::new(bytes)))
    }

    /// The name messages use.
    pub fn file(&self) -> String {
        match self {
            Source::Path(path) => path.display().to_string(),
            Source::Stdin => "stdin".to_owned(),
            Source::Made(name, _) => (*name).to_owned(),
            Source::Stream(name, _) => name.clone(),
        }
    }

    /// The name results use: the file name without directories and extensions.
    pub fn trace_name(&self) -> String {
        match self {
            Source::Path(path) => stem(path),
            Source::Stdin => "stdin".to_owned(),
            Source::Made(name, _) => (*name).to_owned(),
            Source::Stream(name, _) => stem(Path::new(name)),
        }
    }

    /// The bytes behind the compression, whichever it is.
    ///
    /// # Errors
    /// The file cannot be opened, or is compressed in a way that is not read.
    pub fn decompressed(self) -> Result<Box<dyn Read + Send>, TraceError> {
        let file = self.file();
        match container::open(self.start(false)?) {
            Ok(Ok((_, reader))) => Ok(reader),
            Ok(Err(container)) => Err(TraceError::Container { file, container }),
            Err(source) => Err(TraceError::Io { file, source }),
        }
    }

    pub(crate) fn start(self, hash: bool) -> Result<Raw, TraceError> {
        let file = self.file();
        let refused = |source| TraceError::Io {
            file: file.clone(),
            source,
        };
        let (mut total, mut regular) = (None, None);
        let mut reader: Box<dyn Read + Send> = match self {
            Source::Path(path) => {
                let file = File::open(&path).map_err(refused)?;
                let meta = file.metadata().map_err(refused)?;
                total = meta.is_file().then_some(meta.len());
                regular = meta.is_file().then_some(path);
                Box::new(file)
            }
            Source::Stdin => Box::new(io::stdin()),
            Source::Made(_, make) => {
                let file = make().map_err(refused)?;
                total = Some(file.len() as u64);
                Box::new(io::Cursor::new(file))
            }
            Source::Stream(_, reader) => reader,
        };
        let digest: Option<Arc<OnceLock<String>>> = hash.then(Arc::default);
        if let Some(digest) = digest.clone() {
            let hasher = Sha256::new();
            let hashed = Hashed {
                reader,
                hasher,
                digest,
            };
            reader = Box::new(ReadAhead::start("trace-sha256", hashed).map_err(refused)?);
        }
        Ok(Raw {
            reader: Arc::new(Mutex::new(reader)),
            digest,
            read: Arc::default(),
            total,
            path: regular,
        })
    }
}

/// Strips every extension: a dot, a letter, and at most seven more letters or digits. A dot
/// that is part of a name (`v1.2-cut.csv`) stays.
fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    let mut name = name.to_string_lossy().into_owned();
    while let Some(dot) = name.rfind('.') {
        let ext = &name.as_bytes()[dot + 1..];
        let is_extension = ext.len() <= 8
            && ext.first().is_some_and(u8::is_ascii_alphabetic)
            && ext.iter().all(u8::is_ascii_alphanumeric);
        if dot == 0 || !is_extension {
            break;
        }
        name.truncate(dot);
    }
    name
}

/// Hashes what it reads, on the thread that reads ahead so that decoding is not slowed.
struct Hashed<R> {
    reader: R,
    hasher: Sha256,
    /// SHA-256 of all bytes in lower-case hexadecimal digits, once the end is read.
    digest: Arc<OnceLock<String>>,
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.reader.read(buffer)?;
        self.hasher.update(&buffer[..n]);
        if n == 0 {
            let digest = self.hasher.finalize_reset();
            let digits = digest.iter().map(|byte| format!("{byte:02x}"));
            self.digest.get_or_init(|| digits.collect());
        }
        Ok(n)
    }
}

/// The bytes as stored. Shared, because the hash needs what the decompressor left unread.
#[derive(Clone)]
pub(crate) struct Raw {
    reader: Arc<Mutex<Box<dyn Read + Send>>>,
    /// The hash, if one is asked for, once all bytes are read.
    digest: Option<Arc<OnceLock<String>>>,
    /// Bytes read. Beside the lock, which a thread may hold while it waits for a slow pipe.
    read: Arc<AtomicU64>,
    total: Option<u64>,
    path: Option<PathBuf>,
}

impl Raw {
    /// The file whose bytes these are, if it can be read again.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Bytes read so far, and how many there are if that is known.
    pub fn progress(&self) -> (u64, Option<u64>) {
        (self.read.load(Ordering::Relaxed), self.total)
    }

    /// The hash of all bytes, read to the end for it; `None` if none was asked for.
    pub fn finish(mut self) -> io::Result<Option<String>> {
        if let Some(digest) = self.digest.clone() {
            io::copy(&mut self, &mut io::sink())?;
            return Ok(digest.get().cloned());
        }
        Ok(None)
    }
}

impl Read for Raw {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let reader = self.reader.lock();
        let mut reader = reader.expect("no thread panics while it holds the source");
        let n = reader.read(buffer)?;
        self.read.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_their_extensions() {
        let name = |path: &str| Source::from_arg(path).trace_name();
        assert_eq!(name("dir.d/hm_0.csv"), "hm_0");
        assert_eq!(name("cloudphysics-114k.msr.csv.zst"), "cloudphysics-114k");
        assert_eq!(name("v1.2-cut.csv.gz"), "v1.2-cut");
        assert_eq!(name(".hidden"), ".hidden");
        assert_eq!(name("plain"), "plain");
        assert_eq!(name("-"), "stdin");
    }
}
