//! What upper groups hand to lower ones at start-up, found by its type. A lower group defines the type and looks for
//! it; it never learns who registered.

use std::any::{Any, TypeId};
use std::collections::HashMap;

/// What upper groups registered, by its type: lists of what the type stands for, in the order of the groups.
#[derive(Default)]
pub struct Registry(HashMap<TypeId, Box<dyn Any + Send + Sync>>);

impl Registry {
    /// Registers something of a type that a lower group defines.
    pub fn add<T: Send + Sync + 'static>(&mut self, registered: T) {
        let list = self.0.entry(TypeId::of::<T>()).or_insert_with(|| Box::new(Vec::<T>::new()));
        if let Some(list) = list.downcast_mut::<Vec<T>>() {
            list.push(registered);
        }
    }

    /// Everything of a type that was registered.
    pub fn all<T: Send + Sync + 'static>(&self) -> &[T] {
        self.0
            .get(&TypeId::of::<T>())
            .and_then(|list| list.downcast_ref::<Vec<T>>())
            .map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_registered_is_found_by_its_type_in_order() {
        let mut registry = Registry::default();
        registry.add("first");
        registry.add(7_u32);
        registry.add("second");
        assert_eq!(registry.all::<&str>(), ["first", "second"]);
        assert_eq!(registry.all::<u32>(), [7]);
        assert!(registry.all::<i64>().is_empty());
    }
}
