//! Reading what providers say about people.
//!
//! An address counts as verified only where the provider proves it. What is read here is bounded and free of control
//! characters: it becomes names and addresses of users.

use latchkey_base::text;
use latchkey_kernel::settings::social::ProviderAttributes;
use serde_json::Value;

use super::{Profile, ProviderAnswers};

const ID_CHARS: usize = 255;
const NAME_CHARS: usize = 255;
const URL_CHARS: usize = 2048;

/// A profile within bounds; nothing without a usable id.
pub fn cleaned(profile: Profile) -> Option<Profile> {
    let id = profile.provider_user_id;
    if id.trim().is_empty() || id.chars().count() > ID_CHARS || id.chars().any(char::is_control) {
        return None;
    }
    let line = |text: Option<String>| text.as_deref().and_then(within_a_line);
    let name = |text: Option<String>| text.as_deref().and_then(name);
    let email_address = profile.email_address.as_deref().and_then(text::email);
    let is_picture =
        |url: &String| url.starts_with("https://") && url.len() <= URL_CHARS && url::Url::parse(url).is_ok();
    Some(Profile {
        provider_user_id: id,
        email_address_verified: email_address.as_ref().and(profile.email_address_verified),
        email_address,
        first_name: name(profile.first_name),
        last_name: name(profile.last_name),
        username: line(profile.username),
        image_url: profile.image_url.filter(is_picture),
        phone_number: line(profile.phone_number),
        approved_scopes: profile.approved_scopes,
        label: line(profile.label),
    })
}

/// A text that fits on a line.
fn within_a_line(text: &str) -> Option<String> {
    let text = text.trim();
    let is_fine =
        !text.is_empty() && text.chars().count() <= NAME_CHARS && !text.chars().any(char::is_control);
    is_fine.then(|| text.to_owned())
}

/// A name of somebody. Nobody is kept out for one that people may not have.
pub fn name(text: &str) -> Option<String> {
    within_a_line(text).filter(|name| text::name_problem("name", name).is_none())
}

/// A text; numbers are ids at some.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        // What is no integer of 64 bits was rounded when it was read, and others round to the same.
        Value::Number(number) if !number.is_f64() => Some(number.to_string()),
        _ => None,
    }
}

/// Whether it says yes: as true, or as one of the texts and numbers by which some write it.
fn is_yes(value: &Value) -> bool {
    match value {
        Value::Bool(yes) => *yes,
        Value::String(text) => text == "true" || text == "1",
        Value::Number(number) => number.as_i64() == Some(1),
        _ => false,
    }
}

/// A whole name as given name and the rest.
fn names(whole: &Value) -> (Option<String>, Option<String>) {
    let whole = text(whole).unwrap_or_default();
    match whole.trim().split_once(' ') {
        Some((first, rest)) => (Some(first.to_owned()), Some(rest.trim().to_owned())),
        None => (Some(whole), None),
    }
}

/// What stands at the end of a path such as `data.id`.
fn at<'a>(value: &'a Value, path: &str) -> &'a Value {
    // A name with dots in it, such as `https://example.com/email`, is meant as a whole.
    match value.get(path) {
        Some(found) => found,
        None => path.split('.').fold(value, |place, name| &place[name]),
    }
}

/// The claims that OpenID Connect names.
fn standard(claims: &Value) -> Option<Profile> {
    let (first, last) = match (&claims["given_name"], &claims["family_name"]) {
        (Value::Null, Value::Null) => names(&claims["name"]),
        (given, family) => (text(given), text(family)),
    };
    Some(Profile {
        provider_user_id: text(&claims["sub"])?,
        email_address: text(&claims["email"]),
        email_address_verified: Some(is_yes(&claims["email_verified"])),
        first_name: first,
        last_name: last,
        username: text(&claims["preferred_username"]),
        image_url: text(&claims["picture"]),
        ..Profile::default()
    })
}

/// What the ID token says, or the userinfo endpoint where there is one.
pub fn openid(said: &ProviderAnswers<'_>) -> Option<Profile> {
    if said.user.is_object() { standard(said.user) } else { standard(said.claims) }
}

