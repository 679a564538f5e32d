//! Requests to a server that runs, and their replies.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// An order to the server.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ControlCommand {
    /// Tell the figures so far.
    Stats {},
    /// Flush, and go on with another scheme.
    Scheme {
        /// Its expression.
        scheme: String,
        /// Cache size with its unit, if it changes, too.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cache: Option<String>,
    },
    /// Begin new statistics.
    Reset {},
    /// Cut the power and give it back.
    PowerCut {},
    /// Write the durable data to a file.
    Snapshot {
        /// The file, from the root.
        file: PathBuf,
    },
    /// End the server as SIGTERM does.
    Shutdown {},
}

/// One line to a server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ControlRequest {
    /// The export that is meant.
    pub export: Option<String>,
    /// The order.
    pub command: ControlCommand,
}

/// Facts that a reply tells besides success, or the reason of a failure.
pub type ControlReply = Result<Map<String, Value>, String>;

impl ControlRequest {
    /// Reads a line.
    ///
    /// # Errors
    /// The fault and the allowed values.
    pub fn parse(line: &[u8]) -> Result<ControlRequest, String> {
        let mut object: Map<String, Value> =
            serde_json::from_slice(line).map_err(|error| format!("no JSON object: {error}"))?;
        let export = match object.shift_remove("export") {
            None | Some(Value::Null) => None,
            Some(Value::String(name)) => Some(name),
            Some(other) => return Err(format!("`export` is {other}: a text is expected")),
        };
        let command = serde_json::from_value(Value::Object(object));
        let command = command.map_err(|error| error.to_string())?;
        Ok(ControlRequest { export, command })
    }

    /// The line, without its end.
    pub fn line(&self) -> String {
        let mut line = serde_json::to_value(&self.command).unwrap_or_default();
        if let Some(export) = &self.export {
            line["export"] = Value::from(export.as_str());
        }
        line.to_string()
    }
}

/// The line of a reply, without its end.
pub(super) fn reply_line(reply: ControlReply) -> String {
    let mut line = Map::new();
    line.insert("ok".to_owned(), Value::from(reply.is_ok()));
    match reply {
        Ok(told) => line.extend(told),
        Err(error) => _ = line.insert("error".to_owned(), Value::from(error)),
    }
    Value::Object(line).to_string()
}

/// Sends `request` to the server whose control socket is `path`, and waits for its reply.
///
/// # Errors
/// No server is there, or what it said was no reply.
pub fn ask(path: &Path, request: &ControlRequest) -> io::Result<ControlReply> {
    let mut socket = UnixStream::connect(path)?;
    socket.write_all(format!("{}\n", request.line()).as_bytes())?;
    let mut line = String::new();
    BufReader::new(socket).read_line(&mut line)?;
    if line.is_empty() {
        let ended = "the server closed the connection without a reply";
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, ended));
    }
    let mut told: Map<String, Value> = serde_json::from_str(&line)?;
    Ok(match told.shift_remove("ok") {
        Some(Value::Bool(true)) => Ok(told),
        _ => {
            let error = told.get("error").and_then(Value::as_str);
            Err(error.unwrap_or("the server gave no reason").to_owned())
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_what_was_written() {
        let commands = [
            ControlCommand::Stats {},
            ControlCommand::PowerCut {},
            ControlCommand::Scheme {
                scheme: "gcar(lru)".to_owned(),
                cache: Some("1MiB".to_owned()),
            },
            ControlCommand::Snapshot {
                file: PathBuf::from("/a b"),
            },
        ];
        for (i, command) in commands.into_iter().enumerate() {
            let export = (i % 2 == 0).then(|| "disk".to_owned());
            let request = ControlRequest { export, command };
            assert_eq!(
                ControlRequest::parse(request.line().as_bytes()),
                Ok(request)
            );
        }
    }

    #[test]
    fn what_is_no_request_is_refused_with_a_reason() {
        let bad = [
            ("", "no JSON object"),
            ("[]", "no JSON object"),
            ("{}", "command"),
            (r#"{"command":"stat"}"#, "`stats`"),
            (r#"{"command":"stats","exports":"a"}"#, "exports"),
            (r#"{"command":"stats","export":7}"#, "`export` is 7"),
            (r#"{"command":"scheme"}"#, "scheme"),
            (r#"{"command":"snapshot","file":3}"#, "3"),
            ("\u{0}", "no JSON object"),
        ];
        for (line, named) in bad {
            let fault = ControlRequest::parse(line.as_bytes()).unwrap_err();
            assert!(fault.contains(named), "{line}: {fault}");
        }
        let deep = "[".repeat(100_000);
        assert!(ControlRequest::parse(deep.as_bytes()).is_err());
    }
}
