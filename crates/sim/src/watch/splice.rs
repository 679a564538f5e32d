//! The difference between two states of a list, as replacements of stretches.

use destage_record::scene::CodedPage;
use std::collections::HashMap;

/// One replacement: `removed` pages from `start` on give way to `pages`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Splice {
    pub start: usize,
    pub removed: usize,
    pub pages: Vec<CodedPage>,
}

/// Replacements that make `new` of `old`, to be carried out one after the other. A page that only moves is taken out at
/// one place and put in at another one.
pub fn splices(old: &[CodedPage], new: &[CodedPage]) -> Vec<Splice> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[head..], &new[head..]);
    let tails = old.iter().rev().zip(new.iter().rev());
    let tail = tails.take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[..old.len() - tail], &new[..new.len() - tail]);
    let mut found = Vec::new();
    // Old and new pages before which all is equal, and where the next one stands in the list as it is then.
    let (mut from, mut to) = (0, 0);
    let end = (old.len(), new.len());
    for (next_old, next_new) in kept(old, new).into_iter().chain([end]) {
        if next_old > from || next_new > to {
            found.push(Splice {
                start: head + to,
                removed: next_old - from,
                pages: new[to..next_new].to_vec(),
            });
        }
        (from, to) = (next_old + 1, next_new + 1);
    }
    found
}

/// Positions in `old` and `new` of pages that stay: a longest sequence of pages that stand in the same order in both.
fn kept(old: &[CodedPage], new: &[CodedPage]) -> Vec<(usize, usize)> {
    let places: HashMap<CodedPage, usize> = new
        .iter()
        .enumerate()
        .map(|(at, &page)| (page, at))
        .collect();
    let common = old
        .iter()
        .enumerate()
        .filter_map(|(at, page)| Some((at, *places.get(page)?)));
    // The longest increasing sequence of places: `ends` has the last element of the best sequence of each length.
    let mut chain: Vec<((usize, usize), Option<usize>)> = Vec::new();
    let mut ends: Vec<usize> = Vec::new();
    for pair in common {
        let length = ends.partition_point(|&end| chain[end].0.1 < pair.1);
        let before = length.checked_sub(1).map(|shorter| ends[shorter]);
        match ends.get_mut(length) {
            Some(end) => *end = chain.len(),
            None => ends.push(chain.len()),
        }
        chain.push((pair, before));
    }
    let mut at = ends.last().copied();
    let mut found = Vec::new();
    while let Some(end) = at {
        let (pair, before) = chain[end];
        found.push(pair);
        at = before;
    }
    found.reverse();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use destage_scheme::rng::SplitMix64;

    fn coded(pages: &[u64]) -> Vec<CodedPage> {
        pages.iter().copied().map(CodedPage).collect()
    }

    fn apply(list: &mut Vec<CodedPage>, found: &[Splice]) {
        for Splice {
            start,
            removed,
            pages,
        } in found
        {
            list.splice(*start..start + removed, pages.iter().copied());
        }
    }

    #[test]
    fn a_page_that_moves_to_the_head_is_two_replacements() {
        let (old, new) = (coded(&[2, 4, 6, 8]), coded(&[6, 2, 4, 8]));
        let found = splices(&old, &new);
        let expected = [(0, 0, vec![6]), (3, 1, vec![])].map(|(start, removed, pages)| Splice {
            start,
            removed,
            pages: coded(&pages),
        });
        assert_eq!(found, expected);
        assert_eq!(splices(&old, &old), []);
    }

    #[test]
    fn replacements_give_the_new_list() {
        let mut rng = SplitMix64::new(7);
        let mut draw = |below: u64| rng.next_u64() % below;
        let mut list = coded(&[]);
        for step in 0..3000 {
            let mut new = list.clone();
            for _ in 0..=draw(4) {
                let page = CodedPage(draw(40));
                new.retain(|old| old.page() != page.page());
                if draw(4) > 0 {
                    let at = draw(new.len() as u64 + 1) as usize;
                    new.insert(at, page);
                }
            }
            let found = splices(&list, &new);
            let touched: usize = found.iter().map(|s| s.removed + s.pages.len()).sum();
            assert!(touched <= 10, "step {step}: {found:?}");
            apply(&mut list, &found);
            assert_eq!(list, new, "step {step}");
        }
    }
}
