//! Rows that are reused: memory grows to the largest number of live rows and stays.

use std::ops::{Index, IndexMut};

#[derive(Clone, Debug, Default)]
pub(crate) struct Slab<T> {
    rows: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub fn new() -> Slab<T> {
        Slab {
            rows: Vec::new(),
            free: Vec::new(),
        }
    }

    #[inline]
    pub fn add(&mut self, row: T) -> u32 {
        match self.free.pop() {
            Some(at) => {
                self.rows[at as usize] = Some(row);
                at
            }
            None => {
                self.rows.push(Some(row));
                (self.rows.len() - 1) as u32
            }
        }
    }

    #[inline]
    pub fn remove(&mut self, at: u32) -> T {
        self.free.push(at);
        self.rows[at as usize]
            .take()
            .expect("a row is removed once")
    }

    /// The live rows, in the order of their numbers.
    pub fn rows(&self) -> impl Iterator<Item = (u32, &T)> {
        let rows = (0..).zip(&self.rows);
        rows.filter_map(|(number, row)| Some((number, row.as_ref()?)))
    }

    /// The live rows with their numbers, in order, to be changed.
    pub fn rows_mut(&mut self) -> impl Iterator<Item = (u32, &mut T)> {
        let rows = (0..).zip(&mut self.rows);
        rows.filter_map(|(number, row)| Some((number, row.as_mut()?)))
    }

    #[inline]
    pub fn get_mut(&mut self, at: u32) -> Option<&mut T> {
        self.rows[at as usize].as_mut()
    }
}

impl<T> Index<u32> for Slab<T> {
    type Output = T;

    #[inline]
    fn index(&self, at: u32) -> &T {
        self.rows[at as usize].as_ref().expect("a live row")
    }
}

impl<T> IndexMut<u32> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, at: u32) -> &mut T {
        self.rows[at as usize].as_mut().expect("a live row")
    }
}
