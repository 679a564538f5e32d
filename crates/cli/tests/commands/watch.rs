//! `destage watch`: scenes of runs, as JSON and as one page.

use crate::common::{Bench, mixed};
use serde_json::Value;

fn scenes(bench: &Bench, name: &str) -> Vec<Value> {
    let file: Value = serde_json::from_str(&bench.read(name)).unwrap();
    assert_eq!(file["format"], "destage-scenes-1");
    file["scenes"].as_array().unwrap().clone()
}

#[test]
fn scenes_have_the_figures_of_the_table() {
    let bench = Bench::with(mixed(3000));
    let options = "--device classroom-128m --cache 256KiB --scheme lru,prober(lru)";
    let runs = bench.records(format!("run t.csv {options}"));
    bench
        .destage(format!(
            "watch t.csv {options} --request 1000 --export s.json"
        ))
        .ok();
    let scenes = scenes(&bench, "s.json");
    assert_eq!(scenes.len(), 2);
    for (scene, run) in scenes.iter().zip(&runs) {
        assert_eq!(scene["scheme"], run["scheme"]);
        assert_eq!(scene["run"]["mean_ns"], run["latency_ns"]["all"]["mean"]);
        assert_eq!(scene["run"]["requests"], run["counts"]["requests"]);
        assert_eq!(scene["run"]["erases"], run["counts"]["erases"]);
        let writes = &run["counts"]["flash_writes_host"];
        assert_eq!(&scene["run"]["host_writes"], writes);
        let blocks = scene["start"]["blocks"]["valid"].as_array().unwrap();
        assert_eq!(
            (scene["geometry"]["dies"].as_u64(), blocks.len()),
            (Some(8), 512)
        );
        let is_request = |event: &&Value| event[0] == "request";
        let events = scene["events"].as_array().unwrap();
        assert_eq!(events.iter().filter(is_request).count(), 500);
    }
}

#[test]
fn a_story_is_one_page_that_loads_nothing() {
    let bench = Bench::new();
    bench
        .destage("watch --story ecr-chooses-the-idle-chip --export story.html")
        .ok();
    let page = bench.read("story.html");
    assert!(page.len() < 3_000_000, "{}", page.len());
    for outside in [
        " src=",
        "stylesheet",
        "modulepreload",
        "http://",
        "\nimport ",
        "\nexport ",
    ] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(page.contains("id=\"scenes\" data-encoding=\"gzip-base64\">"));
}

#[test]
fn windows_and_stories_that_are_not_there_are_refused() {
    let bench = Bench::with(mixed(100));
    bench.refuses(
        "
        watch t.csv --request 100 --export s.json       | request 100 is not in the trace, which has requests 0 to 99
        watch t.csv --from 2s --to 1s --export s.json   | begins at 2s and ends at 1s: it is empty
        watch t.csv --from 1000s --export s.json        | begins at 1000s, but the run ends at 0.
        watch t.csv --export s.txt                      | a name ending in .html gets the page
        watch                                           | `destage watch --story why-lru-waits`
        watch t.csv --device none --export s.json       | without a device nothing takes time
        watch t.csv --scheme lru,arc,2q --export s.json | 3 runs: a picture shows one or two
        watch --story why-lru-wait --export s.json      | did you mean `why-lru-waits`?
        watch --story why-lru-waits --from 1s           | cannot be used with
        ",
    );
}
