//! The public keys of providers, kept for a while.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use latchkey_base::Time;
use latchkey_jose::foreign::ForeignKeys;
use latchkey_kernel::cx::Cx;

use super::http::{CallFailure, Caller};

/// Providers announce new keys hours before they sign with them.
const KEPT_MS: i64 = 10 * 60 * 1000;
/// A token that no known key signed asks for the keys anew, but not more often: anybody can write such a token.
const AGAIN_MS: i64 = 10 * 1000;
const SETS: usize = 256;

/// Keys of providers by their addresses. The server registers one.
#[derive(Default)]
pub struct ProviderKeys(Mutex<HashMap<String, KeptKeys>>);

#[derive(Clone)]
struct KeptKeys {
    since: Time,
    keys: Arc<ForeignKeys>,
}

impl ProviderKeys {
    fn find(&self, url: &str) -> Option<KeptKeys> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(url).cloned()
    }

    fn keep(&self, url: &str, kept: KeptKeys) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= SETS {
            all.clear();
        }
        all.insert(url.to_owned(), kept);
    }
}

/// The keys at an address: those that were read a moment ago, unless they do not have the key of this name.
pub(super) async fn keys(
    cx: &Cx,
    caller: &Caller<'_>,
    url: &str,
    wanted: Option<&str>,
) -> Result<Arc<ForeignKeys>, CallFailure> {
    let cache = cx.app.product.registry.all::<ProviderKeys>().first();
    if let Some(kept) = cache.and_then(|cache| cache.find(url)) {
        let age = cx.now.ms_since(kept.since);
        let has_it = wanted.is_none_or(|kid| kept.keys.has(kid));
        if (has_it && age < KEPT_MS) || (!has_it && age < AGAIN_MS) {
            return Ok(kept.keys);
        }
    }
    read(cx, caller, url).await
}

/// The keys at an address, read anew unless that was done a moment ago.
pub(super) async fn newer(
    cx: &Cx,
    caller: &Caller<'_>,
    url: &str,
) -> Result<Option<Arc<ForeignKeys>>, CallFailure> {
    let kept = cx.app.product.registry.all::<ProviderKeys>().first().and_then(|cache| cache.find(url));
    match kept.is_some_and(|kept| cx.now.ms_since(kept.since) < AGAIN_MS) {
        true => Ok(None),
        false => read(cx, caller, url).await.map(Some),
    }
}

async fn read(cx: &Cx, caller: &Caller<'_>, url: &str) -> Result<Arc<ForeignKeys>, CallFailure> {
    let document = caller.get(url, Vec::new()).await?;
    let keys = Arc::new(ForeignKeys::read(&document));
    if let Some(cache) = cx.app.product.registry.all::<ProviderKeys>().first() {
        cache.keep(url, KeptKeys { since: cx.now, keys: keys.clone() });
    }
    Ok(keys)
}
