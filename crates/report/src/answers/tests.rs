//! Whatever is compared, in whatever order: nobody is named who is beaten, and ties are told.

use super::*;
use destage_types::rng::SplitMix64;

fn run(scheme: &str, hits: f64, mean_ns: f64, flash: [f64; 2]) -> ComparedRun {
    ComparedRun {
        scheme: scheme.to_owned(),
        bound: false,
        reading: Some((true, "page".to_owned())),
        hits: Some(hits),
        mean_ns: Some(mean_ns),
        p99_ns: None,
        flash_bytes: (flash[0] + flash[1]) * 4096.0,
        left_bytes: flash[1] * 4096.0,
    }
}

fn said(runs: &[ComparedRun], topic: Topic) -> Vec<String> {
    let of_topic = answers(runs).into_iter().filter(|a| a.topic == topic);
    of_topic.map(|answer| answer.to_string()).collect()
}

#[test]
fn pages_that_are_left_are_flash_writes() {
    let runs = [
        run("lru", 0.5, 2e6, [0.0, 1743.0]),
        run("drain(lru)", 0.5, 1e6, [1500.0, 0.0]),
    ];
    assert_eq!(
        said(&runs, Topic::Flash),
        ["drain(lru) writes least to flash: 5.9 MiB, 13.9 % less than lru."]
    );
    assert_eq!(
        said(&runs[..1], Topic::Flash),
        ["lru writes 6.8 MiB to flash; 6.8 MiB of it are still in the cache."]
    );
    assert_eq!(
        said(&runs, Topic::Hits),
        ["Both schemes hit equally often: 50.00 % of all pages."]
    );
    assert_eq!(
        said(&runs, Topic::Response),
        ["drain(lru) answers fastest: in 1.000 ms on average, lru in 2.000 ms."]
    );
}

#[test]
fn hits_are_compared_among_runs_that_read_alike() {
    let off = |scheme: &str, hits: f64| ComparedRun {
        reading: Some((false, "page".to_owned())),
        ..run(scheme, hits, 1e6, [1.0, 0.0])
    };
    let mut runs = vec![
        run("lru", 0.3, 1e6, [1.0, 0.0]),
        run("arc", 0.302, 1e6, [1.0, 0.0]),
        off("prober(lru)", 0.4),
    ];
    assert_eq!(
        said(&runs, Topic::Hits),
        [
            "arc hits most: 30.20 % of all pages with read allocation, only 0.20 points more than lru (30.00 %).",
            "prober(lru) hits 40.00 % of all pages without read allocation. Hit ratios of different readings do \
             not compare."
        ]
    );
    runs.truncate(2);
    runs.iter_mut().for_each(|run| run.hits = Some(0.0005));
    assert_eq!(
        said(&runs, Topic::Hits),
        [
            "No scheme hits more than one page in a thousand: the trace hardly ever comes back to a page in time."
        ]
    );
    runs[1].hits = Some(0.0049);
    assert!(said(&runs, Topic::Hits)[0].starts_with("arc hits most: 0.49 %"));
}

/// A set of runs in which ties are frequent.
fn drawn(draw: &mut dyn FnMut(u64) -> u64) -> Vec<ComparedRun> {
    let names = [
        "lru",
        "arc",
        "2q",
        "cac(lru)",
        "req-block",
        "none",
        "belady",
    ];
    let few = |draw: &mut dyn FnMut(u64) -> u64| draw(3) as f64;
    let mut runs: Vec<ComparedRun> = Vec::new();
    for _ in 0..1 + draw(8) {
        let scheme = names[draw(7) as usize];
        let alloc = draw(3) > 0;
        let reading = (scheme != "none").then(|| (alloc, "page".to_owned()));
        if runs
            .iter()
            .any(|run| run.scheme == scheme && run.reading == reading)
        {
            continue;
        }
        let small = if draw(4) == 0 { 1e-4 } else { 0.1 };
        let timed = draw(5) > 0;
        let left = few(draw);
        runs.push(ComparedRun {
            bound: scheme == "belady",
            reading,
            hits: (draw(9) > 0).then(|| few(draw) * small),
            mean_ns: timed.then(|| 1e3 + few(draw)),
            p99_ns: timed.then(|| 1e7 * few(draw)),
            ..run(scheme, 0.0, 0.0, [few(draw), left])
        });
    }
    runs
}

#[test]
fn nobody_who_is_beaten_is_named_and_ties_are_told() {
    let mut rng = SplitMix64::new(55);
    let mut draw = |below: u64| rng.next_u64() % below;
    let (mut ties, mut several_readings) = (0, 0);
    for _ in 0..3000 {
        let mut runs = drawn(&mut draw);
        let found = answers(&runs);
        for i in (1..runs.len()).rev() {
            runs.swap(i, draw(i as u64 + 1) as usize);
        }
        assert_eq!(answers(&runs), found, "the order says nothing: {runs:?}");
        let contestants: Vec<&ComparedRun> = runs.iter().filter(|run| !run.bound).collect();
        several_readings +=
            usize::from(found.iter().filter(|a| a.topic == Topic::Hits).count() > 1);
        for answer in found {
            // Of one sentence, all schemes named read alike where hits are spoken of.
            let named = |run: &&&ComparedRun| answer.schemes.contains(&name(run, &contestants));
            let best: Vec<&&ComparedRun> = contestants.iter().filter(named).collect();
            let value = |run: &ComparedRun| answer.topic.value(run);
            let Some(top) = best.first().and_then(|run| value(run)) else {
                assert!(answer.who.starts_with("No scheme"), "{answer}");
                continue;
            };
            let rivals = contestants
                .iter()
                .filter(|run| answer.topic != Topic::Hits || run.reading == best[0].reading);
            for rival in rivals {
                let Some(other) = value(rival) else { continue };
                assert!(!answer.topic.beats(other, top), "{answer} {rival:?}");
                let is_named = answer.schemes.contains(&name(rival, &contestants));
                assert_eq!(other == top, is_named, "{answer} {rival:?}");
            }
            if answer.schemes.len() > 1 {
                ties += 1;
                let text = answer.to_string();
                let counted = ["Both schemes", "All ", " others"]
                    .iter()
                    .any(|word| text.contains(word));
                let all_named = answer
                    .schemes
                    .iter()
                    .all(|name| text.contains(name.as_str()));
                assert!(counted || all_named, "{text}");
            }
        }
    }
    assert!(
        ties > 500 && several_readings > 500,
        "{ties} {several_readings}"
    );
}