/// What the userinfo endpoint says.
pub fn openid_user(said: &ProviderAnswers<'_>) -> Option<Profile> {
    standard(said.user)
}

/// The same, of a provider that does not prove addresses whatever it says.
pub fn unproven_openid_user(said: &ProviderAnswers<'_>) -> Option<Profile> {
    let profile = standard(said.user)?;
    Some(Profile { email_address_verified: Some(false), ..profile })
}

/// A provider of an application's own, by the names that the settings say. What the userinfo endpoint says counts more
/// than the ID token.
pub(in crate::social) fn custom(
    attributes: &ProviderAttributes,
    is_verified_unsaid: bool,
    said: &ProviderAnswers<'_>,
) -> Option<Profile> {
    let find = |path: &str| match at(said.user, path) {
        Value::Null => at(said.claims, path),
        found => found,
    };
    let email = find(&attributes.email);
    // Whether an address is verified is asked where the address stands: the two places may differ.
    let place = if at(said.user, &attributes.email).is_null() { said.claims } else { said.user };
    let verified = match at(place, &attributes.email_verified) {
        Value::Null => is_verified_unsaid,
        said => is_yes(said),
    };
    Some(Profile {
        provider_user_id: text(find(&attributes.sub))?,
        email_address: text(email),
        email_address_verified: Some(verified),
        first_name: text(find(&attributes.given_name)),
        last_name: text(find(&attributes.family_name)),
        username: text(find(&attributes.username)),
        image_url: text(find(&attributes.picture)),
        ..Profile::default()
    })
}

/// The name is in a field that the browser brings when somebody comes for the first time. Anybody can write it, so
/// nothing but the name is taken from it.
pub fn apple(said: &ProviderAnswers<'_>) -> Option<Profile> {
    let name = &said.form["name"];
    Some(Profile {
        provider_user_id: text(&said.claims["sub"])?,
        email_address: text(&said.claims["email"]),
        email_address_verified: Some(is_yes(&said.claims["email_verified"])),
        first_name: text(&name["firstName"]),
        last_name: text(&name["lastName"]),
        ..Profile::default()
    })
}

pub fn atlassian(said: &ProviderAnswers<'_>) -> Option<Profile> {
    let (first_name, last_name) = names(&said.user["name"]);
    Some(Profile {
        provider_user_id: text(&said.user["account_id"])?,
        email_address: text(&said.user["email"]),
        email_address_verified: Some(false),
        first_name,
        last_name,
        image_url: text(&said.user["picture"]),
        ..Profile::default()
    })
}

pub fn bitbucket(said: &ProviderAnswers<'_>) -> Option<Profile> {
    let (first_name, last_name) = names(&said.user["display_name"]);
    let profile = Profile {
        provider_user_id: text(&said.user["uuid"])?,
        first_name,
        last_name,
        username: text(&said.user["username"]),
        image_url: text(&said.user["links"]["avatar"]["href"]),
        ..Profile::default()
    };
    Some(with_email(profile, &said.emails["values"], "is_primary", "is_confirmed"))
}

pub fn box_com(said: &ProviderAnswers<'_>) -> Option<Profile> {
    let (first_name, last_name) = names(&said.user["name"]);
    Some(Profile {
        provider_user_id: text(&said.user["id"])?,
        email_address: text(&said.user["login"]),
        email_address_verified: Some(false),
        first_name,
        last_name,
        image_url: text(&said.user["avatar_url"]),
        ..Profile::default()
    })
}

pub fn coinbase(said: &ProviderAnswers<'_>) -> Option<Profile> {
    let user = &said.user["data"];
    let (first_name, last_name) = names(&user["name"]);
    Some(Profile {
        provider_user_id: text(&user["id"])?,
        email_address: text(&user["email"]),
        email_address_verified: Some(false),
        first_name,
        last_name,
        username: text(&user["username"]),
        image_url: text(&user["avatar_url"]),
        ..Profile::default()
    })
}

