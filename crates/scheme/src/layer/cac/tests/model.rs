//! Random updates against the pseudo-code over a plain map.

use super::{Cache, art};
use crate::rng::SplitMix64;
use crate::testing::Span;
use destage_types::Op;
use std::collections::BTreeMap;

/// The rules of the table as the pseudo-code has them, over a map by address.
#[derive(Default)]
struct Model {
    table: BTreeMap<u64, (u64, bool)>,
    lru: Vec<u64>, // newest first
    said: Vec<String>,
}

impl Model {
    fn forget(&mut self, c: u64) {
        self.table.remove(&c);
        self.table.retain(|_, pair| pair.0 != c);
    }

    fn drop_page(&mut self, lpn: u64) {
        self.lru.retain(|&l| l != lpn);
        self.said.push(format!("discard {lpn}"));
    }

    fn write(&mut self, capacity: usize, blocks: &[(u64, Option<u64>)], atomic: bool) {
        self.said.clear();
        let blocks: Vec<_> = blocks
            .iter()
            .map(|&(c, p)| (c, p.filter(|&p| p != c)))
            .collect();
        for &(c, p) in &blocks {
            let old = p.and_then(|p| self.table.get(&p).copied());
            self.forget(c);
            let Some(p) = p else { continue };
            let source = if atomic { old.map(|o| o.0) } else { Some(p) };
            if let Some(source) = source {
                let at = self.lru.iter().position(|&l| l == source);
                match (self.lru.contains(&c), at) {
                    (false, Some(at)) => {
                        self.lru[at] = c;
                        self.table.remove(&source);
                        self.said.push(format!("remap {source}->{c}"));
                    }
                    (true, Some(_)) => self.drop_page(source),
                    (_, None) => {}
                }
            }
            if let (false, Some((pre, true))) = (atomic, old)
                && self.lru.contains(&pre)
            {
                self.drop_page(pre);
            }
        }
        for &(c, _) in &blocks {
            if self.lru.contains(&c) {
                self.lru.retain(|&l| l != c);
            } else if self.lru.len() == capacity {
                let out = self.lru.pop().unwrap();
                self.said.push(format!("flush{{{out}}}"));
            }
            self.lru.insert(0, c);
        }
        for &(c, p) in &blocks {
            let Some(p) = p else { continue };
            if atomic {
                self.table.remove(&p);
            }
            self.table.insert(c, (p, atomic));
        }
        let lru = &self.lru;
        self.table.retain(|c, _| lru.contains(c));
    }
}

#[test]
fn random_updates_agree_with_a_plain_map() {
    for capacity in [1usize, 3, 8, 20] {
        let mut m: Cache = Cache::new("cac(lru)", capacity as u32);
        let page = m.frames.page();
        let mut model = Model::default();
        let mut rng = SplitMix64::new(capacity as u64);
        let mut next = move |n: u64| rng.next_u64() % n;
        for step in 0..8_000 {
            let addresses = 3 * capacity as u64 + 2;
            let (first, n) = (next(addresses), 1 + next(4));
            match next(12) {
                0 => {
                    m.trim(first);
                    model.lru.retain(|&l| l != first);
                    model.forget(first);
                }
                1 => m.flush(|_| true),
                _ => {
                    let atomic = next(2) == 0;
                    let pre: Vec<_> = (0..n)
                        .map(|_| (next(4) > 0).then(|| next(addresses)))
                        .collect();
                    let more = next(addresses);
                    let extents = [(first..=first + n - 1).extent(page), more.extent(page)];
                    let blocks: Vec<(u64, Option<u64>)> = (first..first + n)
                        .zip(pre.iter().copied())
                        .chain([(more, None)])
                        .collect();
                    m.at(step).serve(Op::Write, &extents, &pre, atomic);
                    model.write(capacity, &blocks, atomic);
                    let flushes = model.said.join(" ");
                    // The model does not know what is clean.
                    let said = m.said().replace("drop{", "flush{");
                    assert_eq!(said, if flushes.is_empty() { "-" } else { &flushes });
                }
            }
            m.scheme.art.validate().unwrap();
            let expected: Vec<String> = model
                .table
                .iter()
                .map(|(c, (p, a))| format!("{c}:{p}{}", if *a { "a" } else { "" }))
                .collect();
            assert_eq!(art(&m), expected.join(" "), "step {step}");
            assert_eq!(m.scheme.art.len(), expected.len());
        }
    }
}
