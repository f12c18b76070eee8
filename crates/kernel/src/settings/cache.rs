//! Parsed settings, kept by revision.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use latchkey_base::kinds::InstanceId;

use super::Settings;

/// Parsed settings by instance and revision.
#[derive(Default)]
pub struct SettingsCache(RwLock<HashMap<InstanceId, (i64, Arc<Settings>)>>);

/// Instances whose settings are kept parsed.
const KEPT: usize = 10_000;

impl SettingsCache {
    /// The settings of that very revision, if they are here.
    pub fn get(&self, instance: &InstanceId, revision: i64) -> Option<Arc<Settings>> {
        let cached = self.0.read().unwrap_or_else(PoisonError::into_inner);
        cached.get(instance).filter(|(cached, _)| *cached == revision).map(|(_, settings)| settings.clone())
    }

    /// Keeps parsed settings.
    pub fn put(&self, instance: InstanceId, revision: i64, settings: Arc<Settings>) {
        let mut cached = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if cached.len() >= KEPT {
            cached.clear();
        }
        cached.insert(instance, (revision, settings));
    }
}
