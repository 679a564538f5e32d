//! Decoders by the C libraries.

use super::{XZ_MEMORY, ZSTD_WINDOW_LOG};
use crate::bytes::container::XZ;
use crate::bytes::members::Members;
use liblzma::bufread::XzDecoder;
use liblzma::stream::Stream;
use std::io::{self, BufRead, Read};

/// The content of zstd frames.
pub(crate) fn zstd(bytes: impl BufRead + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    let mut decoder = zstd::stream::read::Decoder::with_buffer(bytes)?;
    decoder.window_log_max(ZSTD_WINDOW_LOG)?;
    Ok(Box::new(decoder))
}

/// The content of xz streams.
pub(crate) fn xz(bytes: impl BufRead + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    let start = |bytes| {
        let stream = Stream::new_stream_decoder(XZ_MEMORY, 0)?;
        Ok(XzDecoder::new_stream(bytes, stream))
    };
    let members = Members::new(bytes, XZ[0], start, XzDecoder::into_inner)?;
    Ok(Box::new(members))
}
