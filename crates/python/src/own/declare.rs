//! Declarations of schemes of one's own. As those of the registry they last as long as the process: a class
//! is declared once.

pub use super::OwnKind;
use super::{admission, class, score};
use crate::errors::exception;
use destage_scheme::info::{MetadataBound, OF_INNER, PaperSource, Range};
use destage_scheme::{DefaultValue, Expr, Kind, ParamInfo, Role, SchemeInfo, registry};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The kinds behind the declarations, by their addresses: a declaration has a function that builds
/// its scheme, and a function knows nothing but its arguments.
static KINDS: Mutex<Option<HashMap<usize, Arc<OwnKind>>>> = Mutex::new(None);

/// The kind behind a declaration, if it is one of these.
pub fn kind_of(info: &'static SchemeInfo) -> Option<Arc<OwnKind>> {
    let kinds = KINDS.lock().unwrap_or_else(PoisonError::into_inner);
    kinds.as_ref()?.get(&address(info)).cloned()
}

fn address(info: &'static SchemeInfo) -> usize {
    std::ptr::from_ref(info) as usize
}

/// A text that lasts as long as the process; the same one for equal texts.
pub fn kept(text: &str) -> &'static str {
    static KEPT: Mutex<Option<HashMap<String, &'static str>>> = Mutex::new(None);
    let mut all = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let all = all.get_or_insert_default();
    if let Some(known) = all.get(text) {
        return known;
    }
    let new: &'static str = Box::leak(text.to_owned().into_boxed_str());
    all.insert(text.to_owned(), new);
    new
}

/// A scheme of one's own that expressions can name.
#[pyclass(frozen, module = "destage._destage")]
pub struct OwnScheme {
    pub info: &'static SchemeInfo,
}

/// A parameter as Python declares it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct OwnParam {
    key: String,
    note: String,
    default: Py<PyAny>,
    least: Option<f64>,
    most: Option<f64>,
    choices: Option<Vec<String>>,
}

impl OwnParam {
    fn info(&self, py: Python<'_>) -> PyResult<ParamInfo> {
        let refused = |text: &str| {
            let text = format!("parameter `{}`: {text}", self.key);
            exception(py, "UsageError", text)
        };
        let default = self.default.bind(py);
        let param = if let Some(choices) = &self.choices {
            let words: Vec<&'static str> = choices.iter().map(|word| kept(word)).collect();
            let first: String = default.extract()?;
            let first = words.iter().find(|word| **word == first);
            let first = first.ok_or_else(|| refused("its default is none of its choices"))?;
            let words: &'static [&'static str] = Box::leak(words.clone().into_boxed_slice());
            ParamInfo::word(words).default(DefaultValue::Word(first))
        } else if let Ok(flag) = default.extract::<bool>() {
            ParamInfo::flag(flag)
        } else if let Ok(number) = default.extract::<u64>() {
            let least = self.least.unwrap_or(0.0).max(0.0) as u64;
            let most = self.most.map_or(u64::from(u32::MAX), |most| most as u64);
            if !(least..=most).contains(&number) {
                return Err(refused("its default is not between its bounds"));
            }
            ParamInfo::integer(least, most, number)
        } else if let Ok(number) = default.extract::<f64>() {
            let range = Range {
                min: self.least.unwrap_or(0.0),
                max: self.most.unwrap_or(f64::INFINITY),
                min_open: false,
                max_open: false,
            };
            if !(range.min..=range.max).contains(&number) {
                return Err(refused("its default is not between its bounds"));
            }
            ParamInfo::real(range, number)
        } else {
            return Err(refused(
                "its default is a number from 0, True, False, or one of its choices",
            ));
        };
        Ok(param.named(kept(&self.key), kept(&self.note)))
    }
}

