//! A job's description by `destage probe`, in fio's option `description`: `destage` and then words
//! `key=value`.

/// The words of a description. Other descriptions than those of a probe are left alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// Name of the drive.
    pub drive: Option<String>,
    /// Bytes of the drive. With it, writes of earlier files are counted.
    pub capacity: Option<f64>,
    /// Seconds that a second of the drive takes: its clock is that of a simulation.
    pub slower: f64,
    /// Whether the latencies of the job are part of the cell.
    pub measured: bool,
    /// Whether the job is a cell; a preparation is none.
    pub cell: bool,
}

impl Description {
    /// The description of a job; `None` if it is none of a probe.
    ///
    /// # Errors
    /// A word is unknown, or has a wrong value.
    pub fn parse(text: &str) -> Result<Option<Description>, String> {
        let mut words = text.split_whitespace();
        if words.next() != Some("destage") {
            return Ok(None);
        }
        let mut description = Description {
            drive: None,
            capacity: None,
            slower: 1.0,
            measured: true,
            cell: true,
        };
        for word in words {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            let refused = |allowed: &str| {
                Err(format!(
                    "`description` has `{word}`. Allowed: {allowed}. It is written by `destage probe`."
                ))
            };
            match key {
                "drive" if !value.is_empty() => description.drive = Some(value.to_owned()),
                "capacity" => match value.parse::<u64>() {
                    Ok(bytes) if bytes > 0 => description.capacity = Some(bytes as f64),
                    _ => return refused("`capacity=` and the bytes of the drive"),
                },
                "slower" => match value.parse::<f64>() {
                    Ok(factor) if factor.is_finite() && factor > 0.0 => description.slower = factor,
                    _ => return refused("`slower=` and a number above 0"),
                },
                "measured" | "cell" => {
                    let is = match value {
                        "yes" => true,
                        "no" => false,
                        _ => return refused("`yes` or `no` after `=`"),
                    };
                    let target = match key {
                        "cell" => &mut description.cell,
                        _ => &mut description.measured,
                    };
                    *target = is;
                }
                _ => return refused("drive=, capacity=, slower=, measured= and cell="),
            }
        }
        Ok(Some(description))
    }
}
