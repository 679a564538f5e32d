//! Values of a record that claims use.

use serde_json::Value;

/// The value of `field`: a path through the record, such as `counts.erases`, or the ratio of two, `A / B`.
/// Of a list of samples it is their mean. `None` if the record has no such number, or nothing to divide by.
pub fn measure(record: &Value, field: &str) -> Option<f64> {
    match field.split_once(" / ") {
        Some((above, below)) => {
            let below = measure(record, below).filter(|&below| below != 0.0)?;
            Some(measure(record, above)? / below)
        }
        None => follow(record, field.split('.')),
    }
}

fn follow<'a>(value: &Value, mut path: impl Iterator<Item = &'a str> + Clone) -> Option<f64> {
    match value {
        Value::Array(samples) if !samples.is_empty() => {
            let values: Option<Vec<f64>> =
                samples.iter().map(|s| follow(s, path.clone())).collect();
            values.map(|values| values.iter().sum::<f64>() / samples.len() as f64)
        }
        _ => match path.next() {
            Some(part) => follow(value.get(part)?, path),
            None => value.as_f64(),
        },
    }
}

/// Shares and ratios of counters are shown in percent.
pub fn shown(field: &str, value: f64) -> f64 {
    let ratio = field.starts_with("ratios.") && !field.contains("waf");
    let counters = field.starts_with("counts.") && field.contains(" / ");
    let share = ratio || counters || field.contains("share") && !field.contains(" / ");
    if share { 100.0 * value } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_are_paths_ratios_and_means_of_samples() {
        let record = json!({
            "counts": { "hits": 3, "none": 0, "absent": null },
            "scheme_stats": { "eligible": 4 },
            "list_pages": [{ "irl": 1, "srl": 10 }, { "irl": 3, "srl": 30 }],
            "empty": [],
        });
        let measured = |field: &str| measure(&record, field);
        assert_eq!(measured("counts.hits"), Some(3.0));
        assert_eq!(measured("counts.hits / scheme_stats.eligible"), Some(0.75));
        assert_eq!(measured("list_pages.srl"), Some(20.0));
        assert_eq!(measured("list_pages.srl / list_pages.irl"), Some(10.0));
        for nothing in [
            "counts.hits / counts.none",
            "counts.absent",
            "counts",
            "counts.hits.more",
            "list_pages.drl",
            "empty.irl",
            "nothing / counts.hits",
        ] {
            assert_eq!(measured(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn shares_are_percents() {
        assert_eq!(shown("ratios.page_hit_ratio", 0.5), 50.0);
        assert_eq!(
            shown("counts.write_request_hits / scheme_stats.eligible", 0.5),
            50.0
        );
        assert_eq!(shown("hits_by_size.small_hit_share", 0.5), 50.0);
        assert_eq!(shown("unbalance.share_above_10", 0.5), 50.0);
        assert_eq!(shown("ratios.waf", 0.5), 0.5);
        assert_eq!(
            shown("load.small_volume_share / load.small_request_share", 0.5),
            0.5
        );
        assert_eq!(shown("list_pages.srl / list_pages.irl", 0.5), 0.5);
    }
}
