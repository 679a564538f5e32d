//! Hit ratios of LRU write buffers: what a twin is compared by.

use super::state::{Map, pages};
use destage_types::Op;

/// Sizes of the buffers, in MiB.
pub const CURVE_MIB: [u64; 7] = [1, 2, 4, 8, 16, 32, 64];
const END: u32 = u32::MAX;

/// An LRU list of pages: writes enter, reads only touch.
struct WriteBuffer {
    index: Map<u32>,
    /// Page, newer and older neighbour.
    nodes: Vec<(u64, u32, u32)>,
    capacity: usize,
    newest: u32,
    oldest: u32,
    hits: u64,
}

impl WriteBuffer {
    fn new(capacity: usize) -> WriteBuffer {
        WriteBuffer {
            index: Map::default(),
            nodes: Vec::new(),
            capacity,
            newest: END,
            oldest: END,
            hits: 0,
        }
    }

    fn access(&mut self, page: u64, write: bool) {
        if let Some(&node) = self.index.get(&page) {
            self.hits += u64::from(write);
            self.unlink(node);
            self.to_top(node);
        } else if write {
            let node = match self.nodes.len() < self.capacity {
                true => {
                    self.nodes.push((page, END, END));
                    self.nodes.len() as u32 - 1
                }
                false => {
                    let node = self.oldest;
                    self.unlink(node);
                    self.index.remove(&self.nodes[node as usize].0);
                    self.nodes[node as usize].0 = page;
                    node
                }
            };
            self.index.insert(page, node);
            self.to_top(node);
        }
    }

    fn unlink(&mut self, node: u32) {
        let (_, newer, older) = self.nodes[node as usize];
        match newer {
            END => self.newest = older,
            newer => self.nodes[newer as usize].2 = older,
        }
        match older {
            END => self.oldest = newer,
            older => self.nodes[older as usize].1 = newer,
        }
    }

    fn to_top(&mut self, node: u32) {
        let second = self.newest;
        (self.nodes[node as usize].1, self.nodes[node as usize].2) = (END, second);
        match second {
            END => self.oldest = node,
            second => self.nodes[second as usize].1 = node,
        }
        self.newest = node;
    }
}

/// Write page hit ratios of LRU write buffers of [`CURVE_MIB`]; reads touch and do not allocate.
pub struct WriteCurve {
    buffers: [WriteBuffer; 7],
    /// Pages written by requests.
    writes: u64,
}

impl WriteCurve {
    /// Buffers that are empty.
    #[allow(clippy::new_without_default)] // a default says nothing here
    pub fn new() -> WriteCurve {
        let buffers = CURVE_MIB.map(|mib| WriteBuffer::new((mib * 256) as usize));
        WriteCurve { buffers, writes: 0 }
    }

    /// A read or write.
    pub fn add(&mut self, op: Op, start: u64, sectors: u32) {
        let write = op == Op::Write;
        let (first, last) = pages(start, sectors);
        for page in first..=last {
            self.writes += u64::from(write);
            self.buffers.iter_mut().for_each(|b| b.access(page, write));
        }
    }

    /// Hit ratios in percent; `None` if nothing was written.
    pub fn percent(&self) -> Option<[f64; 7]> {
        let percent = |b: &WriteBuffer| 100.0 * b.hits as f64 / self.writes as f64;
        (self.writes > 0).then(|| self.buffers.each_ref().map(percent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_one_page_too_long_never_hits_and_reads_do_not_enter() {
        let mut curve = WriteCurve::new();
        for page in (0..257).chain(0..257) {
            curve.add(Op::Write, page * 8, 8);
        }
        assert_eq!(curve.percent().unwrap()[..2], [0.0, 50.0]);
        let mut curve = WriteCurve::new();
        for page in 0..256 {
            curve.add(Op::Write, page * 8, 8);
        }
        curve.add(Op::Read, 0, 8); // Page 1 is the oldest now.
        curve.add(Op::Read, 8 * 9_999, 8);
        curve.add(Op::Write, 8 * 1_000, 8);
        curve.add(Op::Write, 0, 8);
        curve.add(Op::Write, 8, 8);
        assert_eq!(curve.percent().unwrap()[0], 100.0 / 259.0);
        assert_eq!(WriteCurve::new().percent(), None);
    }
}
