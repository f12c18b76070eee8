//! Invitations to organizations: as members who may manage them see them, and as whoever is invited does.

use axum::response::Response;
use latchkey_base::Result;
use latchkey_base::kinds::{OrganizationId, OrganizationInvitationId, UserId};
use latchkey_base::page::{MAX_LIMIT, Paging};
use latchkey_db::Tx;
use latchkey_door::client::view_context;
use latchkey_door::person::Person;
use latchkey_door::reply::Envelope;
use latchkey_kernel::AppState;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::limits::INVITATIONS_IN_BULK;
use latchkey_kernel::wire::ListView;
use latchkey_messaging::messages::sending;
use latchkey_organizations::access::model::{Access, MANAGE_MEMBERSHIPS};
use latchkey_organizations::access::store as access;
use latchkey_organizations::invitations::change::{
    self, AcceptedInvitation, InvitationPlace, Inviter, invite, not_found,
};
use latchkey_organizations::invitations::input::{CreateInvitation, InvitationFilter, ListInvitations};
use latchkey_organizations::invitations::list::{self, InvitationPage};
use latchkey_organizations::invitations::model::InvitationParts;
use latchkey_organizations::invitations::rules::DraftInvitation;
use latchkey_organizations::invitations::view::{self, FrontendInvitationView};
use latchkey_organizations::invitations::{rules, store};
use latchkey_organizations::orgs::rules::check_enabled;
use latchkey_people::users::model::User;
use latchkey_people::users::store as users;
use latchkey_web::api::Api;
use latchkey_web::form::Form;
use latchkey_web::input::Path;
use latchkey_web::query::Query;
use schemars::JsonSchema;
use serde::Deserialize;

use super::member::{Member, check_actor};

pub fn routes(api: &mut Api<AppState>) {
    api.group("Invitations");
    api.post("/v1/organizations/{organization_id}/invitations", "createOrganizationInvitations", create)
        .summary("Invite an address to an organization")
        .returns::<Envelope<'_, FrontendInvitationView<'_>>>()
        .errors(&[403]);
    api.get("/v1/organizations/{organization_id}/invitations", "getOrganizationInvitations", list_all)
        .summary("List the invitations to an organization")
        .returns::<Envelope<'_, ListView<FrontendInvitationView<'_>>>>()
        .errors(&[403])
        .only_reads();
    api.post(
        "/v1/organizations/{organization_id}/invitations/bulk",
        "bulkCreateOrganizationInvitations",
        create_bulk,
    )
    .summary("Invite several addresses to an organization, all or none")
    .returns::<Envelope<'_, Vec<FrontendInvitationView<'_>>>>()
    .errors(&[403]);
    api.get(
        "/v1/organizations/{organization_id}/invitations/pending",
        "getAllPendingOrganizationInvitations",
        list_pending,
    )
    .summary("List the invitations to an organization that can still be accepted")
    .returns::<Envelope<'_, Vec<FrontendInvitationView<'_>>>>()
    .errors(&[403])
    .only_reads()
    .deprecated();
    api.post(
        "/v1/organizations/{organization_id}/invitations/{invitation_id}/revoke",
        "revokePendingOrganizationInvitation",
        revoke,
    )
    .summary("Revoke an invitation that can still be accepted")
    .returns::<Envelope<'_, FrontendInvitationView<'_>>>()
    .errors(&[403]);
    api.group("Organizations Memberships");
    api.get("/v1/me/organization_invitations", "getUsersOrganizationInvitations", list_mine)
        .summary("List the invitations of the current user to organizations")
        .returns::<Envelope<'_, ListView<FrontendInvitationView<'_>>>>()
        .errors(&[403])
        .only_reads();
    api.post(
        "/v1/me/organization_invitations/{invitation_id}/accept",
        "acceptOrganizationInvitation",
        accept,
    )
    .summary("Accept an invitation and become a member")
    .returns::<Envelope<'_, FrontendInvitationView<'_>>>()
    .errors(&[403]);
}

