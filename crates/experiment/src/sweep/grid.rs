//! The grid of a sweep file: a run file in which an option that takes one value may have a list of
//! them.

use crate::bounds::{Factors, check_total};
use crate::options::{KeyPlaces, OptionGroup, OptionInfo, OptionScope, RunArgs, Takes, texts};
use crate::run::{Keys, Plan, RunKeyReader, names, option_of_run};
use destage_console::failure::Failure;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toml::Value;

/// The text of a sweep, from a file or a program.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct SweepText {
    /// Hashes of traces that are expected, by the name that `trace` gives them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sha256: BTreeMap<String, String>,
    /// Parts with keys of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub run: Vec<Keys>,
    /// Keys that all parts share.
    #[serde(flatten)]
    pub shared: Keys,
}

/// A sweep file.
pub struct SweepDescription {
    /// The parsed text.
    pub text: SweepText,
    /// Its name.
    pub name: String,
    /// Where its keys stand.
    pub places: Arc<KeyPlaces>,
}

impl SweepDescription {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or is no TOML.
    pub fn read(file: &Path) -> Result<SweepDescription, Failure> {
        let refused =
            |fault: &dyn std::fmt::Display| Failure::usage(format!("{}: {fault}", file.display()));
        let text = std::fs::read_to_string(file).map_err(|error| refused(&error))?;
        let name = file.file_name().unwrap_or_default();
        Ok(SweepDescription {
            places: KeyPlaces::of(file, &text),
            text: SweepText::of_toml(&text).map_err(|error| refused(&error))?,
            name: name.to_string_lossy().into_owned(),
        })
    }
}

/// A trace of a sweep.
pub struct GridTrace {
    /// As the sweep names it.
    pub path: String,
    /// As records name it.
    pub name: String,
    /// Number of the first part that has it.
    part: usize,
}

/// A sweep: plans, which are options of `run`, over traces.
pub struct Grid {
    /// All traces.
    pub traces: Vec<GridTrace>,
    /// Their numbers by path.
    numbers: BTreeMap<String, usize>,
    /// All runs, over all traces.
    pub runs: u64,
    parts: Vec<Part>,
    reader: RunKeyReader,
    places: Arc<KeyPlaces>,
    folder: PathBuf,
}

/// A `[[run]]`.
struct Part {
    /// Its place in the file.
    place: String,
    keys: Keys,
    /// Keys with the values that are tried, the outermost first.
    axes: Vec<(String, Vec<Value>)>,
    /// Numbers of its traces.
    traces: Vec<usize>,
    /// Number of its first plan.
    first: usize,
}

impl Part {
    fn plans(&self) -> usize {
        self.axes.iter().map(|axis| axis.1.len()).product()
    }
}

impl Grid {
    /// The sweep under options of the machine. Its traces and device files are in `folder`.
    ///
    /// # Errors
    /// All faults of keys; those of values are found when plans are made.
    pub fn new(sweep: &SweepDescription, folder: &Path, given: RunArgs) -> Result<Grid, Failure> {
        let (text, places) = (&sweep.text, &sweep.places);
        let mut grid = Grid {
            traces: Vec::new(),
            numbers: BTreeMap::new(),
            runs: 0,
            parts: Vec::new(),
            reader: RunKeyReader::new(given, &sweep.name, Arc::clone(places)),
            places: Arc::clone(places),
            folder: folder.to_owned(),
        };
        let refused = |fault: String| Failure::usage(places.fault("", None, &fault));
        check_total(text.run.len() as u64, "[[run]]").map_err(refused)?;
        let own = match text.run.is_empty() {
            true => vec![Keys::new()],
            false => text.run.clone(),
        };
        let mut faults = Vec::new();
        for (i, own) in own.into_iter().enumerate() {
            let mut keys = text.shared.clone();
            keys.extend(own);
            if let Err(fault) = grid.add(format!("run.{i}"), keys) {
                faults.push(fault);
            }
        }
        for trace in text.sha256.keys() {
            if !grid.numbers.contains_key(trace) {
                let fault = format!("[sha256]: `{trace}` is no trace of the sweep");
                faults.push(places.fault("sha256", Some(trace), &fault));
            }
        }
        let paths: Vec<PathBuf> = grid.traces.iter().map(|t| PathBuf::from(&t.path)).collect();
        for (trace, name) in grid.traces.iter_mut().zip(names(&paths)) {
            trace.name = name;
        }
        Failure::unless_none(faults)?;
        let what = format!("runs in {} [[run]]", grid.parts.len());
        check_total(grid.runs, &what).map_err(refused)?;
        Ok(grid)
    }

