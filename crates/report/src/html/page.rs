//! The page around tables and charts: one file that needs nothing else, and asks nobody for anything.

use crate::html::chart::Chart;
use crate::style;
use destage_console::terminal::harmless;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = concat!(
    include_str!("script/options.js"),
    include_str!("script/tables.js"),
    include_str!("script/page.js")
);
const ECHARTS: &str = include_str!("../../vendor/echarts/echarts.common.min.js");

/// Nothing but what stands in the page itself is loaded or run.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      img-src data:; base-uri 'none'; form-action 'none'";

/// Bytes that a page may have.
pub const LARGEST: usize = 2_000_000;

/// A page while it is made.
pub struct ReportPage {
    title: String,
    body: String,
    charts: Vec<String>,
    /// Bytes that are left.
    room: usize,
    /// Bytes beside them for what the page must have.
    reserved: usize,
    left_out: usize,
    in_charts: bool,
}

impl ReportPage {
    /// A page with a head and nothing else.
    pub fn new(title: &str) -> ReportPage {
        let mut page = ReportPage {
            title: title.to_owned(),
            body: String::new(),
            charts: Vec::new(),
            // The frame of the page and the sentence on what was left out take little.
            room: LARGEST - STYLE.len() - SCRIPT.len() - ECHARTS.len() - 10_000,
            reserved: 0,
            left_out: 0,
            in_charts: false,
        };
        page.body += &format!(
            "<header><h1>{}</h1><p class=\"about\">destage {}</p></header>\n<noscript><p class=\"note\">The \
             charts need JavaScript, of which all is in this file. The tables do not.</p></noscript>\n",
            escaped(title),
            escaped(destage_console::VERSION)
        );
        page
    }

    /// Keeps room for HTML that the page must have.
    pub fn reserve(&mut self, bytes: usize) {
        self.room = self.room.saturating_sub(bytes);
        self.reserved += bytes;
    }

    /// HTML that the page must have.
    pub fn html(&mut self, html: &str) {
        self.end_charts();
        self.body += html;
        let beyond = html.len().saturating_sub(self.reserved);
        self.reserved = self.reserved.saturating_sub(html.len());
        self.room = self.room.saturating_sub(beyond);
    }

    /// HTML that is left out if it makes the page too large.
    pub fn html_if_room(&mut self, html: &str) {
        if html.len() <= self.room {
            self.end_charts();
            self.body += html;
            self.room -= html.len();
        } else {
            self.left_out += 1;
        }
    }

    /// HTML that shows its title alone until it is unfolded; left out as by [`ReportPage::html_if_room`].
    pub fn folded(&mut self, title: &str, html: &str) {
        self.html_if_room(&format!(
            "<details class=\"more\"><summary>{}</summary>\n{html}</details>\n",
            escaped(title)
        ));
    }

    /// Charts that are folded together, if there is any.
    pub fn folded_charts(&mut self, title: &str, charts: &[Chart]) {
        if charts.is_empty() {
            return;
        }
        let title = format!("{title} ({})", charts.len());
        self.html(&format!(
            "<details class=\"fold\"><summary>{}</summary>\n",
            escaped(&title)
        ));
        charts.iter().for_each(|chart| self.chart(chart));
        self.html("</details>\n");
    }

    /// A section, which [`ReportPage::end_section`] ends.
    pub fn section(&mut self, title: &str, about: &str) {
        self.html(&format!(
            "<section class=\"group\">\n<h2>{}</h2>\n<p class=\"about\">{}</p>\n",
            escaped(title),
            escaped(about)
        ));
    }

    /// The legend that the charts of a section share.
    pub fn legend(&mut self) {
        self.html(
            "<div class=\"legend\" role=\"group\" aria-label=\"Series shown in the charts\"></div>\n",
        );
    }

    /// Ends a section.
    pub fn end_section(&mut self) {
        self.html("</section>\n");
    }

