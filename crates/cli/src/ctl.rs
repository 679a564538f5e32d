//! `destage ctl`: tells a server that runs what to do.

use crate::args::{CtlArgs, CtlWord};
use destage_console::failure::Failure;
use destage_console::print::{pretty_json, print};
use destage_experiment::options::command_line::value_name;
use destage_live::control::{ControlCommand, ControlRequest, ask};

/// Sends one command and prints what the server tells.
///
/// # Errors
/// Bad usage, no server, or one that refused.
pub fn run(args: &CtlArgs) -> Result<(), Failure> {
    let request = ControlRequest {
        export: args.export.clone(),
        command: command(args)?,
    };
    let place = args.control.display();
    let reply = ask(&args.control, &request)
        .map_err(|error| Failure::usage(format!("--control {place}: {error}")))?;
    let told = reply.map_err(|fault| Failure::Run(format!("the server refused: {fault}")))?;
    if told.is_empty() {
        return Ok(());
    }
    print(&pretty_json(&told)?)
}

fn command(args: &CtlArgs) -> Result<ControlCommand, Failure> {
    let word = args.command;
    let name = value_name(word);
    let needs = |what: &str| Failure::usage(format!("`{name}` needs {what} as its argument"));
    let takes_argument = matches!(word, CtlWord::Scheme | CtlWord::Snapshot);
    if let Some(argument) = args.argument.as_deref().filter(|_| !takes_argument) {
        let fault = format!("`{name}` takes no argument, but `{argument}` was given");
        return Err(Failure::usage(fault));
    }
    if args.cache.is_some() && word != CtlWord::Scheme {
        return Err(Failure::usage(format!(
            "--cache: only `scheme` takes it, not `{name}`"
        )));
    }
    Ok(match word {
        CtlWord::Stats => ControlCommand::Stats {},
        CtlWord::Scheme => ControlCommand::Scheme {
            scheme: args.argument.clone().ok_or_else(|| needs("a scheme"))?,
            cache: args.cache.map(|size| size.to_string()),
        },
        CtlWord::Reset => ControlCommand::Reset {},
        CtlWord::PowerCut => ControlCommand::PowerCut {},
        CtlWord::Snapshot => {
            let file = args.argument.as_deref().ok_or_else(|| needs("a file"))?;
            // The server may be in another folder.
            let file = std::path::absolute(file)
                .map_err(|error| Failure::usage(format!("{file}: {error}")))?;
            ControlCommand::Snapshot { file }
        }
        CtlWord::Shutdown => ControlCommand::Shutdown {},
    })
}
