//! Figures of a scheme's own.

/// A scheme's own figures, in the order in which it gives them.
///
/// The record's `scheme_stats` has counters and gauges: of a counter what the measured part of the run
/// added to it, of a gauge its value at the end. The lengths of lists are sampled during the run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SchemeStats(Vec<Figure>);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Figure {
    name: &'static str,
    value: u64,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Counter,
    Gauge,
    List,
}

impl SchemeStats {
    /// Something has happened `value` times since the scheme began; it never goes down.
    pub fn counter(&mut self, name: &'static str, value: u64) {
        self.push(name, value, Kind::Counter);
    }

    /// There are `value` of something now.
    pub fn gauge(&mut self, name: &'static str, value: u64) {
        self.push(name, value, Kind::Gauge);
    }

    /// A list of the scheme holds so many `pages` now.
    pub fn list(&mut self, name: &'static str, pages: u64) {
        self.push(name, pages, Kind::List);
    }

    fn push(&mut self, name: &'static str, value: u64, kind: Kind) {
        self.0.push(Figure { name, value, kind });
    }

    fn of_kind(&self, kind: Kind) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        let figures = self.0.iter().filter(move |figure| figure.kind == kind);
        figures.map(|figure| (figure.name, figure.value))
    }

    /// The figure called `name`, of several the one said first.
    pub fn get(&self, name: &str) -> Option<u64> {
        let found = self.0.iter().find(|figure| figure.name == name);
        found.map(|figure| figure.value)
    }

    /// The same figures of the time since the scheme said `before`: counters count from there.
    pub fn since(&self, before: &SchemeStats) -> SchemeStats {
        let since = |figure: &Figure| {
            let earlier = before
                .get(figure.name)
                .filter(|_| figure.kind == Kind::Counter);
            let value = figure.value.checked_sub(earlier.unwrap_or(0));
            let value = value.expect("a counter never goes down");
            Figure { value, ..*figure }
        };
        SchemeStats(self.0.iter().map(since).collect())
    }

    /// The counters alone.
    pub fn counters(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.of_kind(Kind::Counter)
    }

    /// The gauges alone.
    pub fn gauges(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.of_kind(Kind::Gauge)
    }

    /// The lengths of lists alone.
    pub fn lists(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.of_kind(Kind::List)
    }

    /// The figures of `scheme_stats`: counters and gauges.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        let figures = self.0.iter().filter(|figure| figure.kind != Kind::List);
        figures.map(|figure| (figure.name, figure.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_count_from_a_moment_on_and_gauges_are_as_they_are() {
        let at = |migrations, blocks| {
            let mut stats = SchemeStats::default();
            stats.gauge("blocks", blocks);
            stats.list("pages", 10 * blocks);
            stats.counter("migrations", migrations);
            stats
        };
        let since = at(9, 3).since(&at(4, 5));
        assert_eq!(
            since.iter().collect::<Vec<_>>(),
            [("blocks", 3), ("migrations", 5)]
        );
        assert_eq!(since.counters().collect::<Vec<_>>(), [("migrations", 5)]);
        assert_eq!(since.lists().collect::<Vec<_>>(), [("pages", 30)]);
        assert_eq!(at(9, 3).since(&SchemeStats::default()), at(9, 3));
        assert_eq!((since.get("blocks"), since.get("x")), (Some(3), None));
    }
}
