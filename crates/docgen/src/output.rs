//! `docs/OUTPUT.md`: columns and fields of all outputs, from their declarations.

use destage_report::columns::{resolved, type_word};
use destage_report::figures::{Better, FIGURES};
use destage_report::perfetto::{ARGUMENTS, GROUPS};
use destage_sim::log::{EVICTION_FIELDS, REQUEST_COLUMNS};
use destage_sim::timeline::PURPOSES;
use serde_json::Value;

/// The introduction and the head of the table of `run`.
const HEAD: &str = "\
Every column and field that destage writes. Counts and ratios cover the measured part, after the warm-up. A field
that does not apply to a run is absent; in CSV and Parquet its cell is empty. A ratio without a denominator is
null; in tables it is `-`.

## The table of `run`

Each row has `trace`, `scheme` and `cache`. Where rows differ, columns follow for `run` (the name of the
`[[run]]`), `device`, `page` and `settings`. Then come the figures listed here, the most telling ones first. If the
terminal is too narrow for all of them, a line below the table names the omitted ones. `--columns` chooses figures
by these names, or any field of the result record. `<` marks the best value for a cache size: of hit ratios among runs
with the same read allocation and read fill, of flash writes and write amplification with the dirty pages that are left
in the cache. With several schemes and several sizes, two tables of schemes against sizes follow, for `page-hit` and
`mean`. Measures of `--unbalance`, `--flush-at-end` and `--hits-by-size` have tables of their own below.

| name | heading | field of the record | unit | which runs | better |
|--|--|--|--|--|--|
";

/// What stands between the table and the record.
const ANSWERS: &str = "
## Sentences that answer first

Reports, `destage demo`, the playground and `Results.answers()` of Python say which scheme answers fastest, has the
shortest 99th percentile, hits most, and writes least to flash. The sentences are about runs of one trace, one device and
one cache size. Schemes that know the future take no part.

* Hit ratios are compared among runs with the same read allocation and read fill. If runs differ in that, each way of
  reading has its own sentence.
* Flash traffic is all programs, those of collection, metadata and padding included, and the dirty pages that are left in
  the cache. They are still to be written.
* Schemes with the same value are all named, or two of them and the number of the others.
";

/// The head of the record.
const RECORD: &str = "
## The result record

Each run gives one JSON object (`--format-out jsonl`, or `results.jsonl` of `--out`). Its schema is
[result.schema.json](result.schema.json). CSV and Parquet have the same fields as columns, with `scheme_stats` as
JSON text. CSV omits lists; Parquet has them as JSON text. `[]` stands for each entry of a list. Two executions of
the same run differ only in the fields of `run`. In `results.jsonl` of `run --out`, each line ends with its own
checksum, `run.sha256` ([RELIABILITY.md](RELIABILITY.md)).

| field | type | meaning |
|--|--|--|
";

const SERIES: &str = "
## Series

`--series` writes a row for each interval, as CSV or Parquet. Counters and ratios cover that interval alone.

| column | type | meaning |
|--|--|--|
";

const REQUESTS: &str = "
## Request log

`--log-requests` writes a row for each request, in trace order, as CSV.

| column | meaning |
|--|--|
";

const EVICTIONS: &str = "
## Eviction log

`--log-evictions` writes a JSON object for each eviction, in the order of the evictions.

| field | meaning |
|--|--|
";

const TIMELINE: &str = "
## Timeline

`--timeline` shows why a request waited. Open its file at <https://ui.perfetto.dev>, which reads it in the browser
and uploads nothing, or query it with Perfetto's `trace_processor`.

* Times are simulated and count from the start of the run, as in the request log.
* The window starts at `--timeline-from`, by default at the start of the measured part. It ends at `--timeline-to`,
  by default at the end of the run.
* The file has every request, operation and collection that was queued before the end of the window and ended after
  its start. Each is complete. Values of `waiting` are those of the window alone.
* A timeline takes at most a quarter of `--memory`. If it needs more, the run ends with an error that says how far
  it came.
* The file has no operations of `--flush-at-end`.

| group of tracks | content |
|--|--|
";

/// Names of operations: between tracks and arguments.
const TIMELINE_NAMES: &str = "
Operations of collections are called `GC read`, `GC program`, `GC copyback` and `erase`. All other operations have
the name of the data they read or program. The category is the priority: `host`, `gc`, `background` or
`background gc`.

