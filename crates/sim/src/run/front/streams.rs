//! Commands that wait at the host: for the queue depth of their stream, then for a slot.

use std::collections::VecDeque;

/// Streams that are never too many.
const LEAST_STREAMS: usize = 64;

/// The commands of one stream.
struct Stream {
    number: u32,
    /// They wait for the queue depth.
    outside: VecDeque<u32>,
    /// Admitted: they wait for a slot.
    queued: VecDeque<u32>,
    /// Admitted and not done.
    outstanding: u64,
}

impl Stream {
    fn is_idle(&self) -> bool {
        self.outside.is_empty() && self.queued.is_empty() && self.outstanding == 0
    }
}

/// All streams that have commands, and some that had.
pub(super) struct Streams {
    depth: Option<u64>,
    /// By number, which may be any: a trace numbers its devices as it likes.
    rows: Vec<Stream>,
    /// Streams from which on those without commands are forgotten.
    most: usize,
    /// Commands of all streams that wait for a slot.
    queued: u64,
    /// The stream that a command was fetched from last.
    last: Option<u32>,
}

impl Streams {
    /// At most `depth` commands of each stream are admitted and not done.
    pub fn new(depth: Option<u64>) -> Streams {
        Streams {
            depth,
            rows: Vec::new(),
            most: LEAST_STREAMS,
            queued: 0,
            last: None,
        }
    }

    /// Where the stream of a number is, or belongs.
    fn place(&self, number: u32) -> Result<usize, usize> {
        self.rows.binary_search_by_key(&number, |row| row.number)
    }

    /// A command arrives.
    pub fn arrive(&mut self, number: u32, command: u32) {
        let at = match self.place(number) {
            Ok(at) => at,
            Err(_) => self.add(number),
        };
        self.rows[at].outside.push_back(command);
    }

    /// A new stream. A trace may have as many as requests, few of them at a time.
    #[cold]
    fn add(&mut self, number: u32) -> usize {
        if self.rows.len() >= self.most {
            self.rows.retain(|row| !row.is_idle());
            self.most = 2 * self.rows.len() + LEAST_STREAMS;
        }
        let stream = Stream {
            number,
            outside: VecDeque::new(),
            queued: VecDeque::new(),
            outstanding: 0,
        };
        let at = self.rows.partition_point(|row| row.number < number);
        self.rows.insert(at, stream);
        at
    }

    /// Admits the next command of a stream, if one waits and the queue depth lets it in.
    pub fn admit(&mut self, number: u32) -> Option<u32> {
        let at = self.place(number).ok()?;
        let row = &mut self.rows[at];
        if self.depth.is_some_and(|depth| row.outstanding >= depth) {
            return None;
        }
        let command = row.outside.pop_front()?;
        row.outstanding += 1;
        row.queued.push_back(command);
        self.queued += 1;
        Some(command)
    }

    /// Takes the first command of the next stream that has one, in turn.
    pub fn fetch(&mut self) -> Option<u32> {
        if self.queued == 0 {
            return None;
        }
        let next = match self.last {
            Some(last) => self.rows.partition_point(|row| row.number <= last),
            None => 0,
        };
        let (turned, to_come) = self.rows.split_at_mut(next);
        let mut in_turn = to_come.iter_mut().chain(turned);
        let stream = in_turn.find(|row| !row.queued.is_empty())?;
        self.last = Some(stream.number);
        self.queued -= 1;
        stream.queued.pop_front()
    }

    /// A command of a stream is done.
    pub fn end(&mut self, number: u32) {
        let at = self.place(number).expect("a command has a stream");
        self.rows[at].outstanding -= 1;
    }

    /// Does the queue depth let one more command of a stream in?
    pub fn takes_more(&self, number: u32) -> bool {
        let outstanding = self.place(number).map_or(0, |at| self.rows[at].outstanding);
        self.depth.is_none_or(|depth| outstanding < depth)
    }

    /// Does none wait?
    pub fn is_empty(&self) -> bool {
        self.queued == 0 && self.rows.iter().all(|row| row.outside.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_take_turns_by_number() {
        let mut streams = Streams::new(None);
        for (number, command) in [(7, 0), (7, 1), (u32::MAX, 2), (3, 3), (3, 4)] {
            streams.arrive(number, command);
            assert_eq!(streams.admit(number), Some(command));
        }
        let first: Vec<_> = (0..2).map(|_| streams.fetch()).collect();
        assert_eq!(first, [Some(3), Some(0)]);
        // A stream before the one that had its turn waits for the next round.
        streams.arrive(5, 5);
        assert_eq!(streams.admit(5), Some(5));
        let rest: Vec<_> = std::iter::from_fn(|| streams.fetch()).collect();
        assert_eq!(rest, [2, 4, 5, 1]);
        assert!(streams.is_empty());
    }

    #[test]
    fn streams_without_commands_are_forgotten() {
        let mut streams = Streams::new(Some(1));
        streams.arrive(500, 0);
        assert_eq!((streams.admit(500), streams.fetch()), (Some(0), Some(0)));
        for number in (0..1000).filter(|&number| number != 500) {
            streams.arrive(number, number);
            assert_eq!(streams.admit(number), Some(number));
            assert_eq!(streams.fetch(), Some(number));
            streams.end(number);
            assert!(streams.rows.len() <= 2 + LEAST_STREAMS);
        }
        assert!(!streams.takes_more(500), "its command is not done");
        streams.end(500);
        assert!(streams.takes_more(500));
    }

    #[test]
    fn the_queue_depth_is_that_of_each_stream() {
        let mut streams = Streams::new(Some(1));
        for (number, command) in [(0, 0), (0, 1), (1, 2)] {
            streams.arrive(number, command);
        }
        assert_eq!(
            [0, 1, 0].map(|number| streams.admit(number)),
            [Some(0), Some(2), None]
        );
        assert!(!streams.takes_more(0) && streams.takes_more(2));
        assert_eq!(
            [streams.fetch(), streams.fetch(), streams.fetch()],
            [Some(0), Some(2), None]
        );
        assert!(!streams.is_empty(), "one waits for the queue depth");
        streams.end(0);
        assert_eq!(streams.admit(0), Some(1));
        assert_eq!(streams.fetch(), Some(1));
    }
}
