//! A small reader of scheme expressions, apart from the product's parser.
//!
//! It reads what is legal and refuses unknown names and keys; it does not check
//! the composition rules.

use std::collections::BTreeMap;

/// One layer of an expression.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SlowExpr {
    /// Scheme name, lower case, `-` for `_`.
    pub name: String,
    /// The scheme inside.
    pub inner: Option<Box<SlowExpr>>,
    /// The policies that `best-of` chooses among.
    pub members: Vec<SlowExpr>,
    /// Parameters without a layer prefix.
    pub params: BTreeMap<String, String>,
}

const LAYERS: [&str; 15] = [
    "cac",
    "awb",
    "eager",
    "idle-clean",
    "procache",
    "refcount",
    "multihash",
    "mbf",
    "twolevel",
    "prober",
    "gcar",
    "test-drain",
    "test-age",
    "test-age-idle",
    "test-tick",
];

impl SlowExpr {
    /// Reads an expression.
    ///
    /// # Errors
    /// The text does not match the grammar.
    pub fn parse(text: &str) -> Result<SlowExpr, String> {
        let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let text = text.to_ascii_lowercase().replace('_', "-");
        let text = match text.as_str() {
            "prober-lru" => "prober(lru)",
            "prober-lirs" => "prober(lirs)",
            "cac+lru" => "cac(lru)",
            "cac+arc" => "cac(arc)",
            "gcar-lru" => "gcar(lru)",
            "gcar-cflru" => "gcar(cflru)",
            other => other,
        };
        SlowExpr::scheme(text)
    }

    fn scheme(text: &str) -> Result<SlowExpr, String> {
        let (name, args) = match text.split_once('(') {
            None => (text, ""),
            Some((name, rest)) => {
                let args = rest.strip_suffix(')');
                (name, args.ok_or(format!("`{text}`: `)` expected"))?)
            }
        };
        let mut expr = SlowExpr {
            name: name.to_owned(),
            ..SlowExpr::default()
        };
        for arg in split_args(args)? {
            // A `=` before any parenthesis makes it a parameter.
            let head = arg.split('(').next().unwrap_or_default();
            if let Some((key, value)) = arg.split_once('=').filter(|_| head.contains('=')) {
                let key = key.rsplit('.').next().unwrap_or(key);
                expr.params.insert(key.to_owned(), value.to_owned());
            } else if name == "best-of" {
                expr.members.push(SlowExpr::scheme(arg)?);
            } else if expr.inner.is_some() {
                return Err(format!("`{text}`: two schemes inside `{name}`"));
            } else {
                expr.inner = Some(Box::new(SlowExpr::scheme(arg)?));
            }
        }
        if name == "best-of" && expr.members.is_empty() {
            let members = ["lru", "arc", "lirs"].into_iter().map(SlowExpr::scheme);
            expr.members = members.collect::<Result<_, _>>()?;
        }
        if expr.inner.is_none() && (LAYERS.contains(&name) || name == "ecr") {
            expr.inner = Some(Box::new(SlowExpr::scheme("lru")?));
        }
        Ok(expr)
    }

    /// The scheme inside a layer.
    ///
    /// # Errors
    /// There is none.
    pub fn inside(&self) -> Result<&SlowExpr, String> {
        let inner = self.inner.as_deref();
        inner.ok_or(format!("`{}` has no scheme inside", self.name))
    }

    /// Is a layer of this name here or further inside?
    pub fn has(&self, name: &str) -> bool {
        self.name == name || self.inner.as_deref().is_some_and(|e| e.has(name))
    }

    /// Refuses keys outside `known`.
    ///
    /// # Errors
    /// Names the first unknown key.
    pub fn keys(&self, known: &[&str]) -> Result<(), String> {
        match self.params.keys().find(|k| !known.contains(&k.as_str())) {
            Some(key) => Err(format!("unknown parameter `{key}` of `{}`", self.name)),
            None => Ok(()),
        }
    }