| name | meaning |
|--|--|
";

const TIMELINE_ARGUMENTS: &str = "
| argument | meaning |
|--|--|
";

const CURVES: &str = "
## Points of curves

`mrc --format-out csv` writes a row for each scheme and cache size; `jsonl` writes an object with the same fields.

| column | when | meaning |
|--|--|--|
";

/// The columns of `mrc`: name, when it is present, meaning.
const CURVE_COLUMNS: &[(&str, &str, &str)] = &[
    ("trace", ALWAYS, "name of the trace"),
    ("scheme", ALWAYS, "canonical scheme expression"),
    ("cache_bytes", ALWAYS, "cache size"),
    ("cache_pages", ALWAYS, "cache size in pages"),
    ("page_bytes", ALWAYS, "page size"),
    (
        "page_hit_ratio",
        ALWAYS,
        "hit pages / accessed pages, 0 to 1",
    ),
    ("page_hit_ratio_low", SAMPLED, INTERVAL),
    ("page_hit_ratio_high", SAMPLED, "end of that interval"),
    ("read_page_hit_ratio", ALWAYS, "hit read pages / read pages"),
    ("read_page_hit_ratio_low", SAMPLED, INTERVAL),
    ("read_page_hit_ratio_high", SAMPLED, "end of that interval"),
    (
        "write_page_hit_ratio",
        ALWAYS,
        "hit written pages / written pages",
    ),
    ("write_page_hit_ratio_low", SAMPLED, INTERVAL),
    ("write_page_hit_ratio_high", SAMPLED, "end of that interval"),
    ("page_accesses", EXACT, "accessed pages"),
    ("page_hits", EXACT, "accessed pages that hit"),
    ("read_pages", EXACT, "pages read"),
    ("read_page_hits", EXACT, "read pages that hit"),
    ("write_pages", EXACT, "pages written"),
    ("write_page_hits", EXACT, "written pages that hit"),
    ("read_requests", EXACT, "read requests"),
    (
        "read_request_hits",
        EXACT,
        "read requests whose pages all hit",
    ),
    ("write_requests", EXACT, "write requests"),
    (
        "write_request_hits",
        EXACT,
        "write requests whose pages all hit",
    ),
    ("flash_writes_host", EXACT, "pages programmed for the host"),
    ("sample_rate", SAMPLED, "share of the pages in the sample"),
    ("sampled_pages", SAMPLED, "pages in the sample"),
    (
        "sampled_accesses",
        SAMPLED,
        "accesses to the pages in the sample",
    ),
    (
        "scaled_cache_pages",
        SAMPLED,
        "pages of the cache that served the sample",
    ),
    (
        "method",
        ALWAYS,
        "`one-pass` (all sizes at once), `run` (a run for this size, also two of a sampled curve) or `sampled`",
    ),
    ("format", ALWAYS, "format as which the trace was read"),
    (
        "time_unit",
        ALWAYS,
        "unit in which its times were read; empty without times",
    ),
];
const WAF: &str = "
## Points of write amplification

`waf --format-out csv` writes a row for each point; `jsonl` and `json` write objects with the same fields.
[WAF.md](WAF.md) says how they are made.

| column | meaning |
|--|--|
";

