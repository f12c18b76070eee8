//! Reading the memberships of everybody who is signed in on a client.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::Arc;

use latchkey_base::kinds::{InstanceId, UserId};
use latchkey_base::{Result, Time};
use latchkey_db::Tx;
use latchkey_organizations::access::model::Access;
use latchkey_organizations::access::store as access;
use latchkey_organizations::memberships::model::{ActiveMembership, Membership};
use latchkey_organizations::memberships::view::{self, FrontendMembershipView};
use latchkey_organizations::orgs::model::Organization;
use latchkey_people::users::model::User;
use latchkey_people::users::view::ViewContext;
use serde_json::{Map, Value, json};

use super::store;
use crate::sessions::present::PresentSession;
use crate::sessions::templated::check_count;

/// The memberships of everybody who is signed in on a client.
#[derive(Default)]
pub struct OwnMemberships {
    /// Of each user those joined last, and behind them those of organizations that the sessions name.
    all: Vec<OwnMembership>,
    /// The roles of the instance, if there are memberships.
    access: Option<Arc<Access>>,
}

/// A membership, as far as its user sees it.
pub struct OwnMembership {
    pub(super) membership: Membership,
    pub(super) organization: Organization,
    pub(super) pending_invitations: i64,
    /// Whether it is shown. One more than is shown is read, which tells that there are more.
    pub(super) is_shown: bool,
}

impl OwnMemberships {
    /// No memberships of anybody.
    pub const fn none() -> OwnMemberships {
        OwnMemberships { all: Vec::new(), access: None }
    }

    /// Reads those of the users of sessions. Those of the organizations they work for came with the sessions.
    pub async fn of_sessions(
        tx: &mut Tx,
        instance: &InstanceId,
        sessions: &[PresentSession],
        now: Time,
    ) -> Result<OwnMemberships> {
        let mut all = Vec::new();
        let mut seen = HashSet::new();
        for user in sessions.iter().map(|present| &present.user.id).filter(|id| seen.insert(*id)) {
            let own = sessions.iter().filter(|present| present.user.id == *user);
            let active = own.filter_map(|present| present.active.as_ref()).collect();
            all.extend(of_user(tx, instance, user, active, now).await?);
        }
        let came = sessions.iter().find_map(|present| Some(present.active.as_ref()?.access.clone()));
        let access = match came {
            None if !all.is_empty() => Some(Arc::new(access::find(tx, instance).await?)),
            came => came,
        };
        Ok(OwnMemberships { all, access })
    }

    /// Those of one user, as they see them.
    pub fn of<'a>(&'a self, user: &'a User, context: ViewContext<'_>) -> Vec<FrontendMembershipView<'a>> {
        let Some(access) = &self.access else { return Vec::new() };
        let own = self.all.iter().filter(|own| own.membership.user == user.id && own.is_shown);
        own.map(|own| {
            let parts = (&own.organization, user);
            view::frontend(&own.membership, parts, own.pending_invitations, access, context)
        })
        .collect()
    }

    /// The roles of one user, by the id of the organization. Somebody who is in more than can be named is refused.
    pub fn roles(&self, user: &UserId) -> Result<Map<String, Value>> {
        let own: Vec<_> = self.all.iter().filter(|own| own.membership.user == *user).collect();
        check_count(own.len())?;
        let named = own.into_iter().filter_map(|OwnMembership { membership, .. }| {
            let role = self.access.as_ref()?.role(&membership.role)?;
            Some((membership.organization.to_string(), json!(role.key)))
        });
        Ok(named.collect())
    }
}

/// The memberships of one user who works for these organizations.
async fn of_user(
    tx: &mut Tx,
    instance: &InstanceId,
    user: &UserId,
    active: Vec<&ActiveMembership>,
    now: Time,
) -> Result<Vec<OwnMembership>> {
    let mut own = store::newest_of_user(tx, instance, user, now).await?;
    for active in active {
        if let Some(found) = own.iter_mut().find(|own| own.membership.id == active.membership.id) {
            found.is_shown = true;
        } else {
            let id = &active.organization.id;
            own.push(OwnMembership {
                membership: active.membership.clone(),
                organization: active.organization.clone(),
                pending_invitations: store::count_invitations(tx, instance, id, now).await?,
                is_shown: true,
            });
        }
    }
    let age =
        |own: &OwnMembership| Reverse((own.membership.created_at, own.membership.organization.to_string()));
    own.sort_by_cached_key(age);
    Ok(own)
}
