//! Invitations of members who may not invite any more.

use latchkey_kernel::background;
use latchkey_organizations::removals::Removals;
use latchkey_outbound::client::Options;
use latchkey_testkit::TestServer;
use serde_json::{Value, json};

use super::{Managed, invitation, kinds, organization, response, server, text, ticket};
use crate::me::support::{Me, sign_in, somebody};

/// A second admin of an organization, signed in.
async fn second<'a>(t: &'a TestServer, organization: &Managed) -> Me<'a> {
    let user = t.user_with_email("second@example.com").await;
    let body = json!({"user_id": user, "role": "org:admin"});
    t.post(&format!("/v1/organizations/{}/memberships", organization.id), body).await.ok();
    sign_in(t, &user).await
}

async fn status(t: &TestServer, organization: &Managed, invited: &Value) -> String {
    text(&organization.shown(t, &invited["id"]).await["status"])
}

#[derive(Clone, Copy, Debug)]
enum End {
    Leaves,
    IsRemoved,
    IsDemoted,
    IsDeleted,
}

/// Attack: a member who is about to be removed invites an address of their own.
#[tokio::test]
async fn invitations_end_with_the_right_to_send_them() {
    for end in [End::Leaves, End::IsRemoved, End::IsDemoted, End::IsDeleted] {
        let t = server(|_| ()).await;
        let organization = organization(&t).await;
        let mut second = second(&t, &organization).await;
        let sent = response(second.post(&organization.path(), invitation("bob@example.com")).await);
        let url = organization.shown(&t, &sent["id"]).await;
        let mut named = invitation("carol@example.com");
        named["inviter_user_id"] = json!(second.user);
        let named = t.post(&organization.path(), named).await.ok();
        let mut admin = sign_in(&t, &organization.admin).await;
        let other = response(admin.post(&organization.path(), invitation("dan@example.com")).await);
        let member = format!("/v1/organizations/{}/memberships/{}", organization.id, second.user);
        match end {
            End::Leaves => {
                let path = format!("/v1/me/organization_memberships/{}", organization.id);
                second.delete(&path).await.ok()
            }
            End::IsRemoved => t.delete(&member).await.ok(),
            End::IsDemoted => t.patch(&member, json!({"role": "org:member"})).await.ok(),
            End::IsDeleted => t.delete(&format!("/v1/users/{}", second.user)).await.ok(),
        };
        assert_eq!(status(&t, &organization, &sent).await, "revoked", "{end:?}");
        assert_eq!(status(&t, &organization, &named).await, "pending", "{end:?}: a backend made it");
        assert_eq!(status(&t, &organization, &other).await, "pending", "{end:?}: another member sent it");
        let revoked = kinds(&t).await.iter().filter(|kind| *kind == "organizationInvitation.revoked").count();
        assert_eq!(revoked, 1, "{end:?}");
        let fields = json!({"strategy": "ticket", "ticket": ticket(&url)});
        let refused = t.browser().post("/v1/client/sign_ups", fields).await;
        refused.is_error(400, "organization_invitation_revoked_code");
    }
}

#[tokio::test]
async fn many_invitations_of_a_member_end_step_by_step_and_none_is_accepted() {
    let t = server(|_| ()).await;
    let organization = organization(&t).await;
    let mut second = second(&t, &organization).await;
    for ten in 0..13 {
        let addresses: Vec<_> = (0..10).map(|one| format!("user{ten}{one}@example.com")).collect();
        let body = json!({"email_address": addresses, "role": "org:member", "notify": false});
        second.post(&format!("{}/bulk", organization.path()), body).await.ok();
        t.clock.advance_ms(1000);
    }
    let pending = async || {
        let path = format!("{}?status=pending&limit=1", organization.path());
        t.get(&path).await.ok()["total_count"].as_i64().unwrap()
    };
    assert_eq!(pending().await, 130);
    t.delete(&format!("/v1/organizations/{}/memberships/{}", organization.id, second.user)).await.ok();
    assert_eq!(pending().await, 30);
    let mut last = somebody(&t, "user129@example.com").await;
    let listed = response(last.get("/v1/me/organization_invitations?status=pending").await);
    let path = format!("/v1/me/organization_invitations/{}/accept", text(&listed["data"][0]["id"]));
    last.post(&path, json!({})).await.is_error(400, "organization_invitation_revoked_code");
    background::run::<Removals>(&t.jobs_with(Options::default())).await.unwrap();
    assert_eq!(pending().await, 0);
    let revoked = kinds(&t).await.iter().filter(|kind| *kind == "organizationInvitation.revoked").count();
    assert_eq!(revoked, 130);
}
