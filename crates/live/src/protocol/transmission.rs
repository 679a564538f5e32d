//! Requests and replies after the negotiation.

use super::negotiation::{ALLOCATION_ID, ExportInfo, SessionTerms};
use super::{WireFields, errno};

const REQUEST_MAGIC: u32 = 0x2560_9513;
const SIMPLE_REPLY_MAGIC: u32 = 0x6744_6698;
const STRUCTURED_REPLY_MAGIC: u32 = 0x668e_33ef;

/// Bytes of a request before the data of a WRITE.
pub const REQUEST_HEADER_BYTES: usize = 28;

const FUA: u16 = 1;
const NO_HOLE: u16 = 1 << 1;
const DF: u16 = 1 << 2;
const REQ_ONE: u16 = 1 << 3;

const DONE: u16 = 1;
const CHUNK_NONE: u16 = 0;
const CHUNK_OFFSET_DATA: u16 = 1;
const CHUNK_BLOCK_STATUS: u16 = 5;
const CHUNK_ERROR: u16 = 1 << 15 | 1;

/// Kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NbdCommand {
    /// Read bytes.
    Read,
    /// Write bytes; their number follows the header.
    Write,
    /// The client goes; there is no reply.
    Disconnect,
    /// All writes that completed are to be durable.
    Flush,
    /// The bytes are not needed any more.
    Trim,
    /// The bytes may be read soon.
    Cache,
    /// The bytes become zero.
    WriteZeroes,
    /// Which of the bytes are allocated?
    BlockStatus,
}

/// A request as it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NbdRequest {
    /// The command; the number of an unknown command otherwise.
    pub command: Result<NbdCommand, u16>,
    flags: u16,
    /// Number that the reply repeats.
    pub cookie: u64,
    /// First byte.
    pub offset: u64,
    /// Number of bytes.
    pub length: u32,
}

/// The stream has lost its framing: nothing can be answered any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no NBD request")]
pub struct NotARequest;

impl NbdRequest {
    /// Reads a header.
    ///
    /// # Errors
    /// The magic number is another one.
    pub fn parse(header: &[u8; REQUEST_HEADER_BYTES]) -> Result<NbdRequest, NotARequest> {
        let mut fields = WireFields(header);
        let parsed = (|| {
            let magic = fields.u32()?;
            let (flags, kind) = (fields.u16()?, fields.u16()?);
            let (cookie, offset) = (fields.u64()?, fields.u64()?);
            let length = fields.u32()?;
            let request = NbdRequest {
                command: NbdCommand::of(kind).ok_or(kind),
                flags,
                cookie,
                offset,
                length,
            };
            (magic == REQUEST_MAGIC).then_some(request)
        })();
        parsed.ok_or(NotARequest)
    }

    /// A request without flags.
    pub fn of(command: NbdCommand, offset: u64, length: u32) -> NbdRequest {
        NbdRequest {
            command: Ok(command),
            flags: 0,
            cookie: 0,
            offset,
            length,
        }
    }

    /// The part of it that has `length` bytes from `offset` on.
    pub fn part(&self, offset: u64, length: u32) -> NbdRequest {
        NbdRequest {
            offset,
            length,
            ..*self
        }
    }

    /// The same with FUA.
    pub fn with_fua(mut self) -> NbdRequest {
        self.flags |= FUA;
        self
    }

    /// Bytes that follow the header.
    pub fn payload(&self) -> u32 {
        match self.command {
            Ok(NbdCommand::Write) => self.length,
            _ => 0,
        }
    }

    /// Is the data to be durable when the reply leaves?
    pub fn fua(&self) -> bool {
        self.flags & FUA != 0
    }

    /// Are zeros to keep their space?
    pub fn no_hole(&self) -> bool {
        self.flags & NO_HOLE != 0
    }

    /// Is one extent asked for?
    pub fn one_extent(&self) -> bool {
        self.flags & REQ_ONE != 0
    }

    /// May the request be served? The error of the reply otherwise.
    ///
    /// # Errors
    /// The error number that the specification gives for the first fault.
    pub fn check(&self, export: &ExportInfo, terms: &SessionTerms) -> Result<NbdCommand, u32> {
        let command = self.command.map_err(|_| errno::EINVAL)?;
        use NbdCommand::{BlockStatus, Flush, Read, Trim, Write, WriteZeroes};
        let allowed = match command {
            Read if terms.structured => FUA | DF,
            Write | Trim => FUA,
            WriteZeroes => FUA | NO_HOLE,
            BlockStatus => REQ_ONE | FUA,
            // FUA means nothing here and is allowed everywhere.
            _ => FUA,
        };
        if self.flags & !allowed != 0 {
            return Err(errno::EINVAL);
        }
        let writes = matches!(command, Write | Trim | WriteZeroes);
        if writes && export.read_only {
            return Err(errno::EPERM);
        }
        if command == Flush {
            return Ok(command);
        }
        if command == BlockStatus && (!terms.allocation || self.length == 0) {
            return Err(errno::EINVAL);
        }
        let aligned = (self.offset | u64::from(self.length)) % u64::from(export.blocks.minimum);
        if aligned != 0 {
            return Err(errno::EINVAL);
        }
        let end = self.offset.checked_add(u64::from(self.length));
        if end.is_none_or(|end| end > export.bytes) {
            let grows = matches!(command, Write | WriteZeroes);
            return Err(if grows { errno::ENOSPC } else { errno::EINVAL });
        }
        match command {
            Read if self.length > export.blocks.maximum => Err(if self.flags & DF != 0 {
                errno::EOVERFLOW
            } else {
                errno::EINVAL
            }),
            Write if self.length > export.blocks.maximum => Err(errno::EINVAL),
            _ => Ok(command),
        }
    }
}

