//! A terminal as a picture in which a command is typed and its output appears line after line, for the README.

use std::fmt::Write;

const FONT_SIZE: f64 = 13.0;
/// Width of a letter of a monospaced font.
const LETTER: f64 = 0.602 * FONT_SIZE;
const LINE_HEIGHT: f64 = 18.0;
const MARGIN: f64 = 16.0;
/// Seconds until the output begins, and from one line to the next.
const TYPING: f64 = 1.2;
const STEP: f64 = 0.18;

/// The SVG of `command` and what it prints. A reader who wants no motion sees all lines at once.
pub fn terminal(command: &str, output: &str) -> String {
    let lines: Vec<&str> = output.lines().collect();
    let columns = lines.iter().map(|line| line.chars().count()).max();
    let width = 2.0 * MARGIN + LETTER * columns.unwrap_or(0).max(80) as f64;
    let height = 2.0 * MARGIN + LINE_HEIGHT * (lines.len() + 1) as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\">\n<title>{title} in a terminal</title>\n\
         <style>text {{ font: {FONT_SIZE}px ui-monospace, Menlo, Consolas, monospace; fill: #d7dde5; white-space: pre }}\n\
         .typed {{ fill: #7ee0a1 }} .seen {{ fill: #ffd479 }}\n\
         text {{ animation: shown 0.1s both }} @keyframes shown {{ from {{ opacity: 0 }} }}\n\
         @media (prefers-reduced-motion: reduce) {{ text {{ animation: none }} }}</style>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#14181f\"/>\n",
        title = escaped(command),
    );
    let prompt = format!("$ {command}");
    for (row, line) in std::iter::once(prompt.as_str()).chain(lines).enumerate() {
        let class = match line.split(':').next() {
            _ if row == 0 => " class=\"typed\"",
            Some("seen" | "next") => " class=\"seen\"",
            _ => "",
        };
        let y = MARGIN + LINE_HEIGHT * (row as f64 + 0.75);
        let delay = if row == 0 {
            0.2
        } else {
            TYPING + STEP * row as f64
        };
        let text = escaped(line);
        writeln!(
            svg,
            "<text x=\"{MARGIN}\" y=\"{y:.1}\" style=\"animation-delay:{delay:.2}s\"{class}>{text}</text>"
        )
        .expect("a string takes all");
    }
    svg + "</svg>\n"
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
