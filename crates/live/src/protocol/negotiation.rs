//! Newstyle negotiation: options in, replies out, until an export is chosen.

use super::{BlockSizes, WireFields};

const INIT_MAGIC: u64 = 0x4e42_444d_4147_4943;
const OPTION_MAGIC: u64 = 0x4948_4156_454f_5054;
const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;

const FLAG_FIXED_NEWSTYLE: u16 = 1;
const FLAG_NO_ZEROES: u16 = 2;

/// Bytes of an option before its data.
pub const OPTION_HEADER_BYTES: usize = 16;
/// Longer data of an option are refused: names have 4096 bytes at most.
pub const MAX_OPTION_BYTES: u32 = 64 << 10;

const OPT_EXPORT_NAME: u32 = 1;
const OPT_ABORT: u32 = 2;
const OPT_LIST: u32 = 3;
const OPT_STARTTLS: u32 = 5;
const OPT_INFO: u32 = 6;
const OPT_GO: u32 = 7;
const OPT_STRUCTURED_REPLY: u32 = 8;
const OPT_LIST_META_CONTEXT: u32 = 9;
const OPT_SET_META_CONTEXT: u32 = 10;

const REP_ACK: u32 = 1;
const REP_SERVER: u32 = 2;
const REP_INFO: u32 = 3;
const REP_META_CONTEXT: u32 = 4;
const REP_ERR_UNSUP: u32 = 1 << 31 | 1;
const REP_ERR_POLICY: u32 = 1 << 31 | 2;
const REP_ERR_INVALID: u32 = 1 << 31 | 3;
const REP_ERR_TLS_REQD: u32 = 1 << 31 | 5;
const REP_ERR_UNKNOWN: u32 = 1 << 31 | 6;
const REP_ERR_TOO_BIG: u32 = 1 << 31 | 9;

const INFO_EXPORT: u16 = 0;
const INFO_NAME: u16 = 1;
const INFO_DESCRIPTION: u16 = 2;
const INFO_BLOCK_SIZE: u16 = 3;

const SEND_DF: u16 = 1 << 7;
const READ_ONLY: u16 = 1 << 1;
/// HAS_FLAGS, SEND_FLUSH, SEND_FUA, SEND_TRIM, SEND_WRITE_ZEROES, CAN_MULTI_CONN, SEND_CACHE. All
/// connections of an export go to one device, so a FLUSH covers what any of them wrote.
const ALWAYS: u16 = 1 | 1 << 2 | 1 << 3 | 1 << 5 | 1 << 6 | 1 << 8 | 1 << 10;

/// The metadata context that is known, and the number it gets.
const ALLOCATION: &str = "base:allocation";
/// Number of the context `base:allocation` in replies.
pub const ALLOCATION_ID: u32 = 1;

/// Facts about an export, for clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportInfo {
    /// Its name; empty for the default export.
    pub name: String,
    /// One line for people.
    pub description: String,
    /// Capacity in bytes.
    pub bytes: u64,
    /// Are writes refused?
    pub read_only: bool,
    /// Alignment and longest request.
    pub blocks: BlockSizes,
}

/// Is the connection to be encrypted?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsPolicy {
    /// There is no certificate.
    Unavailable,
    /// Nothing else is served before STARTTLS.
    Required,
}

/// Result of a negotiation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionTerms {
    /// The export, as the index of its [`ExportInfo`].
    pub export: usize,
    /// Structured replies.
    pub structured: bool,
    /// BLOCK_STATUS tells the allocation.
    pub allocation: bool,
}

/// The step after the reply to an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// The next option.
    Option,
    /// The TLS handshake, then the next option.
    StartTls,
    /// Requests.
    Transmission(SessionTerms),
    /// The connection ends.
    Close,
}

/// A refusal of a whole connection, for the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no NBD option")]
pub struct NotAnOption;

/// The greeting of the server.
pub fn greeting() -> [u8; 18] {
    let mut out = [0; 18];
    out[..8].copy_from_slice(&INIT_MAGIC.to_be_bytes());
    out[8..16].copy_from_slice(&OPTION_MAGIC.to_be_bytes());
    out[16..].copy_from_slice(&(FLAG_FIXED_NEWSTYLE | FLAG_NO_ZEROES).to_be_bytes());
    out
}

