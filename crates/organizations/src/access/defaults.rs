//! What every instance begins with. It follows from the id of the instance, so that it is the same whenever it is asked
//! for, and nothing has to be written before somebody changes it.

use latchkey_base::id::{Id, Kind};
use latchkey_base::kinds::InstanceId;
use latchkey_kernel::derived::derived;

use super::model::{Access, Permission, READ_MEMBERSHIPS, Role, RoleSet, RoleSetKind};

const READ_BILLING: &str = "org:sys_billing:read";

/// The permissions of all instances: key, name, what it allows.
const SYSTEM: [(&str, &str, &str); 9] = [
    (
        super::model::MANAGE_PROFILE,
        "Manage organization",
        "Change the name, the logo and other settings of the organization.",
    ),
    (super::model::DELETE_PROFILE, "Delete organization", "Delete the organization."),
    (READ_MEMBERSHIPS, "Read members", "See the members of the organization."),
    (
        super::model::MANAGE_MEMBERSHIPS,
        "Manage members",
        "Invite people, change their roles and remove them.",
    ),
    (super::model::READ_DOMAINS, "Read domains", "See the domains of the organization."),
    (
        super::model::MANAGE_DOMAINS,
        "Manage domains",
        "Add, verify, change and remove domains of the organization.",
    ),
    (READ_BILLING, "Read billing", "See the subscription and the payments of the organization."),
    (
        "org:sys_billing:manage",
        "Manage billing",
        "Change the subscription of the organization and pay for it.",
    ),
    (
        "org:sys_entconns:manage",
        "Manage enterprise connections",
        "Change how the organization's people sign in through their own identity provider.",
    ),
];

/// What an instance begins with.
pub fn initial(instance: &InstanceId) -> Access {
    let ids = Derived(instance);
    let at = instance.made_at();
    let permissions: Vec<Permission> = SYSTEM
        .iter()
        .map(|(key, name, description)| Permission {
            id: ids.id(key),
            key: (*key).to_owned(),
            name: (*name).to_owned(),
            description: (*description).to_owned(),
            created_at: at,
            updated_at: at,
        })
        .collect();
    let role = |key: &str, name: &str, description: &str, held: &dyn Fn(&str) -> bool| Role {
        id: ids.id(key),
        key: key.to_owned(),
        name: name.to_owned(),
        description: Some(description.to_owned()),
        permissions: permissions
            .iter()
            .filter(|held_by| held(&held_by.key))
            .map(|it| it.id.clone())
            .collect(),
        created_at: at,
        updated_at: at,
    };
    let admin = role("org:admin", "Admin", "May do everything in the organization.", &|_| true);
    let is_members = |key: &str| [READ_MEMBERSHIPS, READ_BILLING].contains(&key);
    let member = role("org:member", "Member", "May see the organization and its members.", &is_members);
    let set = RoleSet {
        id: ids.id("role_set:default"),
        key: "role_set:default".to_owned(),
        name: "Primary Role Set".to_owned(),
        description: None,
        kind: RoleSetKind::Initial,
        roles: vec![admin.id.clone(), member.id.clone()],
        default_role: member.id.clone(),
        creator_role: admin.id.clone(),
        replaced: Vec::new(),
        created_at: at,
        updated_at: at,
    };
    Access {
        instance: instance.clone(),
        permissions,
        roles: vec![admin, member],
        role_sets: vec![set],
        migrations: Vec::new(),
    }
}

/// Makes ids that follow from an instance and a key.
struct Derived<'a>(&'a InstanceId);

impl Derived<'_> {
    fn id<K: Kind>(&self, key: &str) -> Id<K> {
        derived(self.0, key)
    }
}

#[cfg(test)]
mod tests {
    use latchkey_base::Time;
    use latchkey_base::rng::SeededRng;

    use super::*;

    #[test]
    fn instances_begin_with_an_admin_who_may_do_everything_and_a_member_who_may_look() {
        let (one, other) = (SeededRng::new(1), SeededRng::new(2));
        let (one, other) =
            (InstanceId::new(Time::from_ms(0), &one), InstanceId::new(Time::from_ms(0), &other));
        let access = initial(&one);
        let set = access.initial_role_set().unwrap();
        let admin = access.role(&set.creator_role).unwrap();
        let member = access.role(&set.default_role).unwrap();
        assert!(access.is_creator_eligible(admin));
        assert_eq!(access.permission_keys(admin).len(), SYSTEM.len());
        assert_eq!(access.permission_keys(member), [READ_BILLING, READ_MEMBERSHIPS]);
        assert!(!access.is_creator_eligible(member));
        assert_eq!(access.role_by_key("admin"), Some(admin));
        assert_eq!(access.role_by_key("basic_member"), Some(member));
        assert_eq!(access, initial(&one), "it is the same whenever it is asked for");
        assert_ne!(access.roles[0].id, initial(&other).roles[0].id, "and another in another instance");
    }
}
