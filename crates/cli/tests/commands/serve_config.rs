//! `destage serve --config`: several exports of one server.

use crate::common::Bench;
use crate::serve::{Client, READ, WRITE, serve, stop};

const TWO: &str = r#"
socket = "s"
control = "c"
no-delay = true
cache = "1MiB"

[[export]]
name = "plain"

[[export]]
name = "blocks"
scheme = "req-block"
cache = "2MiB"
set = ["t_read=75us"]
backing = "disk"
"#;

#[test]
fn each_export_is_a_device_of_its_own() {
    let bench = Bench::new();
    bench.file("two.toml", TWO);
    let (child, address) = serve(&bench, "--config two.toml");
    assert_eq!(
        address,
        "nbd+unix:///plain?socket=s nbd+unix:///blocks?socket=s"
    );
    let mut plain = Client::of(&bench.path("s"), "plain");
    let mut blocks = Client::of(&bench.path("s"), "blocks");
    plain.request(WRITE, 0, 4096, &[1; 4096]);
    blocks.request(WRITE, 0, 4096, &[2; 4096]);
    blocks.request(WRITE, 4096, 4096, &[2; 4096]);
    assert_eq!(
        plain.request(READ, 0, 8192, &[]),
        [[1; 4096], [0; 4096]].concat()
    );
    let ctl = |order: &str| bench.destage(format!("ctl --control c {order}"));
    let stats = bench.json("ctl --control c stats");
    let records = [
        ("plain", "lru", 1 << 20, 1),
        ("blocks", "req-block", 2 << 20, 2),
    ];
    for (i, (name, scheme, cache, written)) in records.into_iter().enumerate() {
        let export = &stats["exports"][i];
        assert_eq!(export["name"], name);
        assert_eq!(export["record"]["scheme"], scheme);
        assert_eq!(export["record"]["cache_bytes"], cache);
        assert_eq!(export["record"]["counts"]["write_pages"], written);
    }
    // Orders need a name, and mean that export alone.
    ctl("reset").fails(1, &["`plain`, `blocks`"]);
    ctl("--export plain scheme arc").ok();
    ctl("--export blocks power-cut").ok();
    let one = bench.json("ctl --control c --export plain stats");
    assert_eq!(one["exports"][0]["record"]["scheme"], "arc");
    assert_eq!(
        plain.request(READ, 0, 4096, &[]),
        [1; 4096],
        "its power stayed"
    );
    let said = stop(child);
    for part in ["plain", "blocks", "export `plain`", "power cut: 2 pages"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn the_command_line_goes_before_the_file() {
    let bench = Bench::new();
    bench.file(
        "one.toml",
        "socket = \"s\"\nformat-out = \"jsonl\"\n[[export]]\n",
    );
    let options = "--config one.toml --socket t --format-out table";
    let (child, address) = serve(&bench, options);
    assert_eq!(address, "nbd+unix:///?socket=t");
    stop(child);
}

#[test]
fn what_cannot_be_is_refused_with_its_place() {
    let bench = Bench::new();
    bench.refuses_texts(
        "serve --config bad.toml",
        "bad.toml",
        "
        | no [[export]]
        [[export]] | no address to listen on
        socket = 's'; [[export]]; schema = 'lru'
          | bad.toml:3: schema = \"lru\": no option `schema`; did you mean `scheme`?
        sockt = 's'; [[export]] | bad.toml:1: sockt = \"s\": | did you mean `socket`?
        socket = 's'; [[export]]; tcp = '127.0.0.1:0' | bad.toml:3: tcp = | whole server
        socket = 's'; [[export]]; [[export]] | bad.toml:3: two exports have the name ``
        socket = 's'; [[export]]; cache = '1XB' | bad.toml:3: cache = \"1XB\": | 1XB
        socket = 's'; [[export]]; cache = true | bad.toml:3: cache = true
        socket = 's'; [[export]]; read-only = 'yes' | bad.toml:3: read-only = \"yes\": allowed: true, false
        socket = 's'; [[export]]; data = 'disk' | bad.toml:3: | data = \"disk\": allowed: memory, none
        socket = 's'; [[export]]; data = 'none'; backing = 'b' | bad.toml:4: | cannot be used with
        socket = 's'; [[export]]; name = 'a'; backing = 'b'; [[export]]; backing = './b'
          | need a file each
        socket = 's'; [[export]]; scheme = 'belady' | bad.toml:2: | knows the future
        scheme = 'lur'; socket = 's'; [[export]] | bad.toml:1: scheme: cannot compose lur
        socket = 's'; [[export]]; [[export.shadow]]; scheme = 'lur' | bad.toml:4: scheme: cannot compose lur
        socket = 's'; [[export]]; [[export.shadow]]; name = 'x' | bad.toml:4: name = \"x\": | of a shadow
        socket = 's'; [[export]]; shadow = 3 | bad.toml:3: shadow = 3: [[export.shadow]] is expected
        export = 7 | expected a sequence
        [[export | TOML
        ",
    );
    bench.refuses(
        "
        serve --config bad.toml --scheme lru --socket s | --config | cannot be used with
        serve --config nowhere.toml | nowhere.toml
        ",
    );
}
