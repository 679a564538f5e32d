//! `destage probe`: the files that measure a real drive.

use crate::args::ProbeArgs;
use destage_console::failure::Failure;
use destage_console::file::write_file;
use destage_console::print::print;
use destage_fit::probe::FILES;
use std::fs::Metadata;
use std::path::Path;

/// Prints the files, or writes them into a folder.
///
/// # Errors
/// The folder or a file cannot be written, or a file of that name has other content.
pub fn run(args: &ProbeArgs) -> Result<(), Failure> {
    let Some(folder) = &args.out else {
        let texts = FILES.iter().map(|file| {
            let (name, text) = (file.name, file.text);
            format!("==> {name} <==\n{text}")
        });
        return print(&texts.collect::<String>());
    };
    let refused = |error: std::io::Error| {
        let folder = folder.display();
        Failure::usage(format!("--out {folder}: {error}"))
    };
    std::fs::create_dir_all(folder).map_err(refused)?;
    let foreign: Vec<String> = FILES
        .iter()
        .map(|file| (folder.join(file.name), file.text))
        .filter(|(path, text)| is_foreign(path, text))
        .map(|(path, _)| {
            let path = path.display();
            format!("--out: {path} has other content. Remove it, or choose another folder.")
        })
        .collect();
    Failure::unless_none(foreign)?;
    for file in FILES {
        write_file(&folder.join(file.name), file.text).map_err(refused)?;
    }
    let script = folder.join(FILES[0].name);
    let script = script.display();
    print(&format!(
        "{script} measures a drive and destroys all its data. Run it as root:\n  \
         sh {script} --device /dev/nvme1n1 --name my-drive --out results\n"
    ))
}

/// Is there something else than a file with this text?
fn is_foreign(path: &Path, text: &str) -> bool {
    let is_same = |there: &Metadata| {
        let may_be = there.is_file() && there.len() == text.len() as u64;
        may_be && std::fs::read(path).is_ok_and(|content| content == text.as_bytes())
    };
    path.symlink_metadata().is_ok_and(|there| !is_same(&there))
}
