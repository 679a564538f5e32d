//! Tables for a terminal and for Markdown: both are the same text, padded columns between bars.

/// A title, a head and rows.
pub struct Table {
    title: String,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub fn new(title: impl Into<String>, head: &[&str]) -> Table {
        let head = head.iter().map(|&h| h.to_owned()).collect();
        Table {
            title: title.into(),
            rows: vec![head],
        }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The table as text: with `markdown` ready to be pasted.
    pub fn text(&self, markdown: bool) -> String {
        let columns = self.rows[0].len();
        let width = |c: usize| self.rows.iter().map(|r| r[c].chars().count()).max();
        let widths: Vec<usize> = (0..columns).filter_map(width).collect();
        let mut text = if markdown {
            format!("### {}\n\n", self.title)
        } else {
            format!("{}\n", self.title)
        };
        for (i, row) in self.rows.iter().enumerate() {
            let cells = row.iter().zip(&widths).enumerate();
            let cells: Vec<String> = cells
                .map(|(c, (cell, &width))| match c {
                    0 => format!("{cell:<width$}"),
                    _ => format!("{cell:>width$}"),
                })
                .collect();
            if markdown {
                text += &format!("| {} |\n", cells.join(" | "))
            } else {
                text += &format!("{}\n", cells.join("  "))
            }
            if markdown && i == 0 {
                let rule = |(c, &width): (usize, &usize)| match c {
                    0 => "-".repeat(width),
                    _ => "-".repeat(width - 1) + ":",
                };
                let rules: Vec<String> = widths.iter().enumerate().map(rule).collect();
                text += &format!("| {} |\n", rules.join(" | "));
            }
        }
        text
    }
}

/// A figure with one decimal, or a dash.
pub fn figure(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |v| format!("{v:.1}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_has_a_rule_and_equal_widths() {
        let mut table = Table::new("t", &["scheme", "M/s"]);
        table.row(vec!["lru".to_owned(), figure(Some(12.34))]);
        table.row(vec!["x".to_owned(), figure(None)]);
        let expected = "### t\n\n\
            | scheme |  M/s |\n| ------ | ---: |\n| lru    | 12.3 |\n| x      |    - |\n";
        assert_eq!(table.text(true), expected);
        assert_eq!(
            table.text(false),
            "t\nscheme   M/s\nlru     12.3\nx          -\n"
        );
    }
}
