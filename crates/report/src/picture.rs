//! Pictures in files: SVG as it is drawn, or PNG.

use destage_console::file::write_file;
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Pixels of a PNG for each unit of the SVG: a picture as wide as a column of a paper has 600 dots to the inch.
const SCALE: f32 = 4.0;

/// Writes a picture as PNG if the name of the file ends so, else as the SVG that it is.
///
/// # Errors
/// The file cannot be written, or the picture cannot be drawn.
pub fn write(path: &Path, svg: &str) -> io::Result<()> {
    let suffix = path.extension().unwrap_or_default();
    match suffix.eq_ignore_ascii_case("png") {
        true => write_file(path, png(svg)?),
        false => write_file(path, svg),
    }
}

/// The picture of `svg` as PNG.
fn png(svg: &str) -> io::Result<Vec<u8>> {
    let mut options = Options::default();
    let fonts = Arc::make_mut(&mut options.fontdb);
    fonts.load_system_fonts();
    // Text without a font would be missing, and nothing would say so.
    if fonts.is_empty() {
        return Err(io::Error::other(
            "a PNG needs a font, and this machine has none; write an .svg, or install a font such as DejaVu Sans",
        ));
    }
    set_sans_serif(fonts);
    let tree = Tree::from_str(svg, &options).map_err(io::Error::other)?;
    let size = tree.size().to_int_size();
    let scaled = |length: u32| (length as f32 * SCALE) as u32;
    let picture = Pixmap::new(scaled(size.width()), scaled(size.height()));
    let mut picture = picture.ok_or_else(|| io::Error::other("the picture is empty"))?;
    let scale = Transform::from_scale(SCALE, SCALE);
    resvg::render(&tree, scale, &mut picture.as_mut());
    picture.encode_png().map_err(io::Error::other)
}

/// Fonts for pictures, the preferred ones first.
const FONTS: [&str; 5] = [
    "DejaVu Sans",
    "Liberation Sans",
    "Noto Sans",
    "Arial",
    "Helvetica",
];

/// Says which font of the machine stands for `sans-serif`.
fn set_sans_serif(fonts: &mut resvg::usvg::fontdb::Database) {
    let has = |name: &str| {
        let mut families = fonts.faces().flat_map(|face| &face.families);
        families.any(|family| family.0 == name)
    };
    let preferred = FONTS.into_iter().find(|name| has(name)).map(str::to_owned);
    let any = || Some(fonts.faces().next()?.families.first()?.0.clone());
    if let Some(family) = preferred.or_else(any) {
        fonts.set_sans_serif_family(family);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        match write(&path, &svg("lru")) {
            // Nothing without text is written where there is no font.
            Err(error) => assert!(error.to_string().contains("font") && !path.exists()),
            Ok(()) => {
                let with = Pixmap::load_png(&path).unwrap();
                assert_eq!((with.width(), with.height()), (240, 80));
                write(&path, &svg("")).unwrap();
                assert_ne!(with.data(), Pixmap::load_png(&path).unwrap().data());
            }
        }
        let path = folder.path().join("a.svg");
        write(&path, &svg("lru")).unwrap();
        assert_eq!(std::fs::read_to_string(path).unwrap(), svg("lru"));
    }
}
