//! `docs/OUTPUT.md`: the columns and fields of all that is written, from their declarations.

use destage_report::columns::{resolved, type_word};
use destage_report::figures::{Better, FIGURES};
use destage_report::perfetto::{ARGUMENTS, GROUPS};
use destage_sim::log::{EVICTION_FIELDS, REQUEST_COLUMNS};
use destage_sim::timeline::PURPOSES;
use serde_json::Value;

/// What stands before the table of `run`.
const HEAD: &str = "\
What the program writes, column by column. Counts and ratios are those of the measured part, behind the
warm-up. A field that a run cannot have is absent (in CSV and Parquet: an empty cell), a ratio without a
denominator is null (in tables: `-`).

## The table of `run`

Each row has `trace`, `scheme` and `cache`, and `run` (the name of its `[[run]]`), `device`, `page` and `settings`
where the rows differ in them. Then come the figures of this list, the most telling ones first, as
long as the terminal is wide enough; what is left out is named below the table. `--columns` takes their names,
or those of any field of the record below. `<` marks the best value of a cache size. Where several schemes run
with several sizes, `page-hit` and `mean` follow as tables of schemes against sizes.

| name | head | field of the record | unit | which runs | better |
|--|--|--|--|--|--|
";

/// What stands before the record.
const RECORD: &str = "
## The result record

One JSON object for each run (`--format-out jsonl`, `results.jsonl` of `--out`), whose schema is
[result.schema.json](result.schema.json). CSV and Parquet have the same fields as columns of these names; CSV
leaves out lists, Parquet has them as JSON text, as both have `scheme_stats`. `[]` stands for each entry of a
list. Two executions of the
same run differ in the fields of `run` alone. In the `results.jsonl` of `run --out`, each line ends with its own
checksum, `run.sha256` ([RELIABILITY.md](RELIABILITY.md)).

| field | type | what it is |
|--|--|--|
";

const SERIES: &str = "
## Series

A row for each interval (`--series`), as CSV or Parquet. Counters and ratios are those of the interval alone.

| column | type | what it is |
|--|--|--|
";

const REQUESTS: &str = "
## Request log

A row for each request in the order of the trace (`--log-requests`), as CSV.

| column | what it is |
|--|--|
";

const EVICTIONS: &str = "
## Eviction log

A JSON object for each eviction in the order in which they happen (`--log-evictions`).

| field | what it is |
|--|--|
";

const TIMELINE: &str = "
## Timeline

What happened in a window of a run (`--timeline`), to see why a request waited: open the file at
<https://ui.perfetto.dev>, which reads it in the browser and sends it nowhere, or ask Perfetto's
`trace_processor`. Times are simulated, from the start of the run, as in the request log. The window goes from
`--timeline-from`, or the begin of the measured part, to `--timeline-to`, or the end of the run. Every request,
operation and collection is there, as a whole, that was queued before the end of the window and was not over
before its begin; values of `waiting` are those of the window alone. A timeline takes a quarter of `--memory` at
most; what needs more ends the run with an error that says how far it came. What `--flush-at-end` does after the
run is not in it.

| group of tracks | what it shows |
|--|--|
";

/// What stands between tracks and arguments.
const TIMELINE_NAMES: &str = "
Operations of collections are called `GC read`, `GC program`, `GC copyback` and `erase`, all others by what they
read or program. Their category is their priority: `host`, `gc`, `background` or `background gc`.

| name | what it is |
|--|--|
";

const TIMELINE_ARGUMENTS: &str = "
| argument | what it says |
|--|--|
";

const CURVES: &str = "
## Points of curves

A row for each scheme and cache size (`mrc --format-out csv`), or an object with the same fields (`jsonl`).

| column | when | what it is |
|--|--|--|
";

/// The columns of `mrc`: name, when it is there, meaning.
const CURVE_COLUMNS: &[(&str, &str, &str)] = &[
    ("trace", ALWAYS, "name of the trace"),
    ("scheme", ALWAYS, "canonical scheme expression"),
    ("cache_bytes", ALWAYS, "cache size"),
    ("cache_pages", ALWAYS, "the same in pages"),
    ("page_bytes", ALWAYS, "page size"),
    (
        "page_hit_ratio",
        ALWAYS,
        "hit pages / accessed pages, 0 to 1",
    ),
    ("page_hit_ratio_low", SAMPLED, INTERVAL),
    ("page_hit_ratio_high", SAMPLED, "its end"),
    ("read_page_hit_ratio", ALWAYS, "the same of reads"),
    ("read_page_hit_ratio_low", SAMPLED, INTERVAL),
    ("read_page_hit_ratio_high", SAMPLED, "its end"),
    ("write_page_hit_ratio", ALWAYS, "the same of writes"),
    ("write_page_hit_ratio_low", SAMPLED, INTERVAL),
    ("write_page_hit_ratio_high", SAMPLED, "its end"),
    ("page_accesses", EXACT, "accessed pages"),
    ("page_hits", EXACT, "those that hit"),
    ("read_pages", EXACT, "pages read"),
    ("read_page_hits", EXACT, "those that hit"),
    ("write_pages", EXACT, "pages written"),
    ("write_page_hits", EXACT, "those that hit"),
    ("read_requests", EXACT, "read requests"),
    ("read_request_hits", EXACT, "those of which all pages hit"),
    ("write_requests", EXACT, "write requests"),
    ("write_request_hits", EXACT, "those of which all pages hit"),
    ("flash_writes_host", EXACT, "pages programmed for the host"),
    ("sample_rate", SAMPLED, "share of the pages in the sample"),
    ("sampled_pages", SAMPLED, "pages in the sample"),
    ("sampled_accesses", SAMPLED, "accesses of these pages"),
    (
        "scaled_cache_pages",
        SAMPLED,
        "pages of the cache in front of which the sample ran",
    ),
    (
        "method",
        ALWAYS,
        "`one-pass` (all sizes at once), `run` (one for each size) or `sampled`",
    ),
    ("format", ALWAYS, "format that the trace was read as"),
    (
        "time_unit",
        ALWAYS,
        "unit that its times were read in; empty without times",
    ),
];
const ALWAYS: &str = "always";
const EXACT: &str = "exact curves";
const SAMPLED: &str = "sampled curves";
const INTERVAL: &str = "begin of its 95 % confidence interval";

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
    text
}

/// A row for each field that `schema` describes.
fn fields(schema: &str) -> String {
    let schema: Value = serde_json::from_str(schema).expect("a schema is plain JSON");
    let mut rows = String::new();
    collect("", &schema, &schema, &mut rows);
    rows
}

/// The rows of the fields of the object `node` describes, which is at `path`.
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

/// What the values of a field are, without the null of those that may be absent.
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
