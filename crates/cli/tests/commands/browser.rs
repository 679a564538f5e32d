//! Reports in a browser without a window.

use crate::common::Bench;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Names of the program in distributions.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// The browser, if one is installed.
pub fn browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let places = folders.iter().flat_map(|f| NAMES.map(|name| f.join(name)));
    places.into_iter().find(|place| place.is_file())
}

/// Hears of everything that goes wrong, from the first line of the page on.
pub const LISTEN: &str = "<script>
const faults = [];
addEventListener('error', (e) => faults.push(String(e.message)));
addEventListener('unhandledrejection', (e) => faults.push(String(e.reason)));
addEventListener('securitypolicyviolation', (e) => faults.push('asks for ' + e.blockedURI));
for (const kind of ['error', 'warn']) console[kind] = (...all) => faults.push(all.join(' '));
</script>";

/// Uses everything once all is drawn, and tells what is there.
const LOOK: &str = "<script>
const told = (figure) => {
  const plot = figure.querySelector('.plot'), drawn = echarts.getInstanceByDom(plot);
  const values = drawn ? drawn.getModel().getSeries().map((s) => s.getData().count()) : [];
  return {
    title: figure.querySelector('h3').textContent,
    marks: drawn ? values.reduce((a, b) => a + b, 0) : plot.querySelectorAll('td').length,
    shapes: plot.querySelectorAll('svg path, svg rect, svg circle, td').length,
    beyond: Math.max(0, ...[...plot.querySelectorAll('svg')].map((s) => s.clientWidth - plot.clientWidth)),
    label: plot.getAttribute('aria-label'),
    savable: figure.querySelectorAll('.save button').length === 2,
  };
};
const saved = [];
const addressOf = URL.createObjectURL;
URL.createObjectURL = (blob) => {
  saved.push([blob.type, blob.size]);
  return addressOf(blob);
};
const use = async () => {
  document.querySelectorAll('select').forEach((choice) => {
    choice.selectedIndex = choice.options.length - 1;
    choice.dispatchEvent(new Event('change'));
  });
  document.querySelectorAll('details').forEach((d) => { d.open = true; });
  await new Promise((done) => setTimeout(done, 500));
  // Pictures are saved before other buttons hide all that is in them.
  document.querySelectorAll('.save button').forEach((button) => button.click());
  document.querySelectorAll('button').forEach((button) => button.closest('.save') || button.click());
  await new Promise((done) => setTimeout(done, 5000));
};
setTimeout(async () => {
  const seen = (figure) => !figure.closest('details:not([open])');
  const first = [...document.querySelectorAll('figure')].filter(seen).map(told);
  const width = document.documentElement.scrollWidth, theme = getComputedStyle(document.body).backgroundColor;
  await use();
  parent.postMessage(JSON.stringify({
    saved, charts: first, used: [...document.querySelectorAll('figure')].map(told), width, theme, faults,
    loaded: performance.getEntriesByType('resource').map((e) => e.name),
    tables: document.querySelectorAll('table').length,
    heads: document.querySelectorAll('thead th').length,
    sorted: document.querySelectorAll('th[aria-sort]').length,
    strange: document.querySelectorAll('img, iframe, object, link').length,
  }), '*');
}, 8000);
</script>";

/// The state of the report in frames of so many pixels, light or dark; `None` without a browser.
fn look_at(bench: &Bench, report: &str, views: &[(u32, &str)]) -> Option<Vec<Value>> {
    let Some(program) = browser() else {
        eprintln!(
            "SKIPPED: no browser ({}), so nobody has looked at {report}; Debian's package is `chromium`",
            NAMES.join(", ")
        );
        return None;
    };
    let page = bench.read(report);
    let (head, rest) = page.split_once("<head>").unwrap();
    let (body, end) = rest.rsplit_once("</body>").unwrap();
    bench.file(
        "inner.html",
        format!("{head}<head>{LISTEN}{body}{LOOK}</body>{end}"),
    );
    let views: Vec<(String, u32)> = views
        .iter()
        .map(|(width, theme)| (format!("inner.html#{theme}"), *width))
        .collect();
    Some(posted(&program, bench, &views))
}

/// The JSON that pages of the folder post to the page around them, in frames of so many pixels side by side.
pub fn posted(program: &Path, bench: &Bench, views: &[(String, u32)]) -> Vec<Value> {
    let frames: Vec<String> = views
        .iter()
        .map(|(page, width)| {
            format!(
                "<iframe src=\"{page}\" style=\"border:0;width:{width}px;height:900px\"></iframe>"
            )
        })
        .collect();
    let frame = bench.file(
        "frame.html",
        format!(
            "<pre id=\"told\"></pre><div style=\"white-space:nowrap\">{}</div><script>
             const all = [], frames = [...document.querySelectorAll('iframe')];
             onmessage = (e) => {{
               all[frames.findIndex((one) => one.contentWindow === e.source)] = JSON.parse(e.data);
               told.textContent = JSON.stringify(all);
             }};</script>",
            frames.concat()
        ),
    );
    let address = format!("file://{}", frame.display());
    let text = dumped(program, bench.dir.path(), &address);
    let told = text.split_once("<pre id=\"told\">").unwrap().1;
    let told = told.split_once("</pre>").unwrap().0;
    let told = told
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&");
    let told: Vec<Value> =
        serde_json::from_str(&told).unwrap_or_else(|e| panic!("{views:?}: {e}: {text}"));
    assert_eq!(told.len(), views.len(), "{views:?}: {text}");
    told
}

