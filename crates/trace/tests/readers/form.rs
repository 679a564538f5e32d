//! Tables as a form shows them: whatever is chosen there reads as it was meant.

use destage_trace::{FORMATS, FormPart, Source, TableForm, TraceError, table_form};
use destage_types::Nanos;
use destage_types::rng::SplitMix64;

use crate::common::{cases_of, given, overlay, says, told};
use crate::random_tables::{mapped, requests, table};

fn form(bytes: &[u8], mapping: Option<&str>) -> Result<TableForm, TraceError> {
    let options = mapping.map_or_else(overlay, given);
    table_form(Source::bytes("x", bytes.to_vec()), &options)
}

/// A part as the playground writes it.
fn text(part: &FormPart) -> String {
    let meaning = match part.meaning.as_str() {
        "" => String::new(),
        meaning => format!(":{meaning}"),
    };
    match part.columns.join("&") {
        columns if columns.is_empty() => format!("{}={}", part.key, part.value),
        columns => format!("{}={columns}{}{meaning}", part.key, part.calculation),
    }
}

fn joined(form: &TableForm) -> String {
    let parts: Vec<String> = form.parts.iter().map(text).collect();
    parts.join(",")
}

/// The form of a table under its mapping, under the guess, and under nothing but how its lines are cut.
#[test]
fn random_tables_are_read_as_their_form_says() {
    let cases = cases_of(400, 20_000);
    let (mut guessed, mut chosen) = (0, 0u64);
    for case in 0..cases {
        let random = &mut SplitMix64::new(case);
        let unit = [("ns", 1), ("us", 1_000), ("s", 1_000_000_000)][random.below(3) as usize];
        let mut load = requests(random, unit.1);
        load.iter_mut()
            .for_each(|r| r.arrival = Nanos(r.arrival.0 / unit.1 * unit.1));
        let (bytes, mapping) = table(random, &load, unit);
        if bytes.starts_with(b"PAR1") {
            let refused = form(&bytes, None).unwrap_err().to_string();
            says(refused, "have their places");
            continue;
        }
        let show = || {
            format!(
                "case {case}: {mapping}\n{}",
                String::from_utf8_lossy(&bytes)
            )
        };
        let right = mapped(&bytes, Some(&mapping)).unwrap();
        let is_right = |text: &str| {
            let trace = mapped(&bytes, Some(text));
            let trace = trace.unwrap_or_else(|e| panic!("{text}: {e}\n{}", show()));
            assert_eq!(told(&trace), told(&right), "{text}\n{}", show());
        };
        let shown = form(&bytes, Some(&mapping)).unwrap();
        assert_eq!(
            Some(&shown.mapping),
            right.meta.mapping.as_ref(),
            "{}",
            show()
        );
        is_right(&joined(&shown));
        let again = form(&bytes, Some(&joined(&shown))).unwrap();
        assert_eq!(joined(&again), joined(&shown), "{}", show());

        let guess = form(&bytes, None).unwrap();
        if let Ok(trace) = mapped(&bytes, None)
            && let Some(mapping) = trace.meta.mapping
        {
            let found = (guess.format, &guess.mapping);
            assert_eq!(found, (Some("table"), &mapping), "{}", show());
            guessed += 1;
        }

        // Somebody says how lines are cut, then what each column holds.
        const VALUES: [&str; 5] = ["time", "op", "offset", "size", "volume"];
        let cut = shown
            .parts
            .iter()
            .filter(|part| !VALUES.contains(&part.key));
        let cut: Vec<String> = cut.map(text).collect();
        let blank = form(&bytes, Some(&cut.join(","))).unwrap();
        let columns = |form: &TableForm| -> Vec<_> {
            let columns = form.columns.iter();
            columns
                .map(|c| (c.text.clone(), c.name.clone(), c.values.clone()))
                .collect()
        };
        assert_eq!(columns(&blank), columns(&shown), "{}", show());
        is_right(&joined(&shown));
        chosen += u64::from(blank.fault.is_some());
    }
    let enough = guessed > cases / 12 && chosen > cases / 4;
    assert!(enough, "{guessed} guessed, {chosen} chosen");
}

