//! Arrays of the size of the device that take memory only where they were written.

/// An array in chunks of `N`, each allocated when one of its values is first set.
#[derive(Clone, Debug)]
pub(super) struct FirstTouch<T, const N: usize> {
    chunks: Vec<Option<Box<[T; N]>>>,
    initial: T,
    touched: usize,
}

impl<T: Copy, const N: usize> FirstTouch<T, N> {
    /// `len` values, all `initial`. Takes one pointer per chunk, in memory that the operating
    /// system provides on first use.
    pub fn new(len: u64, initial: T) -> FirstTouch<T, N> {
        let chunks = usize::try_from(len.div_ceil(N as u64)).expect("tables fit the address space");
        FirstTouch {
            chunks: vec![None; chunks],
            initial,
            touched: 0,
        }
    }

    /// Value `index`.
    ///
    /// # Panics
    /// If `index` lies beyond the last chunk.
    #[inline]
    pub fn get(&self, index: u64) -> T {
        let index = index as usize;
        match &self.chunks[index / N] {
            Some(chunk) => chunk[index % N],
            None => self.initial,
        }
    }

    /// Value `index`, to be changed.
    ///
    /// # Panics
    /// If `index` lies beyond the last chunk.
    #[inline]
    pub fn at(&mut self, index: u64) -> &mut T {
        let index = index as usize;
        let chunk = &mut self.chunks[index / N];
        let chunk = match chunk {
            Some(chunk) => chunk,
            None => {
                self.touched += 1;
                chunk.insert(new_chunk(self.initial))
            }
        };
        &mut chunk[index % N]
    }

    /// Bytes of the chunks allocated so far, and of the list of chunks.
    pub fn bytes(&self) -> u64 {
        let pointers = self.chunks.len() * size_of::<Option<Box<[T; N]>>>();
        (self.touched * size_of::<[T; N]>() + pointers) as u64
    }
}

#[cold]
#[inline(never)]
fn new_chunk<T: Copy, const N: usize>(initial: T) -> Box<[T; N]> {
    Box::new([initial; N])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_written_chunks_take_memory() {
        let mut table = FirstTouch::<u32, 16>::new(33, 7);
        let empty = table.bytes();
        assert_eq!((table.get(0), table.get(32), table.bytes()), (7, 7, empty));
        *table.at(17) = 1;
        *table.at(18) = 2;
        assert_eq!((table.get(16), table.get(17), table.get(18)), (7, 1, 2));
        assert_eq!(table.bytes(), empty + 64);
    }
}
