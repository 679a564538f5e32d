//! `serve --ui`: figures and a page while the server runs.

use crate::browser::{LISTEN, browser, dumped};
use crate::common::Bench;
use crate::serve::{Client, READ, WRITE, stop};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A server with a live page, and its address and port.
fn serve(bench: &Bench, options: &str) -> (Child, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_destage"))
        .args(["serve", "--ui", "127.0.0.1:0"])
        .args(options.split_whitespace())
        .current_dir(bench.dir.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stderr.as_mut().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    let (_, url) = line.trim().split_once("http://").expect(&line);
    let address = url.trim_end_matches('/').to_owned();
    (child, address)
}

/// The whole answer of the server to `request`.
fn raw(address: &str, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    // It may have answered and closed before all is sent.
    let _ = stream.write_all(request);
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    String::from_utf8(bytes).unwrap()
}

fn get(address: &str, path: &str) -> String {
    let reply = raw(
        address,
        format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes(),
    );
    let (head, body) = reply.split_once("\r\n\r\n").expect(&reply);
    assert!(head.starts_with("HTTP/1.1 200"), "{path}: {head}");
    body.to_owned()
}

const SHADOWED: &str = "socket = 's'\ncontrol = 'c'\nno-delay = true\ncache = '1MiB'\n[[export]]\n\
    name = 'disk'\nscheme = 'req-block'\n[[export.shadow]]\nscheme = 'lru'\n[[export]]\nname = 'other'\n";

fn work(bench: &Bench, rounds: u64) {
    let mut client = Client::of(&bench.path("s"), "disk");
    for i in 0..rounds {
        client.request(WRITE, (i % 600) << 12, 4096, &[1; 4096]);
        client.request(READ, (i * 7 % 600) << 12, 4096, &[]);
    }
}

#[test]
fn figures_are_told_to_programs() {
    let bench = Bench::new();
    bench.file("two.toml", SHADOWED);
    let (child, address) = serve(&bench, "--config two.toml");
    work(&bench, 500);
    std::thread::sleep(Duration::from_millis(1_500));
    let stats: Value = serde_json::from_str(&get(&address, "/stats")).unwrap();
    let disk = &stats["exports"][0];
    assert_eq!(disk["latest"]["figures"]["requests"], 1_000);
    assert_eq!(disk["latest"]["shadows"][0]["figures"]["requests"], 1_000);
    let intervals = disk["intervals"].as_array().unwrap();
    let served: u64 = intervals
        .iter()
        .map(|i| i["requests"].as_u64().unwrap_or(0))
        .sum();
    assert_eq!(served, 1_000, "intervals add up");
    let told = bench.json("ctl --control c --export disk stats");
    let counts = &told["exports"][0]["record"]["counts"];
    let figures = &disk["latest"]["figures"];
    let metrics = get(&address, "/metrics");
    let mut counters = 0;
    for (name, value) in counts.as_object().unwrap() {
        assert_eq!(figures[name], *value, "{name}");
        if destage_record::COUNTERS.iter().any(|one| one.name == name) {
            let labels = "export=\"disk\",shadow=\"\",scheme=\"req-block\"";
            let line = format!("destage_{name}_total{{{labels}}} {value}");
            assert!(metrics.lines().any(|l| l == line), "{line}");
            counters += 1;
        }
    }
    assert!(counters > 40, "{counters}");
    for line in [
        "destage_requests_total{export=\"disk\",shadow=\"\",scheme=\"req-block\"} 1000",
        "destage_requests_total{export=\"disk\",shadow=\"1\",scheme=\"lru\"} 1000",
        "destage_requests_total{export=\"other\",shadow=\"\",scheme=\"lru\"} 0",
        "destage_response_seconds_count{export=\"disk\",op=\"read\"} 500",
        "destage_shadow_lost_requests_total{export=\"disk\",shadow=\"1\"} 0",
        "# TYPE destage_response_seconds histogram",
    ] {
        assert!(
            metrics.lines().any(|l| l == line),
            "no `{line}` in\n{metrics}"
        );
    }
    assert!(metrics.ends_with("# EOF\n"));
    assert!(
        metrics.contains("list=\"drl_pages\"") && metrics.contains("chip=\"0\""),
        "{metrics}"
    );
    stop(child);
}

#[test]
fn hostile_requests_leave_exports_alone() {
    let bench = Bench::new();
    let (child, address) = serve(&bench, "--socket s --name disk --no-delay");
    let long = format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(20_000));
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "X: y\r\n".repeat(70));
    let cases: [(&[u8], &str); 9] = [
        (
            b"GET /stats HTTP/1.1\r\nHost: evil.example:9100\r\n\r\n",
            "421",
        ),
        (b"GET / HTTP/1.1\r\nHost: localhost:9100\r\n\r\n", "200"),
        (b"GET /etc/passwd HTTP/1.1\r\n\r\n", "404"),
        (b"GET /../../etc/passwd HTTP/1.1\r\n\r\n", "404"),
        (b"POST /stats HTTP/1.1\r\nContent-Length: 9\r\n\r\n", "405"),
        (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", "400"),
        (b"GET / HTTP/9.9\r\n\r\n", "400"),
        (many.as_bytes(), "431"),
        (b"HEAD / HTTP/1.1\r\n\r\n", "200"),
    ];
    for (request, status) in cases {
        let reply = raw(&address, request);
        assert!(
            reply.starts_with(&format!("HTTP/1.1 {status}")),
            "{status}: {reply:.80}"
        );
    }
    assert!(!raw(&address, long.as_bytes()).starts_with("HTTP/1.1 200"));
    let head = raw(&address, b"HEAD / HTTP/1.1\r\n\r\n");
    assert!(head.ends_with("\r\n\r\n"), "no body: {head:.300}");
    let silent: Vec<TcpStream> = (0..40)
        .map(|_| TcpStream::connect(&address).unwrap())
        .collect();
    work(&bench, 20);
    drop(silent);
    // A guest that goes makes room, at once or soon.
    let stats = (0..100).find_map(|_| {
        std::thread::sleep(Duration::from_millis(100));
        let reply = raw(&address, b"GET /stats HTTP/1.1\r\n\r\n");
        reply.starts_with("HTTP/1.1 200").then_some(reply)
    });
    assert!(stats.unwrap().contains("\"disk\""));
    stop(child);
}