#[test]
fn columns_have_texts_that_lead_to_them() {
    let names = "a,b;7;;x*2;n:us;a b;a b;say \"no\";=x;volume&disk; t ";
    let names: Vec<&str> = names.split(';').collect();
    let cell = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let line = |cells: Vec<String>| cells.join(";") + "\n";
    let mut table = line(names.iter().map(|name| cell(name)).collect());
    for row in 0..4 {
        let number = |column| format!("{}", 512 * (10 * row + column));
        table += &line((0..names.len()).map(number).collect());
    }
    let shown = form(table.as_bytes(), Some("separator=;,header=yes")).unwrap();
    assert_eq!(shown.columns.len(), names.len());
    for (place, column) in shown.columns.iter().enumerate() {
        assert_eq!(column.number, place + 1);
        assert_eq!(column.values[0], (512 * place).to_string());
        let mapping = format!(
            "op==W,offset={},size==512,separator=;,header=yes",
            column.text
        );
        let trace =
            mapped(table.as_bytes(), Some(&mapping)).unwrap_or_else(|e| panic!("{mapping}: {e}"));
        let start = trace.requests.records()[0].start_sector;
        assert_eq!(start, place as u64, "{mapping}");
    }
}

#[test]
fn files_that_no_format_fits_have_a_form() {
    let bytes = b"1,0,4096,512,8\n2,1,8192,512,9\n5,1,0,512,7\n7,0,512,512,1\n";
    let shown = form(bytes, None).unwrap();
    let mapping = "time=1:us,op=2:1=R,0=W,offset=3,size=4,separator=comma,header=no";
    assert_eq!((shown.format, &*joined(&shown)), (None, mapping));
    says(shown.fault.unwrap(), "0 is taken for writes");
    let names = form(b"when,what\n1,2\n", None).unwrap();
    says(names.fault.unwrap(), "no column is known as op");
    assert_eq!(shown.columns[1].values, ["0", "1"]);
    // A column that is not there is named, and the others stay chosen.
    let shown = form(bytes, Some("time=1,op=9,offset=3,size=4")).unwrap();
    says(
        shown.fault.unwrap(),
        "there is no column 9 for op; columns: 5",
    );
    assert_eq!(shown.parts[2].columns, ["3"]);
    // Formats whose lines are columns have one, too.
    let msr = FORMATS.iter().find(|format| format.name == "msr").unwrap();
    let shown = form(msr.example, None).unwrap();
    assert_eq!((shown.format, shown.columns.len()), (Some("msr"), 7));
    // What is no text has none.
    for (bytes, part) in [
        (&b"\x93NUMPY\x01"[..], "numpy array"),
        (b"", "the trace is empty"),
        (b"t\0i\0m\0e\0,\0o\0p\0", "UTF-16"),
    ] {
        says(form(bytes, None).unwrap_err().to_string(), part);
    }
}

/// A page in a browser shows the form of any file.
#[test]
fn forms_of_hostile_files_are_small() {
    let wide = |gap: &str| vec!["7"; 100_000].join(gap) + "\n";
    let names: Vec<String> = (0..5_000).map(|i| format!("\"k{i}\": {i}")).collect();
    for bytes in [
        wide(","),
        wide(" "),
        "x".repeat(5 << 20),
        format!("{{{}}}\n", names.join(",")),
    ] {
        let Ok(shown) = form(bytes.as_bytes(), None) else {
            continue;
        };
        assert!(shown.columns.len() <= 64, "{}", shown.columns.len());
        let mut values = shown.columns.iter().flat_map(|c| &c.values);
        assert!(values.all(|value| value.len() < 400));
    }
    let far = form(wide(",").as_bytes(), Some("op==R,size==512,offset=99999")).unwrap();
    assert_eq!((far.columns.len(), far.more_columns), (65, 99_935));
    assert_eq!(far.columns[64].text, "99999");
}