impl NbdCommand {
    fn of(number: u16) -> Option<NbdCommand> {
        Some(match number {
            0 => NbdCommand::Read,
            1 => NbdCommand::Write,
            2 => NbdCommand::Disconnect,
            3 => NbdCommand::Flush,
            4 => NbdCommand::Trim,
            5 => NbdCommand::Cache,
            6 => NbdCommand::WriteZeroes,
            7 => NbdCommand::BlockStatus,
            _ => return None,
        })
    }
}

/// A run of bytes that are all allocated, or all not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocationRun {
    /// Bytes.
    pub bytes: u32,
    /// Do they hold data? Otherwise they are a hole, which reads as zeros.
    pub data: bool,
}

/// The outcome of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NbdOutcome {
    /// Done, with nothing to tell.
    Done,
    /// The bytes that were read, from an offset on.
    Data(u64, Vec<u8>),
    /// Runs from the offset of the request on.
    Allocation(Vec<AllocationRun>),
    /// An error number.
    Failed(u32),
}

/// Appends the reply to the request with `cookie`.
pub fn encode(out: &mut Vec<u8>, structured: bool, cookie: u64, outcome: &NbdOutcome) {
    encode_head(out, structured, cookie, outcome);
    if let NbdOutcome::Data(_, bytes) = outcome {
        out.extend_from_slice(bytes);
    }
}

/// Appends what stands in front of `bytes` that were read from `offset` on.
pub fn data_head(out: &mut Vec<u8>, structured: bool, cookie: u64, offset: u64, bytes: u64) {
    if structured {
        chunk_head(out, CHUNK_OFFSET_DATA, cookie, 8 + bytes);
        out.extend(offset.to_be_bytes());
    } else {
        simple_head(out, 0, cookie)
    }
}

fn simple_head(out: &mut Vec<u8>, error: u32, cookie: u64) {
    out.extend(SIMPLE_REPLY_MAGIC.to_be_bytes());
    out.extend(error.to_be_bytes());
    out.extend(cookie.to_be_bytes());
}

/// The head of the only chunk of a reply, which has `length` bytes.
fn chunk_head(out: &mut Vec<u8>, kind: u16, cookie: u64, length: u64) {
    out.extend(STRUCTURED_REPLY_MAGIC.to_be_bytes());
    out.extend(DONE.to_be_bytes());
    out.extend(kind.to_be_bytes());
    out.extend(cookie.to_be_bytes());
    out.extend((length as u32).to_be_bytes());
}

/// Appends the reply to the request with `cookie` without the data of a READ, which follow.
pub fn encode_head(out: &mut Vec<u8>, structured: bool, cookie: u64, outcome: &NbdOutcome) {
    if !structured {
        let error = match outcome {
            NbdOutcome::Failed(error) => *error,
            // Without structured replies no context can be agreed on.
            NbdOutcome::Allocation(_) => errno::EINVAL,
            NbdOutcome::Done | NbdOutcome::Data(..) => 0,
        };
        return simple_head(out, error, cookie);
    }
    match outcome {
        NbdOutcome::Done => chunk_head(out, CHUNK_NONE, cookie, 0),
        // A READ of nothing: chunks of data are never empty.
        NbdOutcome::Data(_, bytes) if bytes.is_empty() => chunk_head(out, CHUNK_NONE, cookie, 0),
        NbdOutcome::Data(offset, bytes) => {
            data_head(out, structured, cookie, *offset, bytes.len() as u64);
        }
        NbdOutcome::Allocation(runs) => {
            chunk_head(out, CHUNK_BLOCK_STATUS, cookie, 4 + 8 * runs.len() as u64);
            out.extend(ALLOCATION_ID.to_be_bytes());
            for run in runs {
                out.extend(run.bytes.to_be_bytes());
                // HOLE and ZERO.
                out.extend(if run.data { 0u32 } else { 3 }.to_be_bytes());
            }
        }
        NbdOutcome::Failed(error) => {
            chunk_head(out, CHUNK_ERROR, cookie, 6);
            out.extend(error.to_be_bytes());
            out.extend(0u16.to_be_bytes());
        }
    }
}