pub fn discord(said: &ProviderAnswers<'_>) -> Option<Profile> {
    let id = text(&said.user["id"])?;
    let (first_name, last_name) = names(&said.user["global_name"]);
    let picture = text(&said.user["avatar"]).map(|hash| {
        let kind = if hash.starts_with("a_") { "gif" } else { "png" };
        format!("https://cdn.discordapp.com/avatars/{id}/{hash}.{kind}")
    });
    Some(Profile {
        provider_user_id: id,
        email_address: text(&said.user["email"]),
        email_address_verified: Some(is_yes(&said.user["verified"])),
        first_name,
        last_name,
        username: text(&said.user["username"]),
        image_url: picture,
        ..Profile::default()
    })
}

pub fn dropbox(said: &ProviderAnswers<'_>) -> Option<Profile> {
    Some(Profile {
        provider_user_id: text(&said.user["account_id"])?,
        email_address: text(&said.user["email"]),
        email_address_verified: Some(is_yes(&said.user["email_verified"])),
        first_name: text(&said.user["name"]["given_name"]),
        last_name: text(&said.user["name"]["surname"]),
        image_url: text(&said.user["profile_photo_url"]),
        ..Profile::default()
    })
}

pub fn facebook(said: &ProviderAnswers<'_>) -> Option<Profile> {
    Some(Profile {
        provider_user_id: text(&said.user["id"])?,
        email_address: text(&said.user["email"]),
        email_address_verified: Some(false),
        first_name: text(&said.user["first_name"]),
        last_name: text(&said.user["last_name"]),
        image_url: text(&said.user["picture"]["data"]["url"]),
        ..Profile::default()
    })
}

/// The address that everybody sees on the profile proves nothing: those of the list do, if they are verified.
pub fn github(said: &ProviderAnswers<'_>) -> Option<Profile> {
    let (first_name, last_name) = names(&said.user["name"]);
    let profile = Profile {
        provider_user_id: text(&said.user["id"])?,
        first_name,
        last_name,
        username: text(&said.user["login"]),
        image_url: text(&said.user["avatar_url"]),
        ..Profile::default()
    };
    Some(with_email(profile, said.emails, "primary", "verified"))
}

pub fn gitlab(said: &ProviderAnswers<'_>) -> Option<Profile> {
    let (first_name, last_name) = names(&said.user["name"]);
    Some(Profile {
        provider_user_id: text(&said.user["id"])?,
        email_address: text(&said.user["email"]),
        email_address_verified: Some(said.user["confirmed_at"].is_string()),
        first_name,
        last_name,
        username: text(&said.user["username"]),
        image_url: text(&said.user["avatar_url"]),
        ..Profile::default()
    })
}

pub fn hubspot(said: &ProviderAnswers<'_>) -> Option<Profile> {
    Some(Profile {
        provider_user_id: text(&said.user["user_id"])?,
        email_address: text(&said.user["user"]),
        email_address_verified: Some(false),
        label: text(&said.user["hub_domain"]),
        ..Profile::default()
    })
}

pub fn line(said: &ProviderAnswers<'_>) -> Option<Profile> {
    let (first_name, last_name) = names(&said.claims["name"]);
    Some(Profile {
        provider_user_id: text(&said.claims["sub"])?,
        email_address: text(&said.claims["email"]),
        email_address_verified: Some(false),
        first_name,
        last_name,
        image_url: text(&said.claims["picture"]),
        ..Profile::default()
    })
}

pub fn linear(said: &ProviderAnswers<'_>) -> Option<Profile> {
    let viewer = &said.user["data"]["viewer"];
    let (first_name, last_name) = names(&viewer["name"]);
    Some(Profile {
        provider_user_id: text(&viewer["id"])?,
        email_address: text(&viewer["email"]),
        email_address_verified: Some(false),
        first_name,
        last_name,
        username: text(&viewer["displayName"]),
        image_url: text(&viewer["avatarUrl"]),
        ..Profile::default()
    })
}

pub fn linkedin(said: &ProviderAnswers<'_>) -> Option<Profile> {
    Some(Profile {
        provider_user_id: text(&said.user["id"])?,
        email_address: text(&said.emails["elements"][0]["handle~"]["emailAddress"]),
        email_address_verified: Some(false),
        first_name: text(&said.user["localizedFirstName"]),
        last_name: text(&said.user["localizedLastName"]),
        ..Profile::default()
    })
}

