//! Parameter files of either kind.

use super::aggregate::Aggregate;
use super::parameters::TwinParameters;

/// A parameter file.
#[derive(Clone, PartialEq, Debug)]
pub enum TwinFile {
    /// Everything was measured in one trace.
    Full(TwinParameters),
    /// Some figures are known; the rest is the mean of other traces.
    Aggregate(Aggregate),
}

impl TwinFile {
    /// Reads a parameter file.
    ///
    /// # Errors
    /// The place, the value, what is wrong and what is allowed.
    pub fn parse(text: &str) -> Result<TwinFile, String> {
        let mut file: toml::Table = text.parse().map_err(|e: toml::de::Error| e.to_string())?;
        match file.remove("mode") {
            None => Aggregate::read(file).map(TwinFile::Aggregate),
            Some(mode) => match mode.as_str() {
                Some("aggregate") => Aggregate::read(file).map(TwinFile::Aggregate),
                Some("full") => TwinParameters::read(file).map(TwinFile::Full),
                _ => Err(format!("mode: `{mode}`; allowed: \"full\", \"aggregate\"")),
            },
        }
    }

    /// The parameters, for another number of requests or with another seed if that is given. The
    /// rate of requests stays.
    ///
    /// # Errors
    /// Figures that no twin can have.
    pub fn parameters(
        &self,
        requests: Option<u64>,
        seed: Option<u64>,
    ) -> Result<TwinParameters, String> {
        let span = |span: u64, from: u64, to: u64| {
            (u128::from(span) * u128::from(to) / u128::from(from)).min(i64::MAX as u128) as u64
        };
        match self {
            TwinFile::Full(parameters) => {
                let mut p = parameters.clone();
                let n = requests.unwrap_or(p.requests);
                p.span = span(p.span, p.requests, n);
                p.requests = n;
                p.seed = seed.unwrap_or(p.seed);
                Ok(p)
            }
            TwinFile::Aggregate(aggregate) => {
                let mut a = aggregate.clone();
                let n = requests.unwrap_or(a.requests);
                a.span = span(a.span, a.requests, n);
                a.requests = n;
                a.seed = seed.unwrap_or(a.seed);
                a.parameters()
            }
        }
    }
}
