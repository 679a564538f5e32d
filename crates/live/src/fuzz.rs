//! A plain function for fuzzers: any bytes from a client, no panic, and the promises of the protocol kept.

use crate::protocol::BlockSizes;
use crate::protocol::negotiation::{
    ExportInfo, Negotiation, NextStep, OPTION_HEADER_BYTES, SessionTerms, TlsPolicy, option_header,
};
use crate::protocol::transmission::{
    NbdCommand, NbdOutcome, NbdRequest, REQUEST_HEADER_BYTES, encode,
};

fn exports() -> [ExportInfo; 2] {
    let export = |name: &str, read_only| ExportInfo {
        name: name.to_owned(),
        description: String::new(),
        bytes: 1 << 20,
        read_only,
        blocks: BlockSizes::of_page(4096),
    };
    [export("", false), export("r", true)]
}

/// Takes `data` as all that a client sends: the first byte says whether TLS is required.
///
/// # Panics
/// If a promise is broken; that is what a fuzzer looks for.
pub fn connection(data: &[u8]) {
    let Some((&first, rest)) = data.split_first() else {
        return;
    };
    let exports = exports();
    let tls = match first & 1 {
        0 => TlsPolicy::Unavailable,
        _ => TlsPolicy::Required,
    };
    let Some(mut negotiation) = Negotiation::new(&exports, tls, u32::from(first >> 1 & 3)) else {
        return;
    };
    let (mut rest, mut encrypted) = (rest, false);
    while let Some((header, behind)) = rest.split_first_chunk::<OPTION_HEADER_BYTES>() {
        let Ok((option, length)) = option_header(header) else {
            return;
        };
        let Some((body, behind)) = behind.split_at_checked(length as usize) else {
            return;
        };
        rest = behind;
        let mut out = Vec::new();
        match negotiation.answer(option, body, &mut out) {
            NextStep::Option => assert!(!out.is_empty(), "an option without a reply"),
            NextStep::Close => return,
            NextStep::StartTls => {
                assert!(tls == TlsPolicy::Required && !encrypted);
                encrypted = true;
                negotiation.encrypted();
            }
            NextStep::Transmission(terms) => {
                assert!(
                    tls == TlsPolicy::Unavailable || encrypted,
                    "TLS was required"
                );
                assert!(terms.structured || !terms.allocation);
                return requests(rest, &exports[terms.export], &terms);
            }
        }
    }
}

/// Takes `data` as requests.
///
/// # Panics
/// If one that may be served goes beyond what the export allows.
pub fn requests(data: &[u8], export: &ExportInfo, terms: &SessionTerms) {
    let mut rest = data;
    while let Some((header, behind)) = rest.split_first_chunk::<REQUEST_HEADER_BYTES>() {
        let Ok(request) = NbdRequest::parse(header) else {
            return;
        };
        let payload = (request.payload() as usize).min(behind.len());
        rest = &behind[payload..];
        let outcome = match request.check(export, terms) {
            Ok(NbdCommand::Flush | NbdCommand::Disconnect) => NbdOutcome::Done,
            Ok(command) => {
                let end = request.offset + u64::from(request.length);
                assert!(end <= export.bytes && end.is_multiple_of(512));
                let writes = [NbdCommand::Write, NbdCommand::Trim, NbdCommand::WriteZeroes];
                assert!(!(export.read_only && writes.contains(&command)));
                NbdOutcome::Done
            }
            Err(error) => {
                assert_ne!(error, 0, "an error has a number");
                NbdOutcome::Failed(error)
            }
        };
        let mut out = Vec::new();
        encode(&mut out, terms.structured, request.cookie, &outcome);
        assert!(out.len() >= 16, "a reply has a header");
    }
}

#[cfg(test)]
mod tests;
