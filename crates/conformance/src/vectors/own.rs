//! The worked examples of `own.txt`, as tables like those of the specification.

use super::{Table, Vectors};
use serde_json::{Map, Value, json};

impl Vectors {
    /// The examples that stand in the project itself, named by their schemes.
    ///
    /// # Panics
    /// A line is not as the head of the file says.
    pub fn own() -> Vec<Table> {
        let mut tables: Vec<Table> = Vec::new();
        for line in include_str!("own.txt").lines() {
            match line.strip_prefix("  ") {
                _ if line.is_empty() || line.starts_with('#') => {}
                Some(cells) => {
                    let table = tables.last_mut().expect("a scheme stands first");
                    table.rows.push(row(cells, table.rows.len()));
                }
                None => tables.push(head(line)),
            }
        }
        tables
    }
}

/// `SCHEME pages=N`, and perhaps `chips=N`, `program=N` and `draws=X,Y`.
fn head(line: &str) -> Table {
    let (mut chips, mut pages, mut program, mut draws) = (1, 0, 0, Value::Null);
    let mut words = line.split(' ');
    let scheme = words.next().expect("a line has a word");
    for word in words {
        match word.split_once('=') {
            Some(("pages", n)) => pages = number(n),
            Some(("chips", n)) => chips = number(n),
            Some(("program", n)) => program = number(n),
            Some(("draws", list)) => draws = list.split(',').map(real).collect(),
            _ => panic!("{line}: {word}"),
        }
    }
    let device = json!({
        "channels": 1, "chips": chips, "t_read": 0, "t_program": program, "gc": "per row",
    });
    let setup = json!({
        "scheme": scheme, "capacity_pages": pages, "page_sectors": 8, "time_unit_ns": 1,
        "device": device, "draws": draws,
    });
    Table {
        name: scheme.to_owned(),
        setup: super::object(&setup),
        rows: Vec::new(),
        expect: Map::new(),
    }
}

/// `request | result | evicted | state`.
fn row(cells: &str, index: usize) -> Value {
    let cells: Vec<&str> = cells.splitn(4, " | ").collect();
    let [request, result, evicted, state] = cells[..] else {
        panic!("{cells:?}: not four cells");
    };
    json!({
        "#": index + 1, "request": request, "req": parse(request),
        "result": result, "evicted": evicted, "state after": state,
    })
}

fn parse(text: &str) -> Value {
    let (text, gc) = split(text, '!');
    let (text, at) = split(text, '@');
    let (text, pre) = split(text, '<');
    let (op, pages) = text.split_at(1);
    let mut req = json!({"op": op, "unit": "page", "at": at.unwrap_or(0)});
    if let Some((first, last)) = pages.split_once('-') {
        (req["first"], req["last"]) = (number(first).into(), number(last).into());
    } else if !pages.is_empty() {
        (req["first"], req["last"]) = (number(pages).into(), number(pages).into());
    }
    if let Some(pre) = pre {
        req["pre"] = json!([pre]);
    }
    if let Some(gc) = gc {
        req["gc_chips"] = json!([gc]);
    }
    req
}

fn split(text: &str, mark: char) -> (&str, Option<u64>) {
    match text.split_once(mark) {
        Some((text, n)) => (text, Some(number(n))),
        None => (text, None),
    }
}

fn number(text: &str) -> u64 {
    text.parse().expect("a number")
}

fn real(text: &str) -> Value {
    text.parse::<f64>().expect("a number").into()
}