/// Number of the option and length of its data.
///
/// # Errors
/// The magic number is another one.
pub fn option_header(header: &[u8; OPTION_HEADER_BYTES]) -> Result<(u32, u32), NotAnOption> {
    let mut fields = WireFields(header);
    match (fields.u64(), fields.u32(), fields.u32()) {
        (Some(OPTION_MAGIC), Some(option), Some(length)) => Ok((option, length)),
        _ => Err(NotAnOption),
    }
}

/// One negotiation from the flags of the client to the chosen export.
#[derive(Clone, Debug)]
pub struct Negotiation<'a> {
    exports: &'a [ExportInfo],
    tls: TlsPolicy,
    encrypted: bool,
    zeroes: bool,
    structured: bool,
    /// The export for which `base:allocation` was set.
    allocation_of: Option<usize>,
}

impl<'a> Negotiation<'a> {
    /// Starts after the flags of the client; `None` if it asks for what was not offered.
    pub fn new(exports: &'a [ExportInfo], tls: TlsPolicy, client_flags: u32) -> Option<Self> {
        let offered = u32::from(FLAG_FIXED_NEWSTYLE | FLAG_NO_ZEROES);
        (client_flags & !offered == 0).then_some(Negotiation {
            exports,
            tls,
            encrypted: false,
            zeroes: client_flags & u32::from(FLAG_NO_ZEROES) == 0,
            structured: false,
            allocation_of: None,
        })
    }

    /// The connection is encrypted now: what was agreed before is void.
    pub fn encrypted(&mut self) {
        (self.encrypted, self.structured, self.allocation_of) = (true, false, None);
    }

    /// Answers an option whose data were too long to be read.
    pub fn too_big(&self, option: u32, out: &mut Vec<u8>) -> NextStep {
        // EXPORT_NAME has no way to say no.
        if option == OPT_EXPORT_NAME {
            return NextStep::Close;
        }
        reply(out, option, REP_ERR_TOO_BIG, b"")
    }

    /// Answers one option with its data; the reply is appended to `out`.
    pub fn answer(&mut self, option: u32, data: &[u8], out: &mut Vec<u8>) -> NextStep {
        let locked = self.tls == TlsPolicy::Required && !self.encrypted;
        match option {
            OPT_ABORT => {
                reply(out, option, REP_ACK, b"");
                NextStep::Close
            }
            OPT_STARTTLS => self.start_tls(data, out),
            OPT_EXPORT_NAME if locked => NextStep::Close,
            _ if locked => reply(out, option, REP_ERR_TLS_REQD, b"TLS is required"),
            OPT_EXPORT_NAME => self.export_name(data, out),
            OPT_INFO | OPT_GO => match self.info(option, data, out) {
                Some(export) if option == OPT_GO => NextStep::Transmission(self.terms(export)),
                _ => NextStep::Option,
            },
            OPT_LIST => self.list(data, out),
            OPT_STRUCTURED_REPLY => {
                self.structured |= data.is_empty();
                let kind = if data.is_empty() {
                    REP_ACK
                } else {
                    REP_ERR_INVALID
                };
                reply(out, option, kind, b"")
            }
            OPT_LIST_META_CONTEXT | OPT_SET_META_CONTEXT => {
                let (kind, why) = match self.contexts(option, data, out) {
                    Ok(()) => (REP_ACK, ""),
                    Err(refused) => refused,
                };
                reply(out, option, kind, why.as_bytes())
            }
            _ => reply(out, option, REP_ERR_UNSUP, b""),
        }
    }

    fn terms(&self, export: usize) -> SessionTerms {
        SessionTerms {
            export,
            structured: self.structured,
            allocation: self.allocation_of == Some(export),
        }
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.exports.iter().position(|e| e.name == name)
    }

    fn flags(&self, export: &ExportInfo) -> u16 {
        let df = if self.structured { SEND_DF } else { 0 };
        ALWAYS | df | if export.read_only { READ_ONLY } else { 0 }
    }

    fn start_tls(&self, data: &[u8], out: &mut Vec<u8>) -> NextStep {
        let (kind, why): (u32, &str) = match (data.is_empty(), self.tls) {
            (false, _) => (REP_ERR_INVALID, "STARTTLS has no data"),
            (_, TlsPolicy::Unavailable) => (REP_ERR_POLICY, "the server has no certificate"),
            _ if self.encrypted => (REP_ERR_INVALID, "the connection is encrypted"),
            _ => {
                reply(out, OPT_STARTTLS, REP_ACK, b"");
                return NextStep::StartTls;
            }
        };
        reply(out, OPT_STARTTLS, kind, why.as_bytes())
    }