    /// A chart beside those before it, if there is room for it.
    pub fn chart(&mut self, chart: &Chart) {
        // Names are given by people, and text of a script ends at `</script`.
        let data = serde_json::to_string(chart).expect("a chart is plain JSON");
        let data = data.replace('<', "\\u003c");
        let (number, wide) = (self.charts.len(), chart.is_wide());
        let html = format!(
            "<figure class=\"chart{}\" data-chart=\"{number}\"><figcaption><h3>{}</h3><p>{}</p>\
             </figcaption><div class=\"plot\" role=\"img\" aria-label=\"{}\"></div></figure>\n",
            if wide { " wide" } else { "" },
            escaped(&chart.title),
            escaped(&chart.about),
            escaped(&chart.spoken()),
        );
        if data.len() + html.len() > self.room {
            self.left_out += 1;
            return;
        }
        if !self.in_charts {
            self.html("<div class=\"charts\">\n");
            self.in_charts = true;
        }
        self.body += &html;
        self.room -= data.len() + html.len();
        self.charts.push(data);
    }

    fn end_charts(&mut self) {
        if std::mem::take(&mut self.in_charts) {
            self.html("</div>\n");
        }
    }

    /// The page.
    pub fn finish(mut self) -> String {
        self.end_charts();
        if self.left_out > 0 {
            self.body += &format!(
                "<p class=\"note\">{} charts and tables of later sections were left out, because the page would \
                 be larger than {} MB; <code>--format-out csv</code> and <code>--series</code> have all \
                 figures.</p>\n",
                self.left_out,
                LARGEST / 1_000_000
            );
        }
        let data = format!(
            "{{\"style\":{},\"charts\":[{}]}}",
            style::for_page(),
            self.charts.join(",\n")
        );
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n\
             <style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n{}<footer class=\"about\">Charts by Apache \
             ECharts, \u{a9} The Apache Software Foundation, under the Apache License 2.0.</footer>\n</main>\n\
             <script type=\"application/json\" id=\"report-data\">{data}</script>\n\
             <script>{ECHARTS}</script>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
            escaped(&self.title),
            self.body
        )
    }
}

/// Text in HTML, and in its attributes; control characters are shown.
pub fn escaped(text: &str) -> String {
    harmless(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// A table with a caption whose columns the page sorts and copies: heads, rows of cells, and how many
/// columns at the left are text. The first text column heads the row.
pub fn table(caption: &str, heads: &[&str], rows: &[Vec<HtmlCell>], texts: usize) -> String {
    let class = |i: usize| if i < texts { " class=\"l\"" } else { "" };
    let mut text = format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table \
         class=\"data\"><caption>{0}</caption><thead><tr>",
        escaped(caption)
    );
    for (i, head) in heads.iter().enumerate() {
        text += &format!("<th scope=\"col\"{}>{}</th>", class(i), escaped(head));
    }
    text += "</tr></thead><tbody>\n";
    for row in rows {
        text += "<tr>";
        for (i, cell) in row.iter().enumerate() {
            let (tag, scope) = if i < texts {
                ("th", " scope=\"row\"")
            } else {
                ("td", "")
            };
            let best = if cell.best { " data-best" } else { "" };
            let sort = cell
                .sort
                .map_or(String::new(), |n| format!(" data-v=\"{n}\""));
            let shown = escaped(&cell.text);
            text += &format!("<{tag}{scope}{}{best}{sort}>{shown}</{tag}>", class(i));
        }
        text += "</tr>\n";
    }
    text + "</tbody></table></div>\n"
}

/// A cell of a table.
#[derive(Clone, Debug, Default)]
pub struct HtmlCell {
    /// The text shown.
    pub text: String,
    /// The key by which it is sorted, if it is not the text.
    pub sort: Option<u64>,
    /// Is it the best of its kind?
    pub best: bool,
}

impl HtmlCell {
    /// A cell that is sorted by what it shows.
    pub fn of(text: impl Into<String>) -> HtmlCell {
        HtmlCell {
            text: text.into(),
            ..HtmlCell::default()
        }
    }
}
