//! What members are answered: organizations and memberships, with the invitations that wait.

use std::collections::HashMap;

use axum::response::Response;
use latchkey_base::Result;
use latchkey_base::kinds::OrganizationId;
use latchkey_door::client::view_context;
use latchkey_door::person::Person;
use latchkey_kernel::cx::Cx;
use latchkey_kernel::wire::{ListView, MaybePaginated};
use latchkey_organizations::access::model::Access;
use latchkey_organizations::memberships::model::MembershipParts;
use latchkey_organizations::memberships::view as memberships;
use latchkey_organizations::orgs::model::Organization;
use latchkey_organizations::orgs::store;
use latchkey_organizations::orgs::view as organizations;

/// Answers with an organization as it is now.
pub(super) async fn show(cx: &Cx, person: &Person, outcome: Result<Organization>) -> Response {
    let visitor = &person.visitor;
    let counted = match outcome {
        Ok(organization) => pending(cx, &organization).await.map(|pending| (organization, pending)),
        Err(error) => Err(error),
    };
    match counted {
        Ok((organization, pending)) => {
            let view = organizations::frontend(&organization, pending, &visitor.site.base_url);
            visitor.answer(cx, Ok(view)).await
        }
        Err(error) => visitor.answer::<()>(cx, Err(error)).await,
    }
}

/// Answers with a membership as it is now.
pub(super) async fn show_member(
    cx: &Cx,
    person: &Person,
    outcome: Result<(MembershipParts, Access)>,
) -> Response {
    let visitor = &person.visitor;
    let counted = match outcome {
        Ok((parts, access)) => pending(cx, &parts.organization).await.map(|pending| (parts, access, pending)),
        Err(error) => Err(error),
    };
    match counted {
        Ok((parts, access, pending)) => {
            let (context, joined) = (view_context(&visitor.site, cx.now), (&parts.organization, &parts.user));
            let view = memberships::frontend(&parts.membership, joined, pending, &access, context);
            visitor.answer(cx, Ok(view)).await
        }
        Err(error) => visitor.answer::<()>(cx, Err(error)).await,
    }
}

/// A page of memberships.
pub(super) struct Memberships {
    pub(super) page: Vec<MembershipParts>,
    pub(super) total_count: i64,
    pub(super) access: Access,
}

/// Answers with memberships: a bare list, or with their number.
pub(super) async fn show_members(
    cx: &Cx,
    person: &Person,
    is_paginated: bool,
    outcome: Result<Memberships>,
) -> Response {
    let visitor = &person.visitor;
    let counted = match outcome {
        Ok(found) => pending_of(cx, person, &found.page).await.map(|pending| (found, pending)),
        Err(error) => Err(error),
    };
    let (found, pending) = match counted {
        Ok(counted) => counted,
        Err(error) => return visitor.answer::<()>(cx, Err(error)).await,
    };
    let context = view_context(&visitor.site, cx.now);
    let views = found.page.iter().map(|MembershipParts { membership, organization, user }| {
        let pending = pending.get(&organization.id).copied().unwrap_or_default();
        memberships::frontend(membership, (organization, user), pending, &found.access, context)
    });
    let data: Vec<_> = views.collect();
    let view = match is_paginated {
        true => MaybePaginated::Paginated(ListView { data, total_count: found.total_count }),
        false => MaybePaginated::Bare(data),
    };
    visitor.answer(cx, Ok(view)).await
}

/// How many invitations to an organization wait for an answer.
async fn pending(cx: &Cx, organization: &Organization) -> Result<i64> {
    let mut tx = cx.app.db.read().await?;
    store::count_pending_invitations(&mut tx, &organization.instance, &organization.id, cx.now).await
}

/// The same for the organizations of a page.
async fn pending_of(
    cx: &Cx,
    person: &Person,
    page: &[MembershipParts],
) -> Result<HashMap<OrganizationId, i64>> {
    let mut ids: Vec<&OrganizationId> = page.iter().map(|parts| &parts.organization.id).collect();
    ids.dedup();
    let mut tx = cx.app.db.read().await?;
    store::count_pending_invitations_of(&mut tx, &person.visitor.site.instance, ids, cx.now).await
}