    fn export_name(&self, data: &[u8], out: &mut Vec<u8>) -> NextStep {
        let name = std::str::from_utf8(data).ok();
        let Some(export) = name.and_then(|n| self.find(n)) else {
            return NextStep::Close;
        };
        let info = &self.exports[export];
        out.extend(info.bytes.to_be_bytes());
        out.extend(self.flags(info).to_be_bytes());
        if self.zeroes {
            out.extend([0; 124]);
        }
        NextStep::Transmission(self.terms(export))
    }

    /// Answers INFO and GO; the export if it is known.
    fn info(&self, option: u32, data: &[u8], out: &mut Vec<u8>) -> Option<usize> {
        let mut fields = WireFields(data);
        let asked = (|| {
            let name = fields.text()?;
            let count = fields.u16()?;
            let kinds: Option<Vec<u16>> = (0..count).map(|_| fields.u16()).collect();
            kinds.filter(|_| fields.0.is_empty()).map(|k| (name, k))
        })();
        let Some((name, kinds)) = asked else {
            reply(out, option, REP_ERR_INVALID, b"malformed request");
            return None;
        };
        let Some(export) = self.find(name) else {
            reply(out, option, REP_ERR_UNKNOWN, b"no such export");
            return None;
        };
        let info = &self.exports[export];
        let mut send = |kind: u16, parts: &[&[u8]]| {
            let mut body = kind.to_be_bytes().to_vec();
            parts.iter().for_each(|p| body.extend(*p));
            reply(out, option, REP_INFO, &body);
        };
        let flags = self.flags(info);
        send(
            INFO_EXPORT,
            &[&info.bytes.to_be_bytes(), &flags.to_be_bytes()],
        );
        if kinds.contains(&INFO_NAME) {
            send(INFO_NAME, &[info.name.as_bytes()]);
        }
        if kinds.contains(&INFO_DESCRIPTION) {
            send(INFO_DESCRIPTION, &[info.description.as_bytes()]);
        }
        let b = info.blocks;
        let sizes = [b.minimum, b.preferred, b.maximum].map(u32::to_be_bytes);
        send(INFO_BLOCK_SIZE, &[&sizes[0], &sizes[1], &sizes[2]]);
        reply(out, option, REP_ACK, b"");
        Some(export)
    }

    fn list(&self, data: &[u8], out: &mut Vec<u8>) -> NextStep {
        if !data.is_empty() {
            return reply(out, OPT_LIST, REP_ERR_INVALID, b"LIST has no data");
        }
        for export in self.exports {
            let mut body = (export.name.len() as u32).to_be_bytes().to_vec();
            body.extend(export.name.as_bytes());
            body.extend(export.description.as_bytes());
            reply(out, OPT_LIST, REP_SERVER, &body);
        }
        reply(out, OPT_LIST, REP_ACK, b"")
    }

    fn contexts(
        &mut self,
        option: u32,
        data: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), (u32, &'static str)> {
        let malformed = (REP_ERR_INVALID, "malformed request");
        let set = option == OPT_SET_META_CONTEXT;
        if set {
            self.allocation_of = None;
        }
        if !self.structured {
            return Err((REP_ERR_INVALID, "structured replies come first"));
        }
        let mut fields = WireFields(data);
        let name = fields.text().ok_or(malformed)?;
        let count = fields.u32().ok_or(malformed)?;
        // A list without queries asks for all there is.
        let mut wanted = !set && count == 0;
        for _ in 0..count {
            let query = fields.text().ok_or(malformed)?;
            wanted |= query == ALLOCATION || (!set && query == "base:");
        }
        if !fields.0.is_empty() {
            return Err(malformed);
        }
        let export = self.find(name).ok_or((REP_ERR_UNKNOWN, "no such export"))?;
        if wanted {
            // A list gives no number.
            let id = if set { ALLOCATION_ID } else { 0 };
            let mut body = id.to_be_bytes().to_vec();
            body.extend(ALLOCATION.as_bytes());
            reply(out, option, REP_META_CONTEXT, &body);
            if set {
                self.allocation_of = Some(export);
            }
        }
        Ok(())
    }
}

/// Replies to an option, after which the next one comes.
fn reply(out: &mut Vec<u8>, option: u32, kind: u32, body: &[u8]) -> NextStep {
    out.extend(OPTION_REPLY_MAGIC.to_be_bytes());
    out.extend(option.to_be_bytes());
    out.extend(kind.to_be_bytes());
    out.extend((body.len() as u32).to_be_bytes());
    out.extend(body);
    NextStep::Option
}