#[test]
fn other_machines_see_nothing_unless_they_may() {
    let bench = Bench::new();
    bench.refuses(
        "
        serve --socket s --ui 192.0.2.1:0 | --ui-public
        serve --socket s --ui 0.0.0.0:0 | --ui-public
        serve --socket s --ui-public | --ui
        serve --socket s --ui 192.0.2.1:0 --ui-public | 192.0.2.1:0
        serve --socket s --ui here | here
        ",
    );
}

/// Tells what is there after some seconds.
const LOOK: &str = "<script>
setTimeout(() => {
  const charts = [...document.querySelectorAll('figure')].map((figure) => {
    const canvas = figure.querySelector('canvas');
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    let marks = 0;
    for (let i = 0; i < data.length; i += 4) {
      const [low, high] = [Math.min(data[i], data[i + 1], data[i + 2]), Math.max(data[i], data[i + 1], data[i + 2])];
      if (high - low > 60 && data[i + 3] > 200) marks++;
    }
    return { title: figure.querySelector('h2').textContent, marks,
      beyond: figure.querySelector('.uplot').offsetWidth - figure.clientWidth,
      label: figure.querySelector('.plot').getAttribute('aria-label') };
  });
  const text = (id) => document.getElementById(id).textContent;
  parent.postMessage(JSON.stringify({ charts, faults, state: text('state'), totals: text('totals'),
    about: text('about'), width: document.documentElement.scrollWidth,
    choices: document.getElementById('export').options.length,
    rows: document.querySelectorAll('#shadows tbody tr').length }), '*');
}, 5000);
</script>";