    /// The word given for `key`, which must be one of `words`; the first one is the default.
    ///
    /// # Errors
    /// Another word was given.
    pub fn word(&self, key: &str, words: &[&'static str]) -> Result<&'static str, String> {
        let Some(value) = self.params.get(key) else {
            return Ok(words[0]);
        };
        let found = words.iter().find(|w| w.replace('_', "-") == *value);
        found
            .copied()
            .ok_or(format!("`{key}={value}`: not a value"))
    }

    /// `true` or `false`.
    ///
    /// # Errors
    /// Another word was given.
    pub fn flag(&self, key: &str, default: bool) -> Result<bool, String> {
        let words = if default {
            ["true", "false"]
        } else {
            ["false", "true"]
        };
        Ok(self.word(key, &words)? == "true")
    }

    /// A real number.
    ///
    /// # Errors
    /// Not a number.
    pub fn real(&self, key: &str, default: f64) -> Result<f64, String> {
        let value = self.params.get(key).map(|v| v.parse());
        value
            .unwrap_or(Ok(default))
            .map_err(|e| format!("`{key}`: {e}"))
    }

    /// A list of real numbers such as `[1.0,0.5]`.
    ///
    /// # Errors
    /// Not such a list.
    pub fn reals(&self, key: &str) -> Result<Option<Vec<f64>>, String> {
        let Some(value) = self.params.get(key) else {
            return Ok(None);
        };
        let inside = value.strip_prefix('[').and_then(|v| v.strip_suffix(']'));
        let numbers = inside.ok_or(format!("`{key}={value}`: not a list"))?;
        let numbers: Result<Vec<f64>, _> = numbers.split(',').map(str::parse).collect();
        numbers.map(Some).map_err(|e| format!("`{key}`: {e}"))
    }

    /// A whole number; the unit `p` (pages) counts `page` each, `k`, `m`, `g` are binary.
    ///
    /// # Errors
    /// Not a number, or an unknown unit.
    pub fn number(&self, key: &str, default: u64, page: u64) -> Result<u64, String> {
        let Some(value) = self.params.get(key) else {
            return Ok(default);
        };
        let end = value.find(|c: char| !c.is_ascii_digit());
        let (digits, unit) = value.split_at(end.unwrap_or(value.len()));
        let factor = match unit {
            "" => 1,
            "p" => page,
            "k" | "kib" => 1 << 10,
            "m" | "mib" => 1 << 20,
            "g" | "gib" => 1 << 30,
            _ => return Err(format!("`{key}={value}`: unknown unit")),
        };
        let number: Result<u64, _> = digits.parse();
        number
            .map(|n| n * factor)
            .map_err(|e| format!("`{key}={value}`: {e}"))
    }
}

impl SlowExpr {
    /// A time in nanoseconds, given in `ns`, `us` or `ms`.
    ///
    /// # Errors
    /// Another unit, or no number in front of it.
    pub fn time(&self, key: &str, default: u64) -> Result<u64, String> {
        let Some(value) = self.params.get(key) else {
            return Ok(default);
        };
        let units = [("ns", 1.0), ("us", 1e3), ("ms", 1e6)];
        let parts = units
            .iter()
            .find_map(|(unit, ns)| Some((value.strip_suffix(unit)?, ns)));
        let (digits, ns) = parts.ok_or(format!("`{key}={value}`: not a time"))?;
        let number: f64 = digits
            .parse()
            .map_err(|e| format!("`{key}={value}`: {e}"))?;
        Ok((number * ns).round() as u64)
    }
}

/// Splits at the commas outside parentheses and brackets.
fn split_args(text: &str) -> Result<Vec<&str>, String> {
    let (mut depth, mut start, mut out) = (0i32, 0, Vec::new());
    for (i, c) in text.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            ',' if depth == 0 => {
                out.push(&text[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    if depth != 0 {
        return Err(format!("`{text}`: unbalanced"));
    }
    if start < text.len() {
        out.push(&text[start..]);
    }
    Ok(out)
}
