//! Claims of random memberships, read as the JavaScript SDK reads them.

use latchkey_base::Time;
use latchkey_base::kinds::{InstanceId, OrganizationId, OrganizationMembershipId, PermissionId, UserId};
use latchkey_base::rng::{Rng, SeededRng, bytes};
use latchkey_organizations::access::defaults;
use latchkey_organizations::access::model::Permission;
use latchkey_organizations::memberships::model::{Membership, MembershipMetadata};
use latchkey_organizations::orgs::model::Organization;
use latchkey_people::users::model::Entitlements;

use super::*;

const AT: Time = Time::from_ms(1_700_000_000_000);

/// A membership of an admin who may do all of these, besides what admins may do anyway.
fn member(permissions: &[String], entitlements: Entitlements, rng: &dyn Rng) -> ActiveMembership {
    let instance = InstanceId::new(AT, rng);
    let mut access = defaults::initial(&instance);
    for key in permissions {
        let id = PermissionId::new(AT, rng);
        access.roles[0].permissions.push(id.clone());
        let (key, name, description) = (key.clone(), String::new(), String::new());
        access.permissions.push(Permission { id, key, name, description, created_at: AT, updated_at: AT });
    }
    let metadata = MembershipMetadata::default();
    let organization = Organization {
        instance: instance.clone(),
        id: OrganizationId::new(AT, rng),
        name: "Engines".to_owned(),
        slug: Some("engines".to_owned()),
        image: None,
        public_metadata: metadata.public_metadata.clone(),
        private_metadata: metadata.private_metadata.clone(),
        max_allowed_memberships: 5,
        admin_delete_enabled: true,
        created_by: None,
        role_set: access.role_sets[0].id.clone(),
        entitlements,
        created_at: AT,
        updated_at: AT,
        members_count: 1,
    };
    let membership = Membership {
        instance,
        organization: organization.id.clone(),
        user: UserId::new(AT, rng),
        id: OrganizationMembershipId::new(AT, rng),
        role: access.roles[0].id.clone(),
        metadata,
        created_at: AT,
        updated_at: AT,
    };
    ActiveMembership { membership, organization, access: access.into() }
}

fn below(rng: &dyn Rng, most: u8) -> u8 {
    bytes::<1>(rng)[0] % most
}

/// The bits of a decimal number, the lowest first, as `decimalToBinaryBits` of the SDK finds them.
fn bits(decimal: &str) -> Vec<bool> {
    let mut remaining = decimal.trim_start_matches('0').to_owned();
    let mut bits = Vec::new();
    while !remaining.is_empty() {
        let (mut quotient, mut remainder) = (String::new(), 0);
        for digit in remaining.bytes() {
            let value = remainder * 10 + (digit - b'0');
            let half = value / 2;
            if !quotient.is_empty() || half != 0 {
                quotient.push(char::from(b'0' + half));
            }
            remainder = value % 2;
        }
        bits.push(remainder == 1);
        remaining = quotient;
    }
    bits
}

/// The permissions that the SDK finds in claims. Some SDKs count only the features of the organization, others all.
fn read(fea: &str, claim: &Value, is_counting_all: bool) -> Vec<String> {
    let (Some(per), Some(fpm)) = (claim["per"].as_str(), claim["fpm"].as_str()) else { return Vec::new() };
    let names: Vec<&str> = per.split(',').collect();
    let numbers: Vec<&str> = fpm.split(',').collect();
    let is_counted = |scope: &str| is_counting_all || scope == "o";
    let counted =
        fea.split(',').filter_map(|part| part.split_once(':')).filter(|(scope, _)| is_counted(scope));
    let mut found = Vec::new();
    for ((_, feature), number) in counted.zip(numbers) {
        for (is_permitted, name) in bits(number).into_iter().zip(&names) {
            if is_permitted {
                found.push(format!("org:{feature}:{name}"));
            }
        }
    }
    found.sort();
    found
}

/// The features as a token has them, with some of the user behind them.
fn fea(active: &ActiveMembership) -> String {
    let own = features(active).into_iter().map(|feature| format!("o:{feature}"));
    own.chain(["u:chat".to_owned(), "u:f1".to_owned()]).collect::<Vec<_>>().join(",")
}

#[test]
fn sdks_read_the_permissions_that_a_member_has() {
    for seed in 0..400 {
        let rng = SeededRng::new(seed);
        // As many names as there may be, now and then.
        let most = u8::try_from(CUSTOM_PERMISSIONS).unwrap();
        let (features, names) = (1 + below(&rng, 6), if seed % 7 == 0 { most } else { 1 + below(&rng, 9) });
        let mut permissions: Vec<String> = (0..1 + usize::from(names) * 2)
            .map(|_| format!("org:f{}:n{}", below(&rng, features), below(&rng, names)))
            .collect();
        permissions.sort();
        permissions.dedup();
        let active = member(&permissions, Entitlements::default(), &rng);
        let claim = serde_json::to_value(second_form(&active)).unwrap();
        for is_counting_all in [false, true] {
            assert_eq!(read(&fea(&active), &claim, is_counting_all), permissions, "seed {seed}: {claim}");
        }
        assert_eq!(first_form(&active)["org_permissions"], json!(permissions), "seed {seed}");
    }
}

#[test]
fn the_claims_are_those_of_the_published_example() {
    let rng = SeededRng::new(1);
    let permissions = ["org:dashboard:manage", "org:dashboard:read", "org:teams:read"].map(str::to_owned);
    let active = member(&permissions, Entitlements::default(), &rng);
    let id = &active.organization.id;
    assert_eq!(features(&active), ["dashboard", "teams"]);
    assert_eq!(
        serde_json::to_value(second_form(&active)).unwrap(),
        json!({"id": id, "slg": "engines", "rol": "admin", "per": "manage,read", "fpm": "3,2"})
    );
    let expected = json!({
        "org_id": id, "org_slug": "engines", "org_role": "org:admin", "org_permissions": permissions,
    });
    assert_eq!(Value::from(first_form(&active)), expected);
}

#[test]
fn permissions_of_the_server_itself_are_not_in_tokens() {
    let mut active = member(&[], Entitlements::default(), &SeededRng::new(1));
    active.organization.slug = None;
    let claim = serde_json::to_value(second_form(&active)).unwrap();
    assert_eq!(claim, json!({"id": active.organization.id, "rol": "admin"}));
    assert!(features(&active).is_empty());
    let expected = json!({"org_id": active.organization.id, "org_role": "org:admin", "org_permissions": []});
    assert_eq!(Value::from(first_form(&active)), expected);
}

#[test]
fn permissions_count_for_features_that_the_plan_has_once_there_is_one() {
    let permissions = ["org:reports:read", "org:teams:read"].map(str::to_owned);
    let bought = Entitlements { plan: Some("pro".into()), features: vec!["teams".into(), "exports".into()] };
    let active = member(&permissions, bought, &SeededRng::new(1));
    assert_eq!(features(&active), ["exports", "teams"]);
    let claim = serde_json::to_value(second_form(&active)).unwrap();
    assert_eq!((&claim["per"], &claim["fpm"]), (&json!("read"), &json!("0,1")));
    assert_eq!(read(&fea(&active), &claim, false), ["org:teams:read"]);
    assert_eq!(first_form(&active)["org_permissions"], json!(["org:teams:read"]));
}