    fn add(&mut self, place: String, mut keys: Keys) -> Result<(), String> {
        let (places, all) = (Arc::clone(&self.places), keys.clone());
        let at = |key: &str, fault: &str| places.value_fault(&place, key, &all[key], fault);
        let of_sweeps = |option: &OptionInfo| option.scope <= OptionScope::Run;
        let refused = |key: &&String| match option_of_run(key) {
            Ok(Some(option)) => !of_sweeps(option),
            Ok(None) => *key == "if-present",
            Err(_) => false,
        };
        if let Some(key) = keys.keys().find(refused) {
            return Err(at(
                key,
                &format!(
                    "`{key}` is not a key of a sweep file: a sweep writes only records, and options of one \
                     machine go on the command line"
                ),
            ));
        }
        let given = keys.remove("trace");
        let given = given.map(|value| texts("trace", &value)).transpose();
        let given = given.map_err(|fault| at("trace", &fault))?;
        let (mut traces, mut known) = (Vec::new(), BTreeSet::new());
        for trace in given.unwrap_or_default() {
            if trace == "-" {
                let fault = "standard input is no trace of a sweep: each worker reads it";
                return Err(at("trace", fault));
            }
            let number = *self.numbers.entry(trace).or_insert_with_key(|path| {
                self.traces.push(GridTrace {
                    path: path.clone(),
                    name: String::new(),
                    part: self.parts.len(),
                });
                self.traces.len() - 1
            });
            if known.insert(number) {
                traces.push(number);
            }
        }
        if traces.is_empty() {
            let fault = "no trace given: `trace` names files";
            return Err(places.fault(&place, Some("trace"), fault));
        }
        let mut axes = Vec::new();
        for (key, value) in &all {
            let option = option_of_run(key).map_err(|fault| at(key, &fault))?;
            let Some(option) = option else { continue };
            let values = values(option, key, value).map_err(|fault| at(key, &fault))?;
            if let Some(values) = values {
                keys.remove(key);
                axes.push((option, key.clone(), values));
            }
        }
        // Options of the stream or the device vary outermost, in the order of declaration, so that
        // a batch can have runs over one decoded copy. Stable: all others stay in the order of
        // their names.
        axes.sort_by_key(|(option, ..)| match option.scope {
            OptionScope::Stream | OptionScope::Device => (option.scope, place_of(option)),
            scope => (scope, None),
        });
        let axes = axes.into_iter().map(|(_, key, values)| (key, values));
        let axes: Vec<(String, Vec<Value>)> = axes.collect();
        // Plans find wrong values later. This count limits their number.
        let of_plan = self.reader.read(&place, &keys);
        let of_plan = of_plan.map_or(Factors::default(), |run| Factors::of_run(&run.args));
        let factors = of_plan.with(traces.len(), "traces");
        let factors = axes.iter().fold(factors, |factors, (key, values)| {
            factors.with(values.len(), format!("values of {key}"))
        });
        let runs = factors.check("runs");
        let runs = runs.map_err(|fault| places.fault(&place, None, &fault))?;
        self.runs = self.runs.saturating_add(runs);
        let first = self.plans();
        self.parts.push(Part {
            place,
            keys,
            axes,
            traces,
            first,
        });
        Ok(())
    }

    /// A fault of trace number `trace`, with the place that names it.
    pub fn trace_fault(&self, trace: usize, fault: &str) -> String {
        let place = &self.parts[self.traces[trace].part].place;
        self.places
            .fault(place, Some("trace"), &format!("trace: {fault}"))
    }

    /// Number of the first plan that runs over trace number `trace`.
    pub fn first_plan(&self, trace: usize) -> usize {
        self.parts[self.traces[trace].part].first
    }

    /// Number of plans.
    pub fn plans(&self) -> usize {
        self.parts
            .last()
            .map_or(0, |part| part.first + part.plans())
    }

    /// The traces that each plan of a part runs over, and the numbers of these plans.
    pub fn parts(&self) -> impl Iterator<Item = (&[usize], std::ops::Range<usize>)> {
        let plans = |part: &Part| part.first..part.first + part.plans();
        self.parts.iter().map(move |p| (&p.traces[..], plans(p)))
    }

    /// Plan number `plan`: options of `run` with the trace that it has first, and their runs.
    ///
    /// # Errors
    /// All of its faults.
    pub fn plan(&self, plan: usize) -> Result<Plan, Failure> {
        let part = self.parts.partition_point(|part| part.first <= plan) - 1;
        let part = &self.parts[part];
        let mut keys = part.keys.clone();
        let mut digits = plan - part.first;
        // The last axis changes fastest.
        for (key, values) in part.axes.iter().rev() {
            keys.insert(key.clone(), values[digits % values.len()].clone());
            digits /= values.len();
        }
        let mut run = self.reader.read(&part.place, &keys)?;
        run.args.traces = vec![PathBuf::from(&self.traces[part.traces[0]].path)];
        run.filed.device_folder.clone_from(&self.folder);
        Plan::new(&run.args, run.filed)
    }
}

