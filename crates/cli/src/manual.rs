//! `destage completions` and `destage man`: what a package puts beside the program, made of the
//! declarations of the command line.

use crate::args::{Cli, CompletionsArgs, ManArgs};
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use destage_console::failure::Failure;
use destage_console::file::write_file;
use destage_console::print::{print_exactly, unwritten};

/// Prints the completion script of a shell.
///
/// # Errors
/// It cannot be written.
pub fn completions(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut script = Vec::new();
    let mut command = Cli::command();
    clap_complete::generate(args.shell, &mut command, "destage", &mut script);
    print_exactly(&String::from_utf8_lossy(&script))
}

/// Writes a page for the program and one for each of its commands.
///
/// # Errors
/// The folder cannot be made, or a page cannot be written.
pub fn man(args: &ManArgs) -> Result<(), Failure> {
    std::fs::create_dir_all(&args.folder).map_err(|error| unwritten(&args.folder, &error))?;
    // Building it gives the commands below it their whole names.
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    collect(&command, &mut pages);
    for page in pages {
        let path = args.folder.join(page.get_filename());
        let mut text = Vec::new();
        let written = page.render(&mut text);
        written
            .and_then(|()| write_file(&path, text))
            .map_err(|error| unwritten(&path, &error))?;
    }
    Ok(())
}

fn collect(command: &Command, pages: &mut Vec<Man>) {
    pages.push(Man::new(command.clone()).source(format!("destage {}", destage_console::VERSION)));
    let shown = command.get_subcommands().filter(|c| !c.is_hide_set());
    shown.for_each(|command| collect(command, pages));
}
