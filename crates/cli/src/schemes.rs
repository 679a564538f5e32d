//! `destage schemes`: what there is, and what each does.

use crate::args::SchemesArgs;
use destage_console::failure::Failure;
use destage_console::print::{pretty_json, print};
use destage_report::table;
use destage_scheme::describe;
use destage_scheme::info::proof_of;
use destage_scheme::registry;

/// Lists the schemes, or explains one.
///
/// # Errors
/// There is no scheme of that name.
pub fn run(args: &SchemesArgs) -> Result<(), Failure> {
    match &args.name {
        None if args.json => print(&pretty_json(&describe::records())?),
        None => print(&list()),
        Some(name) => explain(name, args.json),
    }
}

fn list() -> String {
    let mut table = table::plain(&["scheme", "role", "shown", "what it does"], 9);
    for info in registry::all() {
        table.add_row([
            info.name.to_owned(),
            format!("{} {}", info.role.letter(), info.role.name()),
            proof_of(info.name).text(),
            info.summary.to_owned(),
        ]);
    }
    let mut text = table::lines(&table);
    text += &format!(
        "\n{} schemes. Layers nest in the order M > B > A > K > V \
         around one policy,\nsuch as cac(prober(lru)). `shown`: worked examples (vectors), a slow \
         model on random runs (model),\nmiss counts of independent tools (golden), or none of \
         these yet (experimental).\n`destage schemes NAME` explains one.\n",
        registry::all().len()
    );
    text
}

fn explain(name: &str, as_json: bool) -> Result<(), Failure> {
    let lower = name.to_lowercase();
    let layers = match (registry::find(&lower), registry::alias(&lower)) {
        (Some(info), _) => vec![info],
        (None, Some(names)) => names.iter().filter_map(|n| registry::find(n)).collect(),
        (None, None) => {
            let near = registry::nearest(&lower);
            return Err(Failure::usage(format!(
                "unknown scheme `{name}`, nearest is `{near}`; `destage schemes` lists all"
            )));
        }
    };
    if as_json {
        return match layers[..] {
            [info] => print(&pretty_json(&describe::record(info))?),
            _ => print(&pretty_json(
                &layers
                    .iter()
                    .map(|i| describe::record(i))
                    .collect::<Vec<_>>(),
            )?),
        };
    }
    let mut text = String::new();
    if let [outer, _, ..] = layers[..] {
        let names: Vec<&str> = layers.iter().map(|i| i.name).collect();
        let whole = names.join("(") + &")".repeat(names.len() - 1);
        text += &format!(
            "{lower} is an alias of {whole}, `{}` outermost\n\n",
            outer.name
        );
    }
    let parts: Vec<String> = layers.iter().map(|i| describe::explain(i)).collect();
    print(&(text + &parts.join("\n")))
}