/// Number of an option among those of `run`.
fn place_of(option: &OptionInfo) -> Option<usize> {
    let mut all = RunArgs::declared().iter();
    all.position(|other| other.field == option.field)
}

/// The values of an option that are tried one by one, if it has several.
fn values(option: &OptionInfo, key: &str, value: &Value) -> Result<Option<Vec<Value>>, String> {
    // The runs of one plan take all of them.
    if option.each && option.scope == OptionScope::Run {
        return Ok(None);
    }
    if key == "volumes" && texts(key, value).is_ok_and(|all| all.iter().any(|v| v == "split")) {
        return Err(
            "volumes = \"split\": a sweep knows its runs before it reads traces; name the volumes, \
             as in volumes = [\"only=0\", \"only=1\"]"
                .to_owned(),
        );
    }
    let Value::Array(all) = value else {
        return Ok(None);
    };
    let lists = all.iter().any(|one| matches!(one, Value::Array(_)));
    if all.is_empty() {
        return Err(format!(
            "{key} = []: the list is empty; it needs at least one value"
        ));
    }
    // Of what may be given several times a list is one value, and a list of lists are several.
    let is_one_value = option.takes == Takes::Many && !option.each && !lists;
    Ok((!is_one_value).then(|| all.clone()))
}

impl SweepText {
    /// The text of a file.
    ///
    /// # Errors
    /// It is no TOML.
    pub fn of_toml(text: &str) -> Result<SweepText, String> {
        toml::from_str(text).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::key::identity;
    use std::collections::BTreeSet;

    fn grid(text: &str) -> Result<Grid, Failure> {
        let sweep = SweepDescription {
            text: SweepText::of_toml(text).unwrap(),
            name: "s.toml".to_owned(),
            places: KeyPlaces::without_file("s.toml"),
        };
        Grid::new(&sweep, Path::new(""), RunArgs::default())
    }

    #[test]
    fn lists_are_tried_one_by_one() {
        let grid = grid(
            "trace = ['a', 'b']\nscheme = ['lru', 'fifo']\ncache = ['1MiB', '2MiB']\nseed = [1, 2, 3]\n\
             device = ['default', 'ecr-64g']\nset = [['t_read=20us'], ['t_read=40us', 'rmw=false']]\n",
        )
        .unwrap();
        assert_eq!(grid.plans(), 12);
        let told = |plan: usize| {
            let plan = grid.plan(plan).unwrap();
            assert_eq!(plan.runs.len(), 4);
            let run = &plan.runs[0];
            let set = run
                .settings
                .iter()
                .filter(|s| s.key == "t_read" || s.key == "rmw");
            let set = set.filter(|s| s.origin.starts_with("run file")).count();
            (run.device.as_ref().unwrap().name.clone(), run.seed, set)
        };
        assert_eq!(told(0), ("default".to_owned(), 1, 1));
        assert_eq!(told(1), ("default".to_owned(), 1, 2));
        assert_eq!(told(2), ("default".to_owned(), 2, 1));
        assert_eq!(told(11), ("ecr-64g".to_owned(), 3, 2));
    }

    /// Else one run would take the result of the other.
    #[test]
    fn what_an_option_changes_is_in_the_key_of_the_run() {
        for option in [
            "addresses = ['fit', 'wrap', 'refuse']",
            "limit = [10, 20]",
            "volumes = ['stack', 'overlay', 'only=1']",
            "seed = [1, 2]",
            "warmup = ['0', '10', '50%']",
            "set = [['t_read=20us'], ['t_read=40us'], ['op=0.2']]",
        ] {
            let grid = grid(&format!("trace = 'a'\ndevice = 'default'\n{option}\n")).unwrap();
            let key = |number| {
                let plan = grid.plan(number).unwrap();
                identity(&plan, &plan.runs[0], None)
            };
            let keys: BTreeSet<String> = (0..grid.plans()).map(key).collect();
            assert!(keys.len() > 1 && keys.len() == grid.plans(), "{option}");
        }
    }

    #[test]
    fn parts_have_traces_of_their_own() {
        let grid = grid(
            "seed = [1, 2]\n[[run]]\ntrace = ['x/a', 'y/a']\n[[run]]\ntrace = 'x/a'\nseed = 7\n\
             set = ['t_read=20us']\ndevice = 'default'\n",
        )
        .unwrap();
        let parts: Vec<_> = grid.parts().collect();
        assert_eq!(parts, [(&[0, 1][..], 0..2), (&[0][..], 2..3)]);
        assert_eq!(
            (&*grid.traces[1].path, &*grid.traces[1].name),
            ("y/a", "y/a")
        );
        let last = grid.plan(2).unwrap();
        assert_eq!(last.runs[0].seed, 7);
    }
}