/// The document of `page`, the address of a page, after a minute of its own time.
///
/// Chromium ends in a few seconds. Once in some hundred starts it never does, so a second one is tried.
pub fn dumped(program: &Path, folder: &Path, page: &str) -> String {
    let document = dumped_within(program, folder, page, Duration::from_secs(120));
    let document =
        document.or_else(|| dumped_within(program, folder, page, Duration::from_secs(300)));
    document.unwrap_or_else(|| panic!("{page}: the browser did not end, twice"))
}

/// As [`dumped`]; `None` if the browser has not ended after `most`.
fn dumped_within(program: &Path, folder: &Path, page: &str, most: Duration) -> Option<String> {
    let profile = tempfile::tempdir_in(folder).unwrap();
    let document = tempfile::NamedTempFile::new_in(folder).unwrap();
    let mut command = Command::new(program);
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--window-size=1800,1000",
    ]);
    command.args([
        "--virtual-time-budget=60000",
        "--dump-dom",
        "--no-first-run",
    ]);
    command.arg(format!("--user-data-dir={}", profile.path().display()));
    command.arg(page).stderr(Stdio::null());
    command.stdout(document.reopen().unwrap());
    let mut browser = command.spawn().unwrap();
    let begin = Instant::now();
    loop {
        if let Some(status) = browser.try_wait().unwrap() {
            assert!(status.success(), "{page}: {status}");
            return Some(std::fs::read_to_string(document.path()).unwrap());
        }
        if begin.elapsed() > most {
            browser.kill().unwrap();
            browser.wait().unwrap();
            return None;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Everything is drawn and nothing goes wrong, at any width and in any theme.
#[track_caller]
pub fn assert_shown(bench: &Bench, report: &str, titles: &[&str]) {
    let mut themes = Vec::new();
    let views = [(1280, "light"), (390, "dark")];
    let Some(all) = look_at(bench, report, &views) else {
        return;
    };
    for (seen, (width, _)) in all.iter().zip(views) {
        assert_eq!(seen["faults"], Value::Array(Vec::new()), "{report}");
        assert_eq!(
            seen["loaded"],
            Value::Array(Vec::new()),
            "{report}: nothing is asked for"
        );
        assert_eq!(seen["strange"], 0, "{report}");
        assert!(
            seen["width"].as_u64().unwrap() <= u64::from(width),
            "{report}: {}",
            seen["width"]
        );
        let charts = seen["charts"].as_array().unwrap();
        for chart in charts.iter().chain(seen["used"].as_array().unwrap()) {
            assert!(
                chart["marks"].as_u64() > Some(0),
                "{report}: nothing drawn: {chart}"
            );
            assert!(
                chart["shapes"].as_u64() > Some(0),
                "{report}: nothing drawn: {chart}"
            );
            assert_eq!(
                chart["beyond"], 0,
                "{report}: wider than its place: {chart}"
            );
            assert!(
                !chart["label"].as_str().unwrap_or_default().is_empty(),
                "{chart}"
            );
        }
        assert!(!charts.is_empty(), "{report}: all is folded");
        let used = seen["used"].as_array().unwrap();
        assert_saved(&seen["saved"], used);
        for title in titles {
            assert!(
                used.iter().any(|c| c["title"] == *title),
                "{report}: no chart {title}"
            );
        }
        assert!(
            seen["sorted"].as_u64() > Some(0),
            "{report}: no table is sorted"
        );
        themes.push(seen["theme"].clone());
    }
    assert_ne!(themes[0], themes[1], "{report}: light is not dark");
}

/// Each chart but maps of chips was saved in both forms, and something is in each picture.
#[track_caller]
fn assert_saved(saved: &Value, used: &[Value]) {
    let saved = saved.as_array().unwrap();
    for form in ["image/svg+xml", "image/png"] {
        let sizes = saved.iter().filter(|s| s[0] == form);
        let sizes: Vec<u64> = sizes.map(|s| s[1].as_u64().unwrap()).collect();
        let drawn = used.iter().filter(|c| c["savable"] == true).count();
        assert_eq!(sizes.len(), drawn, "{form}: {saved:?}");
        assert!(sizes.iter().all(|&size| size > 2000), "{form}: {sizes:?}");
    }
}
