//! Streams that a trace calls by names.

use std::collections::BTreeMap;

use crate::error::FieldFault;
use crate::volume::VolumeName;

const MAX_NAMES: usize = 1 << 20;
const MAX_NAME: usize = 4_096;

/// Numbers names as they appear.
#[derive(Default)]
pub(crate) struct Names {
    streams: BTreeMap<Box<[u8]>, u32>,
    names: Vec<Box<[u8]>>,
}

impl Names {
    /// The stream of `name`, which stands in `column`.
    pub fn stream(&mut self, name: &[u8], column: u16) -> Result<u32, FieldFault> {
        if let Some(&stream) = self.streams.get(name) {
            return Ok(stream);
        }
        if name.len() > MAX_NAME {
            return Err(FieldFault::at(column, "has more than 4096 bytes"));
        }
        if self.names.len() == MAX_NAMES {
            return Err(FieldFault::at(column, "is one name too many"));
        }
        let stream = self.names.len() as u32;
        self.streams.insert(name.into(), stream);
        self.names.push(name.into());
        Ok(stream)
    }

    /// The name of `stream`.
    pub fn volume(&self, stream: u32) -> Option<VolumeName> {
        let name = self.names.get(stream as usize)?;
        Some(VolumeName::new(String::from_utf8_lossy(name).into_owned()))
    }
}