/// Body of `createOrganizationInvitations`.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "CreateFrontendInvitation")]
struct CreateOne {
    /// Who is invited.
    email_address: String,
    /// The key of the role, such as `org:member`.
    role: String,
    /// Whether an e-mail is sent; it is by default.
    notify: Option<bool>,
}

/// Body of `bulkCreateOrganizationInvitations`.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "CreateFrontendInvitations")]
struct CreateMany {
    /// Who is invited.
    #[schemars(length(min = 1, max = 10), extend("x-bulk" = true))]
    email_address: Vec<String>,
    /// The key of the role, such as `org:member`.
    role: String,
    /// Whether e-mails are sent; they are by default.
    notify: Option<bool>,
}

/// What became of an invitation, as lists are filtered by it. The last two are published for lists that also show
/// other things; no invitation is so.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum FrontendFilter {
    Pending,
    Accepted,
    Revoked,
    Expired,
    Invalid,
    Completed,
}

/// Query of the lists.
#[derive(Deserialize, JsonSchema)]
struct ListFrontendInvitations {
    /// With one of these statuses.
    #[serde(default)]
    #[schemars(length(max = 100))]
    status: Vec<FrontendFilter>,
    /// Which page of them.
    #[serde(flatten)]
    paging: Paging,
}

/// Query of `getAllPendingOrganizationInvitations`. Its answer tells no total, so it has all that a page can have.
#[derive(Deserialize, JsonSchema)]
struct ListPending {
    /// At most so many.
    #[serde(default = "as_many_as_possible")]
    #[schemars(range(min = 1, max = 500))]
    limit: i64,
    /// Skip so many.
    #[serde(default)]
    #[schemars(range(min = 0))]
    offset: i64,
}

fn as_many_as_possible() -> i64 {
    MAX_LIMIT
}

impl ListFrontendInvitations {
    /// The statuses that are asked for; `None` if nothing can have them.
    fn statuses(&self) -> Option<Vec<InvitationFilter>> {
        let known: Vec<_> = self.status.iter().filter_map(|status| status.known()).collect();
        (self.status.is_empty() || !known.is_empty()).then_some(known)
    }
}

impl FrontendFilter {
    fn known(self) -> Option<InvitationFilter> {
        match self {
            FrontendFilter::Pending => Some(InvitationFilter::Pending),
            FrontendFilter::Accepted => Some(InvitationFilter::Accepted),
            FrontendFilter::Revoked => Some(InvitationFilter::Revoked),
            FrontendFilter::Expired => Some(InvitationFilter::Expired),
            FrontendFilter::Invalid | FrontendFilter::Completed => None,
        }
    }
}

async fn create(
    cx: Cx,
    person: Person,
    Path(id): Path<OrganizationId>,
    Form(input): Form<CreateOne>,
) -> Response {
    let outcome = invited(&cx, &person, id, vec![input.email_address], &input.role, input.notify).await;
    let one = outcome.map(|(made, access)| (made.into_iter().next(), access));
    match one {
        Ok((Some(parts), access)) => show(&cx, &person, Ok((parts, access))).await,
        Ok((None, _)) => show(&cx, &person, Err(not_found())).await,
        Err(error) => show(&cx, &person, Err(error)).await,
    }
}

async fn create_bulk(
    cx: Cx,
    person: Person,
    Path(id): Path<OrganizationId>,
    Form(input): Form<CreateMany>,
) -> Response {
    let outcome = invited(&cx, &person, id, input.email_address, &input.role, input.notify).await;
    show_all(&cx, &person, outcome).await
}