/// Stands between a browser and the server: puts [`LISTEN`] and [`LOOK`] into the page, frames it, and notes
/// what is asked for.
fn between(server: String) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut line = String::new();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let _ = reader.read_line(&mut line);
            let Some(path) = line.split(' ').nth(1).map(str::to_owned) else {
                continue;
            };
            // Nothing may be left unread when it closes.
            while reader.read_line(&mut line).is_ok_and(|n| n > 2) {}
            let reply = match path.strip_prefix("/frame?") {
                Some(width) => format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n\
                     <link rel=\"icon\" href=\"data:,\"><pre id=\"told\"></pre><iframe src=\"/\" style=\"border:0;width:{width}px;height:900px\">\
                     </iframe><script>onmessage = (e) => {{ told.textContent = e.data; }};</script>"
                ),
                None => {
                    noted.lock().unwrap().push(path.clone());
                    let reply = raw(&server, format!("GET {path} HTTP/1.1\r\n\r\n").as_bytes());
                    let (head, body) = reply.split_once("\r\n\r\n").unwrap();
                    let lines = head.lines().filter(|l| !l.starts_with("Content-Length"));
                    let head: String = lines.map(|line| format!("{line}\r\n")).collect();
                    let body = body
                        .replacen("<head>", &format!("<head>{LISTEN}"), 1)
                        .replacen("</body>", &format!("{LOOK}</body>"), 1);
                    format!("{head}\r\n{body}")
                }
            };
            let _ = stream.write_all(reply.as_bytes());
        }
    });
    (address, asked)
}

#[test]
fn the_page_draws_what_happens() {
    let Some(program) = browser() else {
        eprintln!("SKIPPED: no browser, so nobody has looked at the live page");
        return;
    };
    let bench = Bench::new();
    bench.file("two.toml", SHADOWED);
    let (child, address) = serve(&bench, "--config two.toml");
    let (proxy, asked) = between(address);
    for _ in 0..8 {
        work(&bench, 400);
        std::thread::sleep(Duration::from_millis(400));
    }
    for width in [1280_u64, 390] {
        let page = format!("http://{proxy}/frame?{width}");
        let text = dumped(&program, bench.dir.path(), &page);
        let told = text.split_once("<pre id=\"told\">").unwrap().1;
        let told = told.split_once("</pre>").unwrap().0.replace("&amp;", "&");
        let seen: Value = serde_json::from_str(&told).unwrap_or_else(|e| panic!("{e}: {text}"));
        assert_eq!(seen["faults"], Value::Array(Vec::new()), "{width}");
        assert_eq!(seen["state"], "live");
        assert!(
            seen["width"].as_u64().unwrap() <= width,
            "{width}: {}",
            seen["width"]
        );
        assert_eq!((&seen["choices"], &seen["rows"]), (&2.into(), &2.into()));
        assert!(
            seen["totals"].as_str().unwrap().contains("requests6,400"),
            "{}",
            seen["totals"]
        );
        assert!(
            seen["about"]
                .as_str()
                .unwrap()
                .contains("req-block with 1MiB")
        );
        let charts = seen["charts"].as_array().unwrap();
        assert_eq!(charts.len(), 8);
        for chart in charts {
            assert!(
                chart["marks"].as_u64() > Some(20),
                "{width}: nothing drawn: {chart}"
            );
            assert!(
                chart["beyond"].as_i64() <= Some(0),
                "{width}: too wide: {chart}"
            );
            assert!(
                chart["label"].as_str().unwrap().contains("over time"),
                "{chart}"
            );
        }
    }
    // The page asks for its figures, and for nothing else.
    let asked = asked.lock().unwrap();
    assert!(
        asked.len() > 4 && asked.iter().all(|p| p == "/" || p == "/stats"),
        "{asked:?}"
    );
    stop(child);
}

#[test]
fn the_script_that_draws_is_the_one_that_was_published() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../live/vendor/uplot");
    let readme = std::fs::read_to_string(folder.join("README.md")).unwrap();
    for file in ["uPlot.iife.min.js", "uPlot.min.css"] {
        let bytes = std::fs::read(folder.join(file)).unwrap();
        let sum: String = Sha256::digest(&bytes)
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect();
        assert!(readme.contains(&sum), "{file}: {sum}");
    }
    let licence = std::fs::read_to_string(folder.join("LICENSE")).unwrap();
    assert!(licence.contains("MIT License"));
}
