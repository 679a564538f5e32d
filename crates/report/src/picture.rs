//! Pictures in files: SVG as it is drawn, or PNG.

#[cfg_attr(not(feature = "png"), path = "picture/no_png.rs")]
mod png;

use destage_console::failure::Failure;
use destage_console::file::{self, write_file};
use destage_console::suffix;
use std::io;
use std::path::Path;

/// Makes sure that the picture of `option` can be written. An hour of runs may come before it is.
///
/// # Errors
/// The suffix names another format, or the file cannot be written as it says.
pub fn check(option: &str, path: &Path) -> Result<(), Failure> {
    suffix::PLOT.check(option, path)?;
    let possible = match is_png(path) {
        true => png::check(),
        false => Ok(()),
    };
    let possible = possible.and_then(|()| file::check(path));
    possible.map_err(|error| refused(option, path, &error))
}

/// Writes a picture as PNG if the name of the file ends so, else as the SVG that it is.
///
/// # Errors
/// The file cannot be written, or the picture cannot be drawn.
pub fn write(option: &str, path: &Path, svg: &str) -> Result<(), Failure> {
    let written = match is_png(path) {
        true => png::draw(svg).and_then(|png| write_file(path, png)),
        false => write_file(path, svg),
    };
    written.map_err(|error| refused(option, path, &error))
}

fn is_png(path: &Path) -> bool {
    let suffix = path.extension().unwrap_or_default();
    suffix.eq_ignore_ascii_case("png")
}

fn refused(option: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::usage(format!(
        "{option} {}: cannot write it: {error}",
        path.display()
    ))
}

#[cfg(all(test, feature = "png"))]
mod tests {
    use super::*;
    use resvg::tiny_skia::Pixmap;

    #[test]
    fn a_png_has_the_picture_and_its_text() {
        let svg = |text: &str| {
            format!(
                "<svg xmlns='http://www.w3.org/2000/svg' width='60' height='20'>\
                 <rect width='60' height='20' fill='white'/>\
                 <text x='2' y='15' font-family='sans-serif' font-size='12'>{text}</text></svg>"
            )
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.PNG");
        match write("--plot", &path, &svg("lru")) {
            // Nothing without text is written where there is no font.
            Err(refused) => {
                assert!(format!("{refused:?}").contains("font") && !path.exists());
                assert!(check("--plot", &path).is_err());
            }
            Ok(()) => {
                check("--plot", &path).unwrap();
                let with = Pixmap::load_png(&path).unwrap();
                assert_eq!((with.width(), with.height()), (240, 80));
                write("--plot", &path, &svg("")).unwrap();
                assert_ne!(with.data(), Pixmap::load_png(&path).unwrap().data());
            }
        }
        let path = folder.path().join("a.svg");
        write("--plot", &path, &svg("lru")).unwrap();
        assert_eq!(std::fs::read_to_string(path).unwrap(), svg("lru"));
    }
}
