//! Likenesses of the papers' traces, made from the figures that the papers print.

use destage_twin::{Twin, TwinFile};

macro_rules! twins {
    ($($name:literal)*) => {
        [$(($name, include_str!(concat!("../../../papers/twins/", $name, ".toml")))),*]
    };
}

/// Published names of traces with the parameter files of their twins.
const FILES: [(&str, &str); 21] = twins!(
    "DAP-DS" "MSNCFS" "RAD-AS" "RAD-BE" "hm_0" "hm_1" "lun_1" "mds_0" "prn_0" "prn_1" "proj_0"
    "proj_3" "prxy_0" "rsrch_0" "src1_2" "src2_0" "stg_0" "stg_1" "ts_0" "usr_0" "wdev_0"
);

/// Has the trace that papers call `name` a twin?
pub fn has(name: &str) -> bool {
    FILES.iter().any(|file| file.0 == name)
}

/// The twin of the trace that papers call `name`.
///
/// # Errors
/// There is none, or its parameter file has a fault.
pub fn twin(name: &str) -> Result<Twin, String> {
    let file = FILES.iter().find(|file| file.0 == name);
    let (_, text) = file.ok_or_else(|| format!("no twin of `{name}`"))?;
    let parameters = TwinFile::parse(text).and_then(|file| file.parameters(None, None));
    Ok(Twin {
        name: format!("twin of {name}"),
        parameters: parameters.map_err(|fault| format!("papers/twins/{name}.toml: {fault}"))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::papers;
    use std::collections::BTreeSet;

    #[test]
    fn every_parameter_file_is_known() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../papers/twins");
        let files = std::fs::read_dir(folder).unwrap();
        let there: BTreeSet<String> = files
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        let known: BTreeSet<String> = FILES
            .iter()
            .map(|file| format!("{}.toml", file.0))
            .collect();
        assert_eq!(there, known);
        for (name, text) in FILES {
            assert!(TwinFile::parse(text).is_ok(), "{name}");
        }
    }

    /// Of ProCache's traces nothing is known but their length and mix.
    #[test]
    fn the_traces_of_four_papers_have_twins() {
        for paper in papers("all").unwrap() {
            let without = paper.original.iter().filter(|trace| !has(&trace.name));
            let without: Vec<&str> = without.map(|trace| trace.name.as_str()).collect();
            match paper.name {
                "procache" => assert_eq!(without, ["traceS", "traceL"]),
                name => assert!(without.is_empty(), "{name}: {without:?}"),
            }
        }
    }
}