fn declare(py: Python<'_>, info: SchemeInfo, kind: OwnKind) -> PyResult<OwnScheme> {
    if registry::find(info.name).is_some() || registry::alias(info.name).is_some() {
        let text = format!(
            "`{}` is the name of a scheme that comes along; another one is `name = \"...\"` in the class",
            info.name
        );
        return Err(exception(py, "UsageError", text));
    }
    let info: &'static SchemeInfo = Box::leak(Box::new(info));
    let text = match info.role.is_layer() {
        true => format!("{}(lru)", info.name),
        false => info.name.to_owned(),
    };
    // Only names can be wrong in it.
    Expr::parse_with(&text, &[info])
        .map_err(|refusal| exception(py, "UsageError", refusal.to_string()))?;
    let mut kinds = KINDS.lock().unwrap_or_else(PoisonError::into_inner);
    let kinds = kinds.get_or_insert_default();
    kinds.insert(address(info), Arc::new(kind));
    Ok(OwnScheme { info })
}

const SOURCE: PaperSource = PaperSource {
    paper: "a scheme of one's own",
    year: None,
    section: "",
    certain: true,
};

#[pymethods]
impl OwnScheme {
    /// A policy that is a class with these parameters.
    #[staticmethod]
    fn of_class(
        py: Python<'_>,
        name: &str,
        summary: &str,
        class: Py<PyAny>,
        params: Vec<OwnParam>,
        ordered: bool,
    ) -> PyResult<OwnScheme> {
        let params = params.iter().map(|param| param.info(py));
        let params: Vec<ParamInfo> = params.collect::<PyResult<_>>()?;
        let params: &'static [ParamInfo] = Box::leak(params.into_boxed_slice());
        let info = SchemeInfo {
            name: kept(name),
            summary: kept(summary),
            source: SOURCE,
            params: Box::leak(Box::new([params])),
            ties: "as the class says",
            order: ordered.then_some("as its method next_victims says"),
            build: Some(class::build),
            ..SchemeInfo::BASE
        };
        declare(py, info, OwnKind::Class(class))
    }

    /// A policy that evicts the page with the lowest score. The function is at `address`, and `keeper` keeps it.
    #[staticmethod]
    fn of_score(
        py: Python<'_>,
        name: &str,
        address: usize,
        keeper: Py<PyAny>,
    ) -> PyResult<OwnScheme> {
        #[expect(unsafe_code, reason = "who gives an address says what is there")]
        // SAFETY: that is what the documentation of `destage.scored` asks for; Python checks the type where
        // the object says it.
        let function = unsafe { score::ScoreFunction::at(address) };
        let Some(function) = function else {
            return Err(exception(
                py,
                "UsageError",
                "a score is no function at address 0".to_owned(),
            ));
        };
        let info = SchemeInfo {
            name: kept(name),
            summary: "Evicts the page with the lowest score, which a function gives at every access.",
            source: SOURCE,
            ties: "the page accessed longest ago",
            metadata: |_, _| Some(MetadataBound::nodes(score::PAGE_BYTES)),
            build: Some(score::build),
            ..SchemeInfo::BASE
        };
        declare(py, info, OwnKind::Score(function, keeper))
    }

    /// A layer that admits requests as was decided before the run.
    #[staticmethod]
    fn of_admission(py: Python<'_>, name: &str) -> PyResult<OwnScheme> {
        let info = SchemeInfo {
            name: kept(name),
            summary: "Admits requests as a function has decided for each.",
            source: SOURCE,
            role: Role::Admission,
            ties: "those of the inner scheme",
            metadata: OF_INNER,
            build: Some(admission::build),
            ..SchemeInfo::BASE
        };
        declare(py, info, OwnKind::Admission)
    }

    #[getter]
    fn name(&self) -> &str {
        self.info.name
    }
}

/// The values of the parameters of a layer, by the names of Python.
pub fn values<'py>(py: Python<'py>, expr: &Expr) -> PyResult<Bound<'py, PyDict>> {
    let values = PyDict::new(py);
    for param in expr.scheme().params() {
        let name = param.key.replace('-', "_");
        match param.kind {
            Kind::Bool => values.set_item(name, expr.flag(param.key))?,
            Kind::Word(_) => values.set_item(name, expr.word(param.key))?,
            Kind::Real(_) => values.set_item(name, expr.real(param.key))?,
            _ => values.set_item(name, expr.uint(param.key))?,
        }
    }
    Ok(values)
}
