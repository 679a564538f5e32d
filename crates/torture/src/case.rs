//! A case: a trace, a scheme over a device or over none, and options. A law makes command lines of it.

use crate::device;
use crate::requests::{self, Request};
use destage_conformance::drive::Config;
use destage_conformance::reference::rng::SplitMix64;
use destage_conformance::suites::{compositions, least_capacity, random};
use destage_device::config::DeviceConfig;
use destage_scheme::Expr;
use destage_types::RequestFlags;

/// A random case on which a law is checked.
#[derive(Clone, Debug)]
pub struct Case {
    /// The trace, in arrival order from 0.
    pub requests: Vec<Request>,
    /// The expression.
    pub scheme: String,
    /// Pages of the cache.
    pub frames: u64,
    /// Bytes of a page.
    pub page: u64,
    /// Settings of the device, if there is one.
    pub device: Option<Vec<String>>,
    /// Options with their values.
    pub options: Vec<Vec<String>>,
    /// Seed of all further random choices of the law.
    pub seed: u64,
}

/// The words of an option.
pub fn option(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

impl Case {
    /// A random case.
    pub fn draw(rng: &mut SplitMix64) -> Case {
        let expr = scheme(rng);
        let page = if expr.contains("cac") || rng.chance(70) {
            4096
        } else {
            rng.pick(&[512, 2048, 8192, 65536])
        };
        let config = |page: u64| Config::new(4096, (page / 512) as u32);
        // A size in bytes can be too small for a large page.
        let page = match config(page).check(&expr) {
            Ok(()) => page,
            Err(_) => 4096,
        };
        let least = least_capacity(&expr, &config(page));
        let more = rng.pick(&[1, 6, 25, 200]);
        let mut case = Case {
            requests: requests::draw(rng, expr.contains("cac")),
            frames: u64::from(least) + rng.below(more),
            scheme: expr.to_string(),
            page,
            device: rng.chance(55).then(|| device::draw(rng, page)),
            options: Vec::new(),
            seed: rng.next_u64(),
        };
        case.options = options(rng, &case);
        case.fit_to_device(rng);
        case
    }

    /// The words behind `destage` for a run over the file `trace`.
    pub fn run(&self, trace: &str) -> Vec<String> {
        let mut words = option(&format!("run {trace}"));
        words.extend(["--scheme".to_owned(), self.scheme.clone()]);
        words.extend(option(&format!("--cache {}", self.cache(1))));
        match &self.device {
            None => words.extend(option(&format!("--page {}B", self.page))),
            Some(sets) => {
                words.extend(option("--device default"));
                let sets = sets
                    .iter()
                    .flat_map(|set| ["--set".to_owned(), set.clone()]);
                words.extend(sets);
            }
        }
        words.extend(self.options.iter().flatten().cloned());
        words
    }

    /// The size of a cache of so many times the pages.
    pub fn cache(&self, times: u64) -> String {
        format!("{}B", self.frames * self.page * times)
    }

    /// The expression.
    ///
    /// # Panics
    /// The case has none that is legal, which nobody makes.
    pub fn expr(&self) -> Expr {
        Expr::parse(&self.scheme).unwrap_or_else(|refusal| panic!("{refusal}"))
    }

    /// May a request wait at the host's side of the device, for a frame of a bounded buffer, or for its own preflush?
    pub fn may_wait(&self) -> bool {
        let device = self.device.as_deref().and_then(device::legal);
        let waits = |d: &DeviceConfig| d.is_bounded() || d.host_side_key().is_some();
        let preflush = |r: &Request| r.host.flags.any(RequestFlags::PREFLUSH);
        self.has("--queue-depth")
            || self.device.is_some() && self.requests.iter().any(preflush)
            || device.is_some_and(|device| waits(device.config()))
    }

    /// Is this option given?
    pub fn has(&self, name: &str) -> bool {
        self.options.iter().any(|option| option[0] == name)
    }

    /// Takes these options away.
    pub fn without(&mut self, names: &[&str]) {
        self.options.retain(|option| !names.contains(&&*option[0]));
    }

    /// Takes the device away, and all that needs one.
    pub fn no_device(&mut self) {
        self.device = None;
        let needs = [
            "--closed-loop",
            "--queue-depth",
            "--wrap",
            "--fit",
            "--unbalance",
        ];
        self.without(&needs);
    }

    /// Gives a bounded buffer a scheme, a size and options that it takes.
    pub fn fit_to_device(&mut self, rng: &mut SplitMix64) {
        let device = self.device.as_deref().and_then(device::legal);
        let Some(device) = device.filter(|device| device.config().is_bounded()) else {
            return;
        };
        let unit = u64::from(device.config().shape().unit());
        let schemes = [
            "lru",
            "fifo",
            "drain(lru)",
            "drain(fifo,low=0.25,high=0.75)",
            "drain(lru,depth=1)",
        ];
        self.scheme = rng.pick(&schemes).to_owned();
        self.frames = unit + rng.below(4 * unit);
        self.without(&["--read-alloc"]);
        self.options.push(option("--read-alloc off"));
    }

    /// Takes away what curves refuse; they are without a device.
    pub fn for_curve(&mut self) {
        self.no_device();
        self.without(&[
            "--charge-metadata",
            "--flush-at-end",
            "--hits-by-size",
            "--host-fs",
            "--time-scale",
        ]);
    }

    /// Lets the trace come through a model of a file system.
    pub fn through_file_system(&mut self, rng: &mut SplitMix64) {
        self.without(&["--host-fs"]);
        let model = option(&format!("--host-fs {}", rng.pick(&HOST_FS)));
        self.options.push(model);
    }

    /// The same with one option more.
    pub fn with(&self, text: &str) -> Case {
        let mut case = self.clone();
        case.options.push(option(text));
        case
    }

    /// The same with one setting of the device changed.
    pub fn set(&mut self, setting: &str) {
        let key = setting.split('=').next().unwrap_or_default();
        if let Some(sets) = &mut self.device {
            sets.retain(|s| s.split('=').next() != Some(key));
            sets.push(setting.to_owned());
        }
    }
}

/// Any legal composition, with random parameters or without.
fn scheme(rng: &mut SplitMix64) -> Expr {
    let all = compositions();
    let mut shape = &all[rng.below(all.len() as u64) as usize];
    // Most compositions are deep; half of the cases are a policy, or one in one layer.
    while rng.chance(50) && shape.chain().count() > 2 {
        shape = &all[rng.below(all.len() as u64) as usize];
    }
    if rng.chance(70) {
        random(shape, rng)
    } else {
        shape.clone()
    }
}

const ANYWHERE: [&str; 18] = [
    "--warmup 1",
    "--warmup 10",
    "--warmup 37.5%",
    "--warmup passes=1",
    "--limit 1",
    "--limit 50",
    "--read-alloc on",
    "--read-alloc off",
    "--read-fill requested",
    "--charge-metadata",
    "--flush-at-end",
    "--hits-by-size",
    "--time-scale 0.37",
    "--seed 7",
    "--tags data,node,none",
    "--volumes overlay",
    "--jobs 1",
    "--trace-memory 2KiB",
];

const WITH_DEVICE: [&str; 9] = [
    "--time-scale 1000",
    "--closed-loop 1",
    "--closed-loop 7",
    "--closed-loop 90",
    "--closed-loop 1000000",
    "--queue-depth 1",
    "--queue-depth 7",
    "--unbalance",
    "--fit",
];

const HOST_FS: [&str; 7] = [
    "inplace",
    "lfs(segment=4,fill=0.5)",
    "lfs(segment=8,reserve=2,logs=1,clean=cost-benefit,trim=sync)",
    "lfs(segment=2,section=2,logs=6,ssr=off,trim=idle)",
    "f2fs(segment=8,fill=0.7,ipu-policy=force)",
    "f2fs(segment=4,alloc=lowest,nodes=on,node-pairs=off)",
    "f2fs(segment=16,ipu=0.5,nodes=checkpoint,checkpoint=1s,prealloc=on)",
];

/// Options that go together; a device that is smaller than the trace gets one more.
fn options(rng: &mut SplitMix64, case: &Case) -> Vec<Vec<String>> {
    let percent = rng.pick(&[0, 4, 15]);
    let mut options: Vec<Vec<String>> = Vec::new();
    let mut add = |text: &str| {
        let words = option(text);
        if !options.iter().any(|given| given[0] == words[0]) {
            options.push(words);
        }
    };
    for text in ANYWHERE.iter().filter(|_| rng.chance(percent)) {
        add(text);
    }
    if rng.chance(6) {
        add(&format!("--host-fs {}", rng.pick(&HOST_FS)));
    }
    let Some(sets) = &case.device else {
        return options;
    };
    for text in WITH_DEVICE.iter().filter(|_| rng.chance(percent)) {
        add(text);
    }
    let logical = device::legal(sets).map_or(0, |d| d.config().logical_pages());
    if requests::end(&case.requests) * 512 > logical * case.page {
        add("--wrap");
    }
    let given = |name: &str| options.iter().any(|option| option[0] == name);
    // The command line refuses these pairs.
    let (closed, wrap) = (given("--closed-loop"), given("--wrap"));
    let refused = |name: &str| match name {
        "--time-scale" | "--queue-depth" => closed,
        "--fit" => wrap,
        _ => false,
    };
    options.retain(|option| !refused(&option[0]));
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_a_case() {
        let draw = |seed| Case::draw(&mut SplitMix64::new(seed)).run("trace.csv");
        assert_eq!(draw(5), draw(5));
        assert_ne!(draw(5), draw(6));
    }

    #[test]
    fn words_of_a_case() {
        let mut case = Case {
            requests: Vec::new(),
            scheme: "cac(lru)".to_owned(),
            frames: 3,
            page: 4096,
            device: Some(option("channels=1 op=0.5")),
            options: vec![option("--warmup 10"), option("--fit")],
            seed: 1,
        };
        case.set("op=0.7");
        assert_eq!(
            case.run("t").join(" "),
            "run t --scheme cac(lru) --cache 12288B --device default --set channels=1 \
             --set op=0.7 --warmup 10 --fit"
        );
        case.no_device();
        let words = case.with("--limit 3").run("t").join(" ");
        assert_eq!(
            words,
            "run t --scheme cac(lru) --cache 12288B --page 4096B --warmup 10 --limit 3"
        );
    }
}
