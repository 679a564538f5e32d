//! Where the blocks of a file are before a capture begins: the output of `filefrag -v`.

use std::io::Read;

use super::ImportError;
use super::event::MOST_BLOCKS;
use destage_trace::Source;

/// An extent of a file.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct FileExtent {
    /// Its first block in the file.
    pub first: u64,
    /// Where that is on the device.
    pub at: u64,
    /// Number of blocks.
    pub blocks: u64,
}

/// Where the blocks of a file are.
pub(super) struct SeededFile {
    /// Its inode.
    pub ino: u64,
    /// Its extents.
    pub extents: Vec<FileExtent>,
}

/// Reads the extents of a file.
pub(super) fn read(source: Source) -> Result<Vec<FileExtent>, ImportError> {
    let file = source.file();
    let wrong = |line: u64, reason: &str| ImportError::Seed {
        file: file.clone(),
        line,
        reason: reason.to_owned(),
    };
    let mut reader = source.decompressed()?;
    let mut text = String::new();
    let read = reader.read_to_string(&mut text);
    read.map_err(|e| wrong(0, &e.to_string()))?;
    let mut runs = Vec::new();
    for (i, line) in text.lines().enumerate() {
        if let Some((_, tail)) = line.split_once(" blocks of ") {
            if !tail.starts_with("4096 ") {
                return Err(wrong(i as u64 + 1, "the blocks must have 4096 bytes"));
            }
        } else if let Some(run) = extent(line) {
            runs.push(run.map_err(|reason| wrong(i as u64 + 1, reason))?);
        }
    }
    if runs.is_empty() {
        return Err(wrong(0, "no line is an extent of `filefrag -v`"));
    }
    Ok(runs)
}

/// `   0:        0..   12287:      30204..     42491:  12288: flags`; `None`: another line.
fn extent(line: &str) -> Option<Result<FileExtent, &'static str>> {
    let mut parts = line.split(':').map(str::trim);
    parts.next()?.parse::<u64>().ok()?;
    let range = |text: &str| {
        let (from, to) = text.split_once("..")?;
        Some((
            from.trim().parse::<u64>().ok()?,
            to.trim().parse::<u64>().ok()?,
        ))
    };
    let (file, device) = (range(parts.next()?)?, range(parts.next()?)?);
    if file.1 < file.0 || device.1.checked_sub(device.0) != Some(file.1 - file.0) {
        return Some(Err("the two ranges differ in length"));
    }
    if file.1.max(device.1) >= MOST_BLOCKS {
        return Some(Err("a block is behind the largest address"));
    }
    Some(Ok(FileExtent {
        first: file.0,
        at: device.0,
        blocks: file.1 - file.0 + 1,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Filesystem type is: f2f52010\n\
        File size of vol is 201326592 (49152 blocks of 4096 bytes)\n \
        ext:     logical_offset:        physical_offset: length:   expected: flags:\n   \
        0:        0..   12287:       8192..     20479:  12288:\n   \
        1:    12288..   12289:      30000..     30001:      2:      20480: last,eof\n\
        vol: 2 extents found\n";

    fn parse(text: &str) -> Result<Vec<FileExtent>, ImportError> {
        read(Source::bytes("fiemap.txt", text.to_owned()))
    }

    #[test]
    fn extents_and_refusals() {
        assert_eq!(
            parse(TEXT).unwrap(),
            [(0, 8192, 12_288), (12_288, 30_000, 2)].map(|(first, at, blocks)| FileExtent {
                first,
                at,
                blocks
            })
        );
        let error = |text: String| parse(&text).unwrap_err().to_string();
        let other = error(TEXT.replace("of 4096", "of 1024"));
        assert!(
            other.contains("line 2") && other.contains("4096 bytes"),
            "{other}"
        );
        let bent = error(TEXT.replace("30001", "30002"));
        assert!(
            bent.contains("line 5") && bent.contains("differ in length"),
            "{bent}"
        );
        assert!(error("nothing\n".to_owned()).contains("no line is an extent"));
    }
}
