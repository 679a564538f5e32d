//! The lists of a scheme as data, for pictures of it.

use destage_types::Slot;
use std::borrow::Cow;

/// The lists that a scheme keeps cached pages in. Each cached page stands in exactly one list.
#[derive(Clone, Debug, Default)]
pub struct PageLists {
    lists: Vec<PageList>,
    /// In front of the names of lists that are added.
    prefix: String,
}

/// One list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PageList {
    /// Name, as the paper of the scheme has it. Each list of a scheme has another one.
    pub name: Cow<'static, str>,
    /// Its pages. The page that is kept longest is first where the list is an order.
    pub slots: Vec<Slot>,
}

impl PageLists {
    /// Adds a list, even if it is empty.
    pub fn add(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        slots: impl IntoIterator<Item = Slot>,
    ) {
        let name = name.into();
        let name = match self.prefix.is_empty() {
            true => name,
            false => Cow::Owned(format!("{}{name}", self.prefix)),
        };
        let slots = slots.into_iter().collect();
        self.lists.push(PageList { name, slots });
    }

    /// Lets `add` add lists whose names begin with `prefix`: those of one of several schemes inside.
    pub fn within(&mut self, prefix: &str, add: impl FnOnce(&mut PageLists)) {
        let length = self.prefix.len();
        self.prefix.push_str(prefix);
        add(self);
        self.prefix.truncate(length);
    }

    /// The lists, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = &PageList> {
        self.lists.iter()
    }

    /// Moves the lists out.
    pub fn take(&mut self) -> Vec<PageList> {
        std::mem::take(&mut self.lists)
    }
}
