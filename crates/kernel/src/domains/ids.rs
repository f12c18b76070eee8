//! The ids of domains. The primary domain has one that follows from its instance, a satellite one that follows from its
//! name, unless the settings name another: because it was added by the API, or has another name by now.

use latchkey_base::kinds::{DomainId, InstanceId};

use crate::derived::derived;
use crate::settings::Satellite;

/// The id of the primary domain of an instance, whatever its name is.
pub fn primary(instance: &InstanceId) -> DomainId {
    derived(instance, "domain")
}

pub fn satellite(instance: &InstanceId, satellite: &Satellite) -> DomainId {
    satellite.id.clone().unwrap_or_else(|| of_name(instance, &satellite.name, 0))
}

/// Satellites that are about to be saved, with the ids that those of the same names had before. Whoever writes the list
/// without ids keeps them, and a new satellite gets none that another has, such as one that had its name before.
pub fn kept(instance: &InstanceId, before: &[Satellite], mut after: Vec<Satellite>) -> Vec<Satellite> {
    let mut used: Vec<DomainId> = after.iter().filter_map(|it| it.id.clone()).collect();
    let known = |name: &str| before.iter().find(|it| it.name == name).map(|it| satellite(instance, it));
    for same in after.iter_mut().filter(|it| it.id.is_none()) {
        same.id = known(&same.name).filter(|id| !used.contains(id));
        used.extend(same.id.clone());
    }
    for new in after.iter_mut() {
        let mut free =
            (0..).map(|number| of_name(instance, &new.name, number)).filter(|id| !used.contains(id));
        let id = new.id.take().or_else(|| free.next());
        used.extend(id.clone());
        new.id = id.filter(|id| *id != of_name(instance, &new.name, 0));
    }
    after
}

fn of_name(instance: &InstanceId, name: &str, number: u32) -> DomainId {
    match number {
        0 => derived(instance, &format!("domain/{name}")),
        _ => derived(instance, &format!("domain/{name}/{number}")),
    }
}

#[cfg(test)]
mod tests {
    use latchkey_base::Time;
    use latchkey_base::rng::SeededRng;

    use super::*;

    fn named(name: &str) -> Satellite {
        Satellite { id: None, name: name.to_owned(), frontend_api: None, proxy_url: None }
    }

    #[test]
    fn a_list_that_is_written_without_ids_keeps_them() {
        let instance = InstanceId::new(Time::from_ms(0), &SeededRng::new(1));
        let ids = |list: &[Satellite]| list.iter().map(|it| satellite(&instance, it)).collect::<Vec<_>>();
        let renamed = Satellite { id: Some(ids(&[named("a.org")])[0].clone()), ..named("b.org") };
        let before = [renamed, named("c.org")];
        let after = kept(&instance, &before, vec![named("a.org"), named("c.org"), named("b.org")]);
        let [third, first, second] = ids(&after).try_into().unwrap();
        assert_eq!([second.clone(), first.clone()], *ids(&before));
        assert!(third != first && third != second && third != primary(&instance));
        assert_eq!(kept(&instance, &after, after.clone()), after);
        assert_eq!(after[1].id, None, "an id that follows from the name is not stored");
    }
}
