//! Streams that a trace calls by names.

use std::collections::BTreeMap;

use crate::volume::VolumeName;

const MAX_NAMES: usize = 1 << 20;
const MAX_NAME: usize = 4_096;

/// Numbers names as they appear.
pub(crate) struct Names {
    streams: BTreeMap<Box<[u8]>, u32>,
    names: Vec<Box<[u8]>>,
    /// That of the line before.
    last: u32,
    most: usize,
}

impl Default for Names {
    fn default() -> Names {
        Names::at_most(MAX_NAMES)
    }
}

impl Names {
    /// Of so many different names.
    pub fn at_most(most: usize) -> Names {
        let (streams, names) = Default::default();
        Names {
            streams,
            names,
            last: 0,
            most,
        }
    }

    /// The stream of `name`.
    #[inline(always)]
    pub fn stream(&mut self, name: &[u8]) -> Result<u32, &'static str> {
        let last = self.names.get(self.last as usize);
        if last.is_none_or(|last| **last != *name) {
            self.last = self.find(name)?;
        }
        Ok(self.last)
    }

    #[cold]
    #[inline(never)]
    fn find(&mut self, name: &[u8]) -> Result<u32, &'static str> {
        if let Some(&stream) = self.streams.get(name) {
            return Ok(stream);
        }
        if name.is_empty() {
            return Err("is empty");
        }
        if name.len() > MAX_NAME {
            return Err("has more than 4096 bytes");
        }
        if self.names.len() == self.most {
            return Err("is one name too many");
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
