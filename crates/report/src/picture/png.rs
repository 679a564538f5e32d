//! Pictures as PNG.

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::fontdb::Database;
use resvg::usvg::{Options, Tree};
use std::io;
use std::sync::Arc;

/// Pixels of a PNG for each unit of the SVG: a picture as wide as a column of a paper has 600 dots to the inch.
const SCALE: f32 = 4.0;

/// The picture of `svg` as PNG.
///
/// # Errors
/// The machine has no font, or the picture cannot be drawn.
pub fn draw(svg: &str) -> io::Result<Vec<u8>> {
    let options = Options {
        fontdb: Arc::new(fonts()?),
        ..Options::default()
    };
    let tree = Tree::from_str(svg, &options).map_err(io::Error::other)?;
    let size = tree.size().to_int_size();
    let scaled = |length: u32| (length as f32 * SCALE) as u32;
    let picture = Pixmap::new(scaled(size.width()), scaled(size.height()));
    let mut picture = picture.ok_or_else(|| io::Error::other("the picture is empty"))?;
    let scale = Transform::from_scale(SCALE, SCALE);
    resvg::render(&tree, scale, &mut picture.as_mut());
    picture.encode_png().map_err(io::Error::other)
}

/// Makes sure that PNGs can be drawn.
///
/// # Errors
/// The machine has no font.
pub fn check() -> io::Result<()> {
    fonts().map(drop)
}

/// The fonts of the machine.
fn fonts() -> io::Result<Database> {
    let mut fonts = Database::new();
    fonts.load_system_fonts();
    // Text without a font would be missing, and nothing would say so.
    if fonts.is_empty() {
        return Err(io::Error::other(
            "a PNG needs a font, and this machine has none; write an .svg, or install a font such as DejaVu Sans",
        ));
    }
    set_sans_serif(&mut fonts);
    Ok(fonts)
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
fn set_sans_serif(fonts: &mut Database) {
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
