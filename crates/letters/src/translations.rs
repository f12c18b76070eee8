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

/// What was used since half of the room was taken, and what was used before: what is used stays.
#[derive(Default)]
struct Kept {
    recent: HashMap<Box<str>, Arc<str>>,
    recent_bytes: usize,
    older: HashMap<Box<str>, Arc<str>>,
}

impl Translations {
    const fn new() -> Translations {
        Translations(Mutex::new(None))
    }

    /// What is kept, or what is made now.
    fn get(&self, source: &str, make: impl FnOnce() -> Result<String>) -> Result<Arc<str>> {
        if let Some(found) = self.change(|kept| kept.find(source)) {
            return Ok(found);
        }
        let made: Arc<str> = make()?.into();
        self.change(|kept| kept.keep(source.into(), made.clone()));
        Ok(made)
    }

    fn change<T>(&self, change: impl FnOnce(&mut Kept) -> T) -> T {
        change(self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default())
    }
}

impl Kept {
    fn find(&mut self, source: &str) -> Option<Arc<str>> {
        if let Some(found) = self.recent.get(source) {
            return Some(found.clone());
        }
        let (source, found) = self.older.remove_entry(source)?;
        self.keep(source, found.clone());
        Some(found)
    }

    fn keep(&mut self, source: Box<str>, made: Arc<str>) {
        let bytes = source.len() + made.len();
        if self.recent_bytes + bytes > KEPT_BYTES / 2 {
            self.older = std::mem::take(&mut self.recent);
            self.recent_bytes = 0;
        }
        if self.recent.insert(source, made).is_none() {
            self.recent_bytes += bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_that_is_used_is_read_once_and_what_is_kept_is_bounded() {
        let kept = Translations::new();
        let read = |source: &str| kept.get(source, || Ok(format!("read {source}"))).unwrap();
        assert_eq!(&*read("a"), "read a");
        for number in 0..200 {
            read(&format!("{number} {}", "x".repeat(100_000)));
            assert_eq!(&*kept.get("a", || panic!("read again")).unwrap(), "read a");
            let bytes = |map: &HashMap<Box<str>, Arc<str>>| -> usize {
                map.iter().map(|(source, made)| source.len() + made.len()).sum()
            };
            assert!(kept.change(|kept| bytes(&kept.recent) + bytes(&kept.older)) <= KEPT_BYTES);
        }
    }
}
