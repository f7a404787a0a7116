//! fn not_this() is in a comment.
use std::collections::HashMap;

pub const LIMIT: usize = 10;
static NAME: &str = "shop";

#[derive(Debug, Clone)]
pub struct Price {
    cents: u64,
}

pub(crate) enum Level {
    Low,
    High(u8),
}

pub trait Shelf<T> {
    type Key;
    fn put(&mut self, book: T) -> Option<Self::Key>;
}

impl<T: Clone> Shelf<T> for HashMap<u64, T> {
    type Key = u64;

    fn put(&mut self, book: T) -> Option<u64> {
        let found = if self.is_empty() { 0 } else { 1 };
        self.insert(found, book);
        Some(found)
    }
}

pub async unsafe fn fetched<'a>(code: &'a str) -> Result<Price, std::io::Error> {
    todo!("{code}")
}

extern "C" fn called_from_c(n: i32) -> i32 {
    n
}

macro_rules! price {
    ($n:expr) => {
        Price { cents: $n }
    };
}

#[cfg(test)]
mod tests {
    #[test]
    fn adds() {}
}
