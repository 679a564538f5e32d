use super::*;
use std::cell::{Cell, RefCell};

thread_local! {
    static FILE: RefCell<io::Cursor<Vec<u8>>> = RefCell::default();
    static TOLD: Cell<(u64, u64)> = Cell::default();
}

fn engine() -> PageEngine {
    PageEngine::new(PageHost {
        // In small pieces, as a reader must not count on large ones.
        read: |buffer| FILE.with_borrow_mut(|file| file.by_ref().take(1000).read(buffer)),
        reading: |_| {},
        preparing: |done, all| TOLD.set((done, all)),
        running: |_, _| {},
    })
}

fn file(text: &str) {
    FILE.set(io::Cursor::new(text.as_bytes().to_vec()));
}

fn ask(engine: &mut PageEngine, question: &Value) -> Value {
    let answer: Value = serde_json::from_str(&engine.answer(&question.to_string())).unwrap();
    answer
}

fn answer(engine: &mut PageEngine, question: &Value) -> Value {
    let answer = ask(engine, question);
    assert_eq!(answer["error"], Value::Null, "{question}");
    answer["answer"].clone()
}

/// As many writes of one page, in the format of MSR.
fn trace(requests: u64) -> String {
    let line = |i: u64| {
        let (time, place) = (128_166_372_000_000_000 + 10_000 * i, i * i % 60 * 4096);
        format!("{time},host,0,Write,{place},4096,0\n")
    };
    (0..requests).map(line).collect()
}

#[test]
fn a_trace_is_read_in_pieces_and_run() {
    let mut engine = engine();
    file("abc");
    let hash = answer(&mut engine, &json!({ "ask": "hash" }));
    let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(hash, abc);

    file(&trace(500));
    let read = answer(
        &mut engine,
        &json!({ "ask": "read", "name": "t.csv", "keys": { "limit": 400 } }),
    );
    assert_eq!(read["trace"]["requests"], 400);
    answer(&mut engine, &json!({ "ask": "has-hash", "sha256": abc }));
    let keys = json!({ "scheme": ["lru", "belady"], "cache": ["16KiB", "0.5"] });
    let plan = answer(&mut engine, &json!({ "ask": "plan", "keys": keys }));
    assert_eq!(plan["runs"].as_array().unwrap().len(), 4);
    assert_eq!(
        (&plan["runs"][0]["bound"], &plan["runs"][2]["bound"]),
        (&json!(false), &json!(true))
    );
    let text = &plan["run_file"];
    let again = answer(
        &mut engine,
        &json!({ "ask": "read-run-file", "text": text }),
    );
    assert_eq!(again, keys);
    let run = answer(&mut engine, &json!({ "ask": "run", "number": 1 }));
    let record = &run["record"];
    assert_eq!(
        (&record["scheme"], &record["trace"]["sha256"]),
        (&json!("lru"), &json!(abc))
    );
    let question = json!({ "ask": "answers", "groups": [[run["compared"]], []] });
    let said = answer(&mut engine, &question);
    assert_eq!(said[1], json!([]));
    let hits = &said[0][0];
    assert_eq!(
        (&hits["topic"], &hits["who"]),
        (&json!("hits"), &json!("lru")),
        "{said}"
    );
    let touched = read["trace"]["footprint_bytes"].as_u64().unwrap();
    assert_eq!(
        record["cache_bytes"].as_u64().unwrap(),
        touched / 2 / PAGE * PAGE
    );
}

#[test]
fn a_filled_device_is_prepared_once_and_tells() {
    let mut engine = engine();
    answer(
        &mut engine,
        &json!({ "ask": "sample", "name": "demo", "seed": 1 }),
    );
    let set = [
        "channels=2",
        "chips_per_channel=1",
        "blocks_per_plane=64",
        "precondition={trace=false,fill=1.0,overwrite=0}",
    ];
    let keys = json!({ "scheme": ["lru", "arc"], "device": "default", "set": set, "cache": "1MiB", "limit": 1 });
    let plan = answer(&mut engine, &json!({ "ask": "plan", "keys": keys }));
    assert_eq!(plan["runs"][0]["filled"], true);
    answer(&mut engine, &json!({ "ask": "run", "number": 0 }));
    let (done, all) = TOLD.get();
    assert!(done == all && all > 0, "{done} of {all}");
    TOLD.set((0, 0));
    answer(&mut engine, &json!({ "ask": "run", "number": 1 }));
    assert_eq!(TOLD.get(), (0, 0), "the second run prepares nothing");
}

