//! The virtual-desktop traces of SYSTOR'17.

use super::table::{BYTES, OFFSET, SECONDS, TableFormat, columns, detect, open, r_or_w};
use super::{FormatInfo, Separator};
use crate::text::numbers::{NO_DECIMAL, looks_like_decimal};

pub(super) const INFO: FormatInfo = FormatInfo {
    name: "systor17",
    aliases: &[],
    about: "SYSTOR'17 CSV with a header: offsets and sizes in bytes, rounded outward to whole \
            sectors.",
    source: "Lee et al., Understanding Storage Traffic Characteristics on Enterprise Virtual \
             Desktop Infrastructure, SYSTOR'17; SNIA IOTTA trace 4928",
    separator: Separator::Comma,
    columns: columns! {
        "Timestamp": Decimal(9), SECONDS;
        "Response": Unused(is_response, NO_DECIMAL), "s or empty, not used";
        "IOType": KindOrBlank(r_or_w), "R or W; empty where no response was seen: no request, but counted";
        "LUN": Stream, "number of the logical unit, 0 to 4294967295";
        "Offset": Offset, OFFSET;
        "Size": Bytes, BYTES;
    },
    timed: true,
    volumes: true,
    example: b"Timestamp,Response,IOType,LUN,Offset,Size\n\
               1456095145.133076000,0.000806000,R,0,899056122368,131072\n\
               1456095145.126285000,0.008044000,W,4,4256049987072,122880\n",
    example_requests: 2,
    detect: detect::<Systor>,
    open: open::<Systor>,
};

fn is_response(text: &[u8]) -> bool {
    text.is_empty() || looks_like_decimal(text)
}

struct Systor;

impl TableFormat for Systor {
    const INFO: &'static FormatInfo = &INFO;
}
