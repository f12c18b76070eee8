//! Templates in the engine's words, as long as they are used. Reading a template takes three times as long as filling it
//! in, and messages are written inside transactions.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use latchkey_base::Result;

use super::render::{OutputKind, translate};

/// How much of each kind is kept: all defaults, and dozens of the longest that instances write.
const KEPT_BYTES: usize = 8 * 1024 * 1024;

static PAGES: Translations = Translations::new();
static LINES: Translations = Translations::new();
static TEXTS: Translations = Translations::new();

/// The template in the engine's words.
pub(crate) fn of(source: &str, form: OutputKind) -> Result<Arc<str>> {
    let kept = match form {
        OutputKind::Html => &PAGES,
        OutputKind::Line => &LINES,
        OutputKind::Text => &TEXTS,
    };
    kept.get(source, || translate(source, form))
}

/// By what was written.
struct Translations(Mutex<Option<Kept>>);

#[derive(Default)]
struct Kept {
    by_source: HashMap<Box<str>, Arc<str>>,
    bytes: usize,
}

impl Translations {
    const fn new() -> Translations {
        Translations(Mutex::new(None))
    }

    /// What is kept, or what is made now. Once there is too much of it, all is forgotten.
    fn get(&self, source: &str, make: impl FnOnce() -> Result<String>) -> Result<Arc<str>> {
        if let Some(found) = self.change(|kept| kept.by_source.get(source).cloned()) {
            return Ok(found);
        }
        let made: Arc<str> = make()?.into();
        self.change(|kept| {
            let bytes = source.len() + made.len();
            if kept.bytes + bytes > KEPT_BYTES {
                *kept = Kept::default();
            }
            if kept.by_source.insert(source.into(), made.clone()).is_none() {
                kept.bytes += bytes;
            }
        });
        Ok(made)
    }

    fn change<T>(&self, change: impl FnOnce(&mut Kept) -> T) -> T {
        change(self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_read_once_and_what_is_kept_is_bounded() {
        let kept = Translations::new();
        let read = |source: &str| kept.get(source, || Ok(format!("read {source}"))).unwrap();
        assert_eq!(&*read("a"), "read a");
        assert_eq!(&*kept.get("a", || panic!("read again")).unwrap(), "read a");
        for number in 0..100 {
            read(&format!("{number} {}", "x".repeat(100_000)));
            assert!(kept.change(|kept| kept.bytes) <= KEPT_BYTES);
        }
        assert_eq!(&*read("a"), "read a");
    }
}