/// Of any mix of schemes on any drive, those that leave a bounded buffer undrained come with a version that does not.
#[test]
fn drained_versions_are_offered_on_bounded_buffers() {
    let mut engine = engine();
    let schemes = ["lru", "prober(lru)", "drain(fifo)", "s3-fifo"];
    let plan = |engine: &mut PageEngine, device: &str, keys: Value| {
        let mut all = json!({ "device": device, "cache": "8MiB" });
        let keys = keys.as_object().unwrap().clone();
        all.as_object_mut().unwrap().extend(keys);
        answer(engine, &json!({ "ask": "plan", "keys": all }))
    };
    for preset in destage_device::config::presets() {
        let keys = json!({ "scheme": schemes });
        let made = plan(&mut engine, preset.name, keys);
        let runs = made["runs"].as_array().unwrap();
        let drained: Vec<&Value> = runs.iter().map(|run| &run["drained"]).collect();
        let warned = made["warnings"]
            .to_string()
            .contains("without drain a bounded buffer");
        let usual = plan(&mut engine, preset.name, json!({}));
        let usual = usual["runs"][0]["scheme"].as_str().unwrap();
        if warned {
            let marks = "high=0.25,low=0.25";
            let offers = [
                format!("drain(lru,{marks})"),
                format!("drain(prober(lru),{marks})"),
                format!("drain(s3-fifo,{marks})"),
            ];
            // One that drains already is offered nothing.
            let wanted = [&offers[0], &offers[1], "", &offers[2]].map(|one| match one {
                "" => Value::Null,
                one => json!(one),
            });
            assert!(drained.into_iter().eq(&wanted), "{}", preset.name);
            assert_eq!(usual, offers[0], "{}", preset.name);
        } else {
            assert!(drained.iter().all(|one| one.is_null()), "{}", preset.name);
            assert_eq!(usual, "lru", "{}", preset.name);
        }
        let device =
            destage_device::config::EffectiveDevice::from_preset(preset.name, &[]).unwrap();
        assert_eq!(warned, device.config().is_bounded(), "{}", preset.name);
    }
}

#[test]
fn faults_are_those_of_the_command() {
    let mut engine = engine();
    file(&(trace(3) + "128166372000040000,host,0,Wrote,0,4096,0\n"));
    let read = ask(&mut engine, &json!({ "ask": "read", "name": "t.csv" }));
    let fault = read["error"].as_str().unwrap();
    assert!(
        fault.starts_with("t.csv: line 4, column 4") && fault.contains("--skip-bad-lines"),
        "{fault}"
    );
    let plan = ask(
        &mut engine,
        &json!({ "ask": "plan", "keys": { "scheme": "lro" } }),
    );
    assert!(plan["error"].as_str().unwrap().contains("`lru`"), "{plan}");
    let run = ask(&mut engine, &json!({ "ask": "run", "number": 0 }));
    assert_eq!(run["error"], "there is no plan");
    assert!(ask(&mut engine, &json!({ "ask": "dance" }))["error"].is_string());
    // A trace of one volume is not split.
    file(&trace(3));
    let split = json!({ "ask": "read", "name": "t.csv", "keys": { "volumes": "split" } });
    answer(&mut engine, &split);
    let two = trace(3).replace("host,0,Write,4096", "host,1,Write,4096");
    assert_ne!(two, trace(3));
    file(&two);
    let fault = ask(&mut engine, &split);
    assert!(
        fault["error"].as_str().unwrap().contains("one at a time"),
        "{fault}"
    );
}

/// A table that is no format's: the page shows its columns, makes a mapping of them, and reads it again.
#[test]
fn a_table_is_read_as_its_form_says() {
    let mut engine = engine();
    let text = "x;kind;where;much\n0,5;0;8;8\n0,75;1;16;8\n1,5;1;0;16\n";
    let about = |engine: &mut PageEngine, what: &str, keys: Value| {
        file(text);
        let question = json!({ "ask": what, "name": "t.txt", "keys": keys });
        ask(engine, &question)
    };
    let read = about(&mut engine, "read", json!({}));
    assert!(
        read["error"]
            .as_str()
            .unwrap()
            .contains("no known trace format fits"),
        "{read}"
    );
    let table = about(&mut engine, "table", json!({}));
    let table = &table["answer"];
    assert_eq!(
        (&table["format"], &table["mapping"]),
        (
            &Value::Null,
            &json!("op=kind,separator=semicolon,header=yes,decimal=comma")
        )
    );
    let fault = table["fault"].as_str().unwrap();
    assert!(
        fault.contains("no column is known as offset, size; its columns: x, kind, where, much"),
        "{fault}"
    );
    let columns: Vec<&Value> = table["columns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| &c["text"])
        .collect();
    assert_eq!(columns, ["x", "kind", "where", "much"]);
    let mapping = "time=x:s,op=kind:0=R,1=W,offset=where:sectors,size=much:sectors,separator=semicolon,decimal=comma";
    let keys = json!({ "trace-columns": mapping });
    let table = about(&mut engine, "table", keys.clone());
    assert_eq!(table["answer"]["fault"], Value::Null, "{table}");
    let read = about(&mut engine, "read", keys.clone());
    let trace = &read["answer"]["trace"];
    assert_eq!(
        (&trace["requests"], &trace["writes"], &trace["doubted"]),
        (&json!(3), &json!(2), &json!(false)),
        "{read}"
    );
    // The run file keeps the mapping, and the command takes it from there.
    let plan = answer(&mut engine, &json!({ "ask": "plan", "keys": keys }));
    assert!(plan["run_file"].as_str().unwrap().contains(mapping));
    // A mapping that cannot be read says what is allowed, as the command does.
    let wrong = about(&mut engine, "table", json!({ "trace-columns": "time=x:h" }));
    assert!(
        wrong["error"]
            .as_str()
            .unwrap()
            .contains("`h` is none of the units"),
        "{wrong}"
    );
    let all = answer(&mut engine, &json!({ "ask": "catalogue" }))["reading_keys"].clone();
    for key in ["trace-columns", "restarts", "time-unit", "skip-bad-lines"] {
        assert!(all.as_array().unwrap().contains(&json!(key)), "{key}");
    }
}
