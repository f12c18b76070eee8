//! What organizations cost as they grow: a page of members, a page of organizations, a token and the client of somebody
//! who is in many. Each is measured small and large; what counts is by how much the median grows. At last a large organization is
//! deleted, and others are served meanwhile.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};

use crate::Result;
use crate::api::Api;
use crate::fill::Fill;
use crate::load::{self, Outcome, Requests};
use crate::report::{Fact, Goal, Load, Report, millis, number};
use crate::scenarios::Subject;
use crate::server::{Server, Settings};
use crate::visitors::Visitors;

const SMALL: usize = 1_000;
const LARGE: usize = 100_000;
/// Organizations of somebody who is in many.
const MANY: usize = 1_000;
/// Organizations of somebody whose client shows all of them.
const SHOWN: usize = 100;
/// One request after the other: the latency of one, not of a queue.
const CONNECTIONS: usize = 1;

/// Everything about organizations.
pub(crate) async fn measure(
    subject: &Subject<'_>,
    settings: &Settings,
    server: &Server,
    report: &mut Report,
) -> Result<()> {
    let Report { loads, facts, .. } = report;
    settings.set(server, "organizations.enabled=true")?;
    let fill = Fill { engine: subject.engine, database: &settings.database };
    let (role, users) = (role(&subject.api).await?, LARGE.min(subject.seeded.users as usize));
    let small = organization(&subject.api, "Small").await?;
    let large = organization(&subject.api, "Large").await?;
    fill.members(&small, &role, SMALL.min(users)).await?;
    fill.members(&large, &role, users).await?;
    let page = |id: &str| gets(subject, format!("/organizations/{id}/memberships?limit=100"));
    let name = format!("100 of {} members", number(users as f64));
    let pages = [page(&small), page(&large)];
    loads.push(growth(subject, &name, subject.api.address, pages, "1,000 members").await?);

    loads.push(lists(subject, &fill, &small).await?);
    loads.extend(members(subject, server, &fill, &role).await?);
    loads.push(deletion(subject, &large, users, facts).await?);
    Ok(())
}

/// A page of organizations with their counts, among few and among many.
async fn lists(subject: &Subject<'_>, fill: &Fill<'_>, like: &str) -> Result<Load> {
    fill.organizations(like, 1, SMALL).await?;
    let few = outcome(subject, subject.api.address, &list(subject)).await?;
    fill.organizations(like, SMALL + 1, LARGE).await?;
    let many = outcome(subject, subject.api.address, &list(subject)).await?;
    Ok(row(subject, &format!("100 of {} organizations", number(LARGE as f64)), few, many, "1,000"))
}

fn list(subject: &Subject<'_>) -> Requests {
    gets(subject, "/organizations?limit=100&include_members_count=true".to_owned())
}

/// Tokens of members of one organization, and of many; and clients that show all organizations of their user, and as many
/// of more.
async fn members(subject: &Subject<'_>, server: &Server, fill: &Fill<'_>, role: &str) -> Result<[Load; 2]> {
    let visitors = Visitors::new(&subject.api, server.frontend, "organization.example.com").await?;
    let [one, some, many] = visitors.three_people()?;
    for (browser, count) in [(one, 1), (some, SHOWN), (many, MANY)] {
        let active = fill.memberships(&browser.user, role, count).await?;
        visitors.activate(&subject.api, browser, &active).await?;
    }
    let mints = [visitors.mints_of(one), visitors.mints_of(many)];
    let name = format!("a token of a member of {} organizations", number(MANY as f64));
    let tokens = growth(subject, &name, visitors.address, mints, "a member of one").await?;
    let clients = [visitors.clients_of(some), visitors.clients_of(many)];
    let name = format!("GET /client of a member of {} organizations", number(MANY as f64));
    let clients = growth(subject, &name, visitors.address, clients, "a member of 100").await?;
    Ok([tokens, clients])
}

/// Reads of users while a large organization is deleted, beside the same on a server that does nothing else.
async fn deletion(subject: &Subject<'_>, id: &str, members: usize, facts: &mut Vec<Fact>) -> Result<Load> {
    let reads = subject.point_reads();
    let idle = outcome(subject, subject.api.address, &reads).await?;
    let mut request = Vec::new();
    subject.api.send(&mut request, "DELETE", format_args!("/organizations/{id}"), "");
    let began = Instant::now();
    subject.api.once(&mut subject.api.connect().await?, &request).await?;
    let members = number(members as f64);
    facts.push(Fact {
        what: format!("deleting an organization of {members} members, until the answer"),
        engine: subject.engine,
        value: began.elapsed().as_secs_f64() * 1e3,
        unit: "ms",
        goal: Some(Goal::Below(1_000.0)),
    });
    let busy = outcome(subject, subject.api.address, &reads).await?;
    Ok(row(subject, &format!("GET /users/{{id}} while {members} members are removed"), idle, busy, "idle"))
}

/// Measures the small and the large of something in turns.
async fn growth(
    subject: &Subject<'_>,
    name: &str,
    address: SocketAddr,
    [small, large]: [Requests; 2],
    against: &str,
) -> Result<Load> {
    let (mut few, mut many) = (Outcome::new(), Outcome::new());
    for _ in 0..subject.options.rounds {
        few.then(load::run(address, CONNECTIONS, subject.options.window(), &small).await?);
        many.then(load::run(address, CONNECTIONS, subject.options.window(), &large).await?);
    }
    Ok(row(subject, name, few, many, against))
}

async fn outcome(subject: &Subject<'_>, address: SocketAddr, requests: &Requests) -> Result<Outcome> {
    load::run(address, CONNECTIONS, subject.options.window(), requests).await
}

/// By how much the median has grown.
fn row(subject: &Subject<'_>, name: &str, small: Outcome, large: Outcome, against: &str) -> Load {
    let [few, many] = [small.p50(), large.p50()];
    subject.say(&format!("{name}: p50 {} ms, {against} {} ms", millis(many), millis(few)));
    let mut outcome = large;
    if let Some(failure) = small.first_failure {
        outcome.fail(failure);
    }
    Load {
        scenario: name.to_owned(),
        engine: subject.engine,
        connections: CONNECTIONS,
        outcome,
        against: format!("{against} p50 {} ms", millis(few)),
        ratio: many.zip(few).map(|(many, few)| many.div_duration_f64(few)),
        goal: Some(Goal::Below(2.0)),
    }
}

fn gets(subject: &Subject<'_>, path: String) -> Requests {
    let api = subject.api.clone();
    Arc::new(move |out| api.get(out, &path))
}

/// The id of the role of ordinary members.
async fn role(api: &Api) -> Result<String> {
    let mut request = Vec::new();
    api.get(&mut request, "/organization_roles?query=org:member");
    let page: Value = serde_json::from_slice(api.once(&mut api.connect().await?, &request).await?.body)?;
    Ok(page["data"][0]["id"].as_str().ok_or("there is no role org:member")?.to_owned())
}

/// Creates an organization without members.
async fn organization(api: &Api, name: &str) -> Result<String> {
    let mut request = Vec::new();
    let body = json!({"name": name, "max_allowed_memberships": 0});
    api.send(&mut request, "POST", "/organizations", &body.to_string());
    let mut connection = api.connect().await?;
    let made: Value = serde_json::from_slice(api.once(&mut connection, &request).await?.body)?;
    Ok(made["id"].as_str().ok_or("an organization without id")?.to_owned())
}