/// The columns of `waf`.
const WAF_COLUMNS: [(&str, &str); 29] = [
    ("pattern", "`uniform`, `zipf` or `zones`"),
    ("zipf", "exponent of a Zipf pattern, else empty"),
    (
        "zones",
        "shares of space and writes of the zones, else empty",
    ),
    ("sequential", "share of the writes that are sequential"),
    ("fill", "logical / physical pages"),
    ("blocks", "number of blocks"),
    ("pages_per_block", "pages of a block"),
    ("logical_pages", "pages that the host can write"),
    ("victim", "choice of the victim"),
    ("choices", "blocks that `d-choices` draws, else empty"),
    ("streams", "rule of placement and reserve"),
    ("buffer_pages", "pages of the LRU write buffer"),
    (
        "warmup",
        "warm-up in physical capacities that reach the flash",
    ),
    (
        "overwrites",
        "measured part in overwrites of the logical pages",
    ),
    ("seed", "seed of all random numbers"),
    (
        "write_pages",
        "pages that the host wrote in the measured part",
    ),
    ("buffer_hits", "pages among them that hit the buffer"),
    ("flash_writes_host", "pages programmed for the host"),
    ("flash_writes_gc", "pages copied by garbage collection"),
    ("erases", "blocks erased"),
    (
        "write_amplification",
        "pages programmed / pages that the host wrote",
    ),
    (
        "warmup_pages",
        "pages that were programmed for the host in the warm-up",
    ),
    (
        "first_half",
        "write amplification of the first half of the measured part",
    ),
    ("second_half", "that of the second half"),
    (
        "steady",
        "`true` if another warm-up of the same length would change the figure by 2 % at most",
    ),
    (
        "analytic",
        "formula for one stream and large blocks; empty with sequential writes",
    ),
    (
        "optimum",
        "formula for known lifetimes; empty with sequential writes",
    ),
    (
        "zipf_pages",
        "pages of the drive that those of the point stand for; only with `--zipf-pages`",
    ),
    (
        "tenths",
        "list of the write amplification of each tenth of the measured part; only with `--tenths`",
    ),
];

const ALWAYS: &str = "always";
const EXACT: &str = "exact curves";
const SAMPLED: &str = "sampled curves";
const INTERVAL: &str = "start of the 95 % confidence interval";

/// The page.
pub fn text() -> String {
    let mut text = format!("# Output\n\n{}{HEAD}", super::GENERATED);
    for f in FIGURES {
        let better = match f.better {
            Better::Larger => "larger",
            Better::Smaller => "smaller",
            Better::Neither => "-",
        };
        let (id, head, field, unit, when) = (f.id, f.head, f.field, f.unit(), f.when());
        text += &format!("| `{id}` | {head} | `{field}` | {unit} | {when} | {better} |\n");
    }
    text += ANSWERS;
    text += RECORD;
    text += &fields(&destage_record::result::json_schema());
    text += SERIES;
    text += &fields(&destage_sim::series::row_schema());
    text += REQUESTS;
    let pairs = |rows: &[(&str, &str)]| -> String {
        let row = |(name, meaning): &(&str, &str)| format!("| `{name}` | {meaning} |\n");
        rows.iter().map(row).collect()
    };
    text += &pairs(&REQUEST_COLUMNS);
    text += EVICTIONS;
    text += &pairs(&EVICTION_FIELDS);
    text += TIMELINE;
    text += &pairs(&GROUPS);
    text += TIMELINE_NAMES;
    text += &pairs(&PURPOSES);
    text += TIMELINE_ARGUMENTS;
    text += &pairs(&ARGUMENTS);
    text += CURVES;
    for (name, when, meaning) in CURVE_COLUMNS {
        text += &format!("| `{name}` | {when} | {meaning} |\n");
    }
    text += WAF;
    text + &pairs(&WAF_COLUMNS)
}

/// A row for each field that `schema` describes.
fn fields(schema: &str) -> String {
    let schema: Value = serde_json::from_str(schema).expect("a schema is plain JSON");
    let mut rows = String::new();
    collect("", &schema, &schema, &mut rows);
    rows
}

/// Adds the rows of the fields of the object at `path` that `node` describes.
fn collect(path: &str, node: &Value, root: &Value, rows: &mut String) {
    let properties = node["properties"].as_object();
    for (name, field) in properties.into_iter().flatten() {
        let path = format!("{path}{name}");
        let inner = resolved(field, root);
        let meaning = field["description"].as_str().unwrap_or_default();
        let meaning = meaning.split_whitespace().collect::<Vec<_>>().join(" ");
        let meaning = meaning.replace('|', "\\|");
        *rows += &format!("| `{path}` | {} | {meaning} |\n", kind(inner));
        collect(&format!("{path}."), inner, root, rows);
        let item = resolved(&inner["items"], root);
        collect(&format!("{path}[]."), item, root, rows);
    }
}

/// The type of the values of a field, without the null of optional fields.
fn kind(node: &Value) -> &'static str {
    match type_word(node) {
        "integer" => "integer",
        "number" => "number",
        "string" => "text",
        "boolean" => "true or false",
        "array" => "list",
        "object" => "object",
        _ => "any",
    }
}
