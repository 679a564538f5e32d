//! Choosing requests by what their data are to the file system that sent them.

use std::fmt;
use std::str::FromStr;

use destage_types::{Nanos, Op, RequestBatch, Tag};

/// The kinds with their names, in the order of the bits.
const KINDS: [&str; 7] = ["data", "node", "meta", "gc", "none", "discard", "flush"];

/// Kinds of requests: reads and writes by their tag, discards, flushes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TagSet(u8);

impl TagSet {
    /// All kinds.
    pub(crate) const ALL: TagSet = TagSet((1 << KINDS.len()) - 1);

    /// Does a request with this operation and tag belong to the set?
    pub fn has(self, op: Op, tag: Tag) -> bool {
        let bit = match (op, tag) {
            (Op::Trim, _) => 5,
            (Op::Flush, _) => 6,
            (_, Tag::Data) => 0,
            (_, Tag::Node) => 1,
            (_, Tag::Meta) => 2,
            (_, Tag::Gc) => 3,
            (_, Tag::None) => 4,
        };
        self.0 >> bit & 1 == 1
    }

    /// Keeps the requests of `batch` that belong to the set. The first of them arrives at 0.
    pub fn choose(self, batch: &RequestBatch) -> RequestBatch {
        let (mut out, mut first) = (RequestBatch::new(), None);
        self.copy(batch, &mut first, &mut out);
        out
    }

    pub(crate) fn copy(
        self,
        from: &RequestBatch,
        first: &mut Option<Nanos>,
        out: &mut RequestBatch,
    ) {
        for request in from.iter() {
            let mut head = *request.head;
            if self.has(head.op, head.tag) {
                let first = *first.get_or_insert(head.arrival);
                head.arrival = Nanos(head.arrival.0 - first.0);
                out.push_with(head, request.more, request.prev);
            }
        }
    }
}

impl FromStr for TagSet {
    type Err = String;

    fn from_str(text: &str) -> Result<TagSet, String> {
        let mut set = 0;
        for word in text.split(',').map(str::trim) {
            let bit = KINDS.iter().position(|kind| *kind == word);
            let bit = bit.ok_or_else(|| {
                let known = KINDS.join(", ");
                format!("`{word}` is no kind of request; allowed, joined by commas: {known}")
            })?;
            set |= 1 << bit;
        }
        Ok(TagSet(set))
    }
}

impl fmt::Display for TagSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let chosen = (0..KINDS.len()).filter(|i| self.0 >> i & 1 == 1);
        let names: Vec<&str> = chosen.map(|i| KINDS[i]).collect();
        f.write_str(&names.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_written_as_they_are_read() {
        for text in ["data", "data,gc", "node,meta,none,discard,flush"] {
            assert_eq!(text.parse::<TagSet>().unwrap().to_string(), text);
        }
        assert_eq!("gc, data".parse::<TagSet>().unwrap().to_string(), "data,gc");
        assert!("dat".parse::<TagSet>().unwrap_err().contains("`dat`"));
        assert!("".parse::<TagSet>().is_err());
    }

    #[test]
    fn discards_and_flushes_are_kinds_of_their_own() {
        let data: TagSet = "data".parse().unwrap();
        assert!(data.has(Op::Write, Tag::Data) && data.has(Op::Read, Tag::Data));
        assert!(!data.has(Op::Trim, Tag::Data) && !data.has(Op::Flush, Tag::None));
        let discard: TagSet = "discard".parse().unwrap();
        assert!(discard.has(Op::Trim, Tag::None));
    }
}