/// Whoever runs a tenant can give its users any address. `xms_edov` says whether the tenant proved to own the domain.
/// `oid` and `tid` together are what somebody is known by for ever; `sub` is another one for each application.
pub fn microsoft(said: &ProviderAnswers<'_>) -> Option<Profile> {
    let (user, tenant) = (text(&said.claims["oid"])?, text(&said.claims["tid"])?);
    let profile = standard(said.claims)?;
    Some(Profile {
        provider_user_id: format!("{user}.{tenant}"),
        email_address_verified: Some(is_yes(&said.claims["xms_edov"])),
        username: None,
        image_url: None,
        ..profile
    })
}

pub fn notion(said: &ProviderAnswers<'_>) -> Option<Profile> {
    let user = &said.token["owner"]["user"];
    let (first_name, last_name) = names(&user["name"]);
    Some(Profile {
        provider_user_id: text(&user["id"])?,
        email_address: text(&user["person"]["email"]),
        email_address_verified: Some(false),
        first_name,
        last_name,
        image_url: text(&user["avatar_url"]),
        label: text(&said.token["workspace_name"]),
        ..Profile::default()
    })
}

pub fn spotify(said: &ProviderAnswers<'_>) -> Option<Profile> {
    let (first_name, last_name) = names(&said.user["display_name"]);
    Some(Profile {
        provider_user_id: text(&said.user["id"])?,
        email_address: text(&said.user["email"]),
        email_address_verified: Some(false),
        first_name,
        last_name,
        image_url: text(&said.user["images"][0]["url"]),
        ..Profile::default()
    })
}

/// There is no address at all.
pub fn tiktok(said: &ProviderAnswers<'_>) -> Option<Profile> {
    let user = &said.user["data"]["user"];
    let (first_name, last_name) = names(&user["display_name"]);
    Some(Profile {
        provider_user_id: text(&user["open_id"])?,
        first_name,
        last_name,
        image_url: text(&user["avatar_url"]),
        label: text(&user["display_name"]),
        ..Profile::default()
    })
}

/// The address is a confirmed one, and there only if the application may ask for it.
pub fn x(said: &ProviderAnswers<'_>) -> Option<Profile> {
    let user = &said.user["data"];
    let (first_name, last_name) = names(&user["name"]);
    let email_address = text(&user["confirmed_email"]);
    Some(Profile {
        provider_user_id: text(&user["id"])?,
        email_address_verified: email_address.as_ref().map(|_| true),
        email_address,
        first_name,
        last_name,
        username: text(&user["username"]),
        image_url: text(&user["profile_image_url"]),
        ..Profile::default()
    })
}

/// With the address of a list that is verified: the primary one, or else the first. Those that are not verified do not count.
fn with_email(profile: Profile, list: &Value, primary: &str, verified: &str) -> Profile {
    let rows = list.as_array().into_iter().flatten().filter(|row| is_yes(&row[verified]));
    let addresses = rows.filter_map(|row| Some((!is_yes(&row[primary]), text(&row["email"])?)));
    let email_address = addresses.min_by_key(|(is_other, _)| *is_other).map(|(_, address)| address);
    Profile { email_address_verified: email_address.as_ref().map(|_| true), email_address, ..profile }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_that_were_rounded_are_nobody() {
        assert_eq!(text(&json!(u64::MAX)), Some(u64::MAX.to_string()));
        assert_eq!(text(&json!(-7)), Some("-7".to_owned()));
        for written in ["18446744073709551616", "10000000000000000000001", "1e3", "7.0"] {
            assert_eq!(text(&serde_json::from_str(written).unwrap()), None, "{written}");
        }
    }

    #[test]
    fn a_name_that_people_may_not_have_is_left_out() {
        let said = |name: &str| Profile {
            provider_user_id: "1".to_owned(),
            first_name: Some(name.to_owned()),
            ..Profile::default()
        };
        assert_eq!(cleaned(said(" Ada ")).unwrap().first_name.as_deref(), Some("Ada"));
        for name in ["<script>", "www.evil.example", "https://evil.example", ""] {
            assert_eq!(cleaned(said(name)).unwrap().first_name, None, "{name}");
        }
    }
}