/// Makes invitations, all or none.
async fn invited(
    cx: &Cx,
    person: &Person,
    id: OrganizationId,
    addresses: Vec<String>,
    role: &str,
    notify: Option<bool>,
) -> Result<(Vec<InvitationParts>, Access)> {
    // Signing is dear; those who may not invite are turned away before it.
    Member::find(cx, person, &id).await?.check(MANAGE_MEMBERSHIPS)?;
    let who = (person.visitor.site.instance.as_str(), person.user.id.as_str(), id.as_str());
    cx.app.rate_limits.check_invitations(&cx.app.throttle, who, addresses.len(), cx.now).await?;
    let (act, user) = (person.visitor.act(cx), person.user.clone());
    let signer = person.visitor.site.signer(&cx.app, cx.now).await?;
    let mut drafts = Vec::with_capacity(addresses.len().min(INVITATIONS_IN_BULK));
    for email_address in addresses {
        let input = CreateInvitation {
            email_address,
            role: role.to_owned(),
            notify,
            inviter_user_id: None,
            public_metadata: None,
            private_metadata: None,
            redirect_url: None,
            expires_in_days: None,
        };
        drafts.push(rules::draft(input, &act, &signer)?);
    }
    cx.write(move |tx| Box::pin(async move { invited_in(tx, &act, user, &id, drafts).await })).await
}

async fn invited_in(
    tx: &mut Tx,
    act: &Act,
    user: User,
    id: &OrganizationId,
    drafts: Vec<DraftInvitation>,
) -> Result<(Vec<InvitationParts>, Access)> {
    let member = Member::lock(tx, act, &user.id, id).await?;
    member.check(MANAGE_MEMBERSHIPS)?;
    let told: Vec<&str> = drafts.iter().map(|draft| draft.email_address.as_str()).collect();
    sending::await_turns(tx, act, &told).await?;
    let inviter = Inviter::Member(user);
    let mut made = Vec::with_capacity(drafts.len());
    for draft in drafts {
        made.push(invite(tx, act, place(act, &member), &inviter, draft).await?);
    }
    Ok((made, member.access))
}

async fn list_all(
    cx: Cx,
    person: Person,
    Path(id): Path<OrganizationId>,
    Query(query): Query<ListFrontendInvitations>,
) -> Response {
    let outcome = of_organization(&cx, &person, &id, query.statuses(), query.paging).await;
    show_page(&cx, &person, outcome).await
}

async fn list_pending(
    cx: Cx,
    person: Person,
    Path(id): Path<OrganizationId>,
    Query(ListPending { limit, offset }): Query<ListPending>,
) -> Response {
    let paging = Paging { limit, offset };
    let pending = Some(vec![InvitationFilter::Pending]);
    let outcome = of_organization(&cx, &person, &id, pending, paging).await;
    show_all(&cx, &person, outcome.map(|((page, _), access)| (page, access))).await
}

async fn of_organization(
    cx: &Cx,
    person: &Person,
    id: &OrganizationId,
    status: Option<Vec<InvitationFilter>>,
    paging: Paging,
) -> Result<(InvitationPage, Access)> {
    let member = Member::find(cx, person, id).await?;
    member.check(MANAGE_MEMBERSHIPS)?;
    let Some(status) = status else { return Ok(((Vec::new(), 0), member.access)) };
    let query = ListInvitations { status, email_address: None, order_by: String::new(), paging };
    let instance = &person.visitor.site.instance;
    let page = list::of_organization(&person.reads(cx), instance, id, &query, cx.now).await?;
    Ok((page, member.access))
}

async fn revoke(
    cx: Cx,
    person: Person,
    Path((organization, id)): Path<(OrganizationId, OrganizationInvitationId)>,
) -> Response {
    let (act, user) = (person.visitor.act(&cx), person.user.id.clone());
    let written =
        cx.write(move |tx| Box::pin(async move { revoke_in(tx, &act, &user, &organization, &id).await }));
    let outcome = written.await;
    show(&cx, &person, outcome).await
}

