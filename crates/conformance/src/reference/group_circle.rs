//! The order of `wow` and `cscan` (D-10): groups of neighbouring pages in a circle, and a pointer.

/// A group with pages in the buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Group {
    /// First logical unit by the size of a group.
    number: usize,
    /// A write has hit one of its pages since the pointer passed.
    recent: bool,
}

/// All groups, in order of address.
#[derive(Clone, Debug)]
pub struct GroupCircle {
    /// Pages of a group.
    size: usize,
    /// `cscan`: the bit is ignored.
    scan: bool,
    list: Vec<Group>,
    /// The group that the pointer looks at next.
    at: usize,
}

impl GroupCircle {
    /// No group.
    pub fn new(size: usize, scan: bool) -> GroupCircle {
        GroupCircle {
            size,
            scan,
            list: Vec::new(),
            at: 0,
        }
    }

    /// Pages of a group.
    pub fn pages(&self, number: usize) -> std::ops::Range<u64> {
        (number * self.size) as u64..((number + 1) * self.size) as u64
    }

    /// Group of a page.
    pub fn number_of(&self, page: usize) -> usize {
        page / self.size
    }

    fn position(&self, page: usize) -> usize {
        let number = self.number_of(page);
        self.list.iter().take_while(|g| g.number < number).count()
    }

    fn is_at(&self, i: usize, page: usize) -> bool {
        let number = self.number_of(page);
        self.list.get(i).is_some_and(|g| g.number == number)
    }

    /// A page comes in. A group that comes in at the pointer stands behind it.
    pub fn comes_in(&mut self, page: usize) {
        let i = self.position(page);
        if self.is_at(i, page) {
            return;
        }
        if i <= self.at && !self.list.is_empty() {
            self.at += 1;
        }
        let number = self.number_of(page);
        self.list.insert(
            i,
            Group {
                number,
                recent: false,
            },
        );
    }

    /// A write hits a page.
    pub fn is_hit(&mut self, page: usize) {
        let i = self.position(page);
        if self.is_at(i, page) {
            self.list[i].recent = !self.scan;
        }
    }

    /// The last page of a group has left.
    pub fn leaves(&mut self, page: usize) {
        let i = self.position(page);
        if !self.is_at(i, page) {
            return;
        }
        self.list.remove(i);
        if i < self.at {
            self.at -= 1;
        }
        if self.at == self.list.len() {
            self.at = 0;
        }
    }

    /// Groups in order of address: number, bit, and whether the pointer is at it.
    pub fn rows(&self) -> impl Iterator<Item = (usize, bool, bool)> + '_ {
        let rows = self.list.iter().enumerate();
        rows.map(|(i, group)| (group.number, group.recent, i == self.at))
    }

    /// Groups in the order in which the pointer will take them.
    pub fn in_order(&self) -> Vec<usize> {
        let (behind, ahead) = self.list.split_at(self.at);
        let round: Vec<Group> = ahead.iter().chain(behind).copied().collect();
        let skipped = |g: &&Group| g.recent && !self.scan;
        let first = round.iter().filter(|g| !skipped(g));
        let second = round.iter().filter(skipped);
        first.chain(second).map(|g| g.number).collect()
    }

    /// The pointer takes a page; it has cleared the bits of the groups that it passed.
    pub fn take(&mut self, page: usize) {
        let target = self.position(page);
        while self.at != target || self.list[self.at].recent && !self.scan {
            self.list[self.at].recent &= self.scan;
            self.at = (self.at + 1) % self.list.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circle(scan: bool) -> GroupCircle {
        let mut groups = GroupCircle::new(4, scan);
        [20, 0, 41, 9]
            .into_iter()
            .for_each(|page| groups.comes_in(page));
        groups
    }

    #[test]
    fn the_pointer_skips_groups_that_were_hit_and_clears_their_bits() {
        let mut groups = circle(false);
        // Group 5 came first, and the pointer is on it.
        assert_eq!(groups.in_order(), [5, 10, 0, 2]);
        groups.is_hit(20);
        groups.is_hit(0);
        assert_eq!(groups.in_order(), [10, 2, 5, 0]);
        groups.take(41);
        // The bit of group 5 has been cleared, that of group 0 has not.
        assert_eq!(groups.in_order(), [10, 2, 5, 0]);
        groups.leaves(41);
        assert_eq!(groups.in_order(), [2, 5, 0]);
        groups.take(9);
        assert_eq!(groups.in_order(), [2, 5, 0]);
        groups.is_hit(9);
        assert_eq!(groups.in_order(), [5, 0, 2]);
    }

    #[test]
    fn a_group_that_comes_in_at_the_pointer_stands_behind_it() {
        let mut groups = circle(false);
        groups.take(41);
        groups.comes_in(32);
        assert_eq!(groups.in_order(), [10, 0, 2, 5, 8]);
        // A miss in a group that is there changes nothing.
        groups.comes_in(33);
        assert_eq!(groups.in_order(), [10, 0, 2, 5, 8]);
    }

    #[test]
    fn cscan_ignores_the_bit() {
        let mut groups = circle(true);
        groups.is_hit(20);
        assert_eq!(groups.in_order(), [5, 10, 0, 2]);
    }
}
