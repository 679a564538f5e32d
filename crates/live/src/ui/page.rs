//! The page that draws the figures, with everything in it.

const PAGE: &str = include_str!("page.html");
/// The parts of the page: the placeholder and its replacement.
const PARTS: [(&str, &str); 5] = [
    (
        "/*uplot-style*/",
        include_str!("../../vendor/uplot/uPlot.min.css"),
    ),
    ("/*style*/", include_str!("page.css")),
    (
        "/*uplot-licence*/",
        include_str!("../../vendor/uplot/LICENSE"),
    ),
    (
        "/*uplot*/",
        include_str!("../../vendor/uplot/uPlot.iife.min.js"),
    ),
    ("/*script*/", include_str!("page.js")),
];

/// The page.
pub fn page() -> String {
    let put = |page: String, (mark, part): &(&str, &str)| page.replacen(mark, part.trim(), 1);
    PARTS.iter().fold(PAGE.to_owned(), put)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_in_its_place() {
        let page = page();
        for (mark, part) in PARTS {
            assert!(!page.contains(mark), "{mark}");
            assert!(page.contains(part.trim()), "{mark}");
            assert!(
                !part.contains("</script") && !part.contains("</style"),
                "{mark}"
            );
        }
        // Nothing is loaded from elsewhere.
        assert!(
            page.contains("The MIT License") && !page.contains("src=") && !page.contains("@import")
        );
    }
}
