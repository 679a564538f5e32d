//! The schemes that an expression may name.

use crate::info::SchemeInfo;

/// The schemes that an expression may name. The registry has the one of this crate.
#[derive(Clone, Copy, Debug)]
pub struct Catalogue<'a> {
    /// Schemes, in the order of listings.
    pub schemes: &'a [&'static SchemeInfo],
    /// Other spellings of compositions: alias, then the layers it stands for, outermost first.
    pub aliases: &'a [(&'static str, &'static [&'static str])],
    /// Schemes of a program that go before those.
    pub own: &'a [&'static SchemeInfo],
}

impl Catalogue<'_> {
    /// The scheme called `name` (canonical spelling).
    pub fn find(&self, name: &str) -> Option<&'static SchemeInfo> {
        let mut all = self.own.iter().chain(self.schemes).copied();
        all.find(|info| info.name == name)
    }

    /// The layers `name` stands for, outermost first, if it is an alias.
    pub fn alias(&self, name: &str) -> Option<&'static [&'static str]> {
        self.aliases.iter().find(|a| a.0 == name).map(|a| a.1)
    }

    /// The scheme name or alias nearest to `name`, for error messages.
    ///
    /// # Panics
    /// The catalogue is empty.
    pub fn nearest(&self, name: &str) -> &'static str {
        let names = self.schemes.iter().map(|info| info.name);
        let known = names.chain(self.aliases.iter().map(|a| a.0));
        destage_types::nearest(name, known).expect("there are schemes")
    }
}