async fn revoke_in(
    tx: &mut Tx,
    act: &Act,
    user: &UserId,
    organization: &OrganizationId,
    id: &OrganizationInvitationId,
) -> Result<(InvitationParts, Access)> {
    let member = Member::lock(tx, act, user, organization).await?;
    member.check(MANAGE_MEMBERSHIPS)?;
    let parts = change::revoke(tx, act, place(act, &member), id).await?;
    Ok((parts, member.access))
}

fn place<'a>(act: &'a Act, member: &'a Member) -> InvitationPlace<'a> {
    InvitationPlace { access: &member.access, organization: &member.organization, frontend_url: &act.url }
}

async fn list_mine(cx: Cx, person: Person, Query(query): Query<ListFrontendInvitations>) -> Response {
    let outcome = mine(&cx, &person, query).await;
    show_page(&cx, &person, outcome).await
}

async fn mine(cx: &Cx, person: &Person, query: ListFrontendInvitations) -> Result<(InvitationPage, Access)> {
    let site = &person.visitor.site;
    check_enabled(&site.settings)?;
    let access = access::find(&mut cx.app.db.read().await?, &site.instance).await?;
    let Some(status) = query.statuses() else { return Ok(((Vec::new(), 0), access)) };
    let page = list::of_user(&person.reads(cx), &person.user, &status, query.paging, cx.now).await?;
    Ok((page, access))
}

async fn accept(cx: Cx, person: Person, Path(id): Path<OrganizationInvitationId>) -> Response {
    if let Err(refusal) = check_actor(&person) {
        return show(&cx, &person, Err(refusal)).await;
    }
    let (act, user) = (person.visitor.act(&cx), person.user.id.clone());
    let outcome = cx.write(move |tx| Box::pin(async move { accept_in(tx, &act, &user, &id).await })).await;
    show(&cx, &person, outcome).await
}

async fn accept_in(
    tx: &mut Tx,
    act: &Act,
    user: &UserId,
    id: &OrganizationInvitationId,
) -> Result<(InvitationParts, Access)> {
    check_enabled(&act.settings)?;
    let user = users::lock(tx, &act.instance, user).await?.ok_or_else(not_found)?;
    let found = store::find(tx, &act.instance, id).await?;
    // Whoever has not proven the address does not learn whether there is such an invitation.
    let own = found.filter(|invitation| rules::is_for(invitation, &user)).ok_or_else(not_found)?;
    let AcceptedInvitation { parts, access } = change::accept(tx, act, &user, &own.id).await?;
    Ok((parts, access))
}

async fn show(cx: &Cx, person: &Person, outcome: Result<(InvitationParts, Access)>) -> Response {
    let visitor = &person.visitor;
    match outcome {
        Ok((parts, access)) => {
            let view = view::frontend(&parts, &access, view_context(&visitor.site, cx.now));
            visitor.answer(cx, Ok(view)).await
        }
        Err(error) => visitor.answer::<()>(cx, Err(error)).await,
    }
}

async fn show_all(cx: &Cx, person: &Person, outcome: Result<(Vec<InvitationParts>, Access)>) -> Response {
    let visitor = &person.visitor;
    match outcome {
        Ok((all, access)) => {
            let context = view_context(&visitor.site, cx.now);
            let views: Vec<_> = all.iter().map(|parts| view::frontend(parts, &access, context)).collect();
            visitor.answer(cx, Ok(views)).await
        }
        Err(error) => visitor.answer::<()>(cx, Err(error)).await,
    }
}

async fn show_page(cx: &Cx, person: &Person, outcome: Result<(InvitationPage, Access)>) -> Response {
    let visitor = &person.visitor;
    match outcome {
        Ok(((page, total_count), access)) => {
            let context = view_context(&visitor.site, cx.now);
            let data = page.iter().map(|parts| view::frontend(parts, &access, context)).collect();
            visitor.answer(cx, Ok(ListView { data, total_count })).await
        }
        Err(error) => visitor.answer::<()>(cx, Err(error)).await,
    }
}
