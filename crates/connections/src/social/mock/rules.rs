//! Who somebody wants to be, read from the query.

use latchkey_base::text;
use latchkey_base::{Code, Error, Result};
use latchkey_jose::digest::{hex, sha256};

use crate::social::providers::{Profile, profiles};

/// States are shorter.
const STATE_CHARS: usize = 512;

/// What the page is asked with.
#[derive(Debug, PartialEq)]
pub struct MockVisit {
    /// The sign-in it is for.
    pub state: String,
    /// Who somebody said they are before they came.
    pub hint: String,
    pub choice: Choice,
}

/// What somebody chose.
#[derive(Debug, PartialEq)]
pub enum Choice {
    /// Nothing yet.
    None,
    /// Not to go on.
    Deny,
    /// To be this person.
    Person(Box<Profile>),
}

/// Reads the query. `state` is needed; `email_address` or `id` choose a person, `deny=true` none.
pub fn read(query: &[(String, String)]) -> Result<MockVisit> {
    let find = |name: &str| query.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    let given = |name: &str| find(name).map(str::trim).filter(|value| !value.is_empty());
    let state = given("state").filter(|state| state.len() <= STATE_CHARS);
    let state = state.ok_or_else(|| Error::param(Code::MissingQueryParameter, "state"))?;
    let choice = match (find("deny"), given("email_address"), given("id")) {
        (Some("true"), ..) => Choice::Deny,
        (_, None, None) => Choice::None,
        (_, email, id) => Choice::Person(Box::new(person(email, id, given)?)),
    };
    Ok(MockVisit {
        state: state.to_owned(),
        hint: given("login_hint").unwrap_or_default().to_owned(),
        choice,
    })
}

fn person<'a>(
    email: Option<&str>,
    id: Option<&str>,
    given: impl Fn(&str) -> Option<&'a str>,
) -> Result<Profile> {
    let invalid = |name: &str| Error::param(Code::InvalidQueryParameterValue, name);
    let email = match email {
        Some(email) => Some(text::email(email).ok_or_else(|| invalid("email_address"))?),
        None => None,
    };
    let is_verified = match given("verified") {
        None | Some("true") => true,
        Some("false") => false,
        Some(_) => return Err(invalid("verified")),
    };
    // The same address is the same person whenever they come.
    let made = || format!("mock_{}", hex(&sha256(email.as_deref().unwrap_or_default().as_bytes())[..12]));
    let own = |name: &str| given(name).map(str::to_owned);
    let profile = Profile {
        provider_user_id: id.map_or_else(made, str::to_owned),
        email_address_verified: email.as_ref().map(|_| is_verified),
        email_address: email.clone(),
        first_name: own("first_name"),
        last_name: own("last_name"),
        username: own("username"),
        image_url: own("image_url"),
        ..Profile::default()
    };
    profiles::cleaned(profile).ok_or_else(|| invalid("id"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(query: &str) -> Result<MockVisit> {
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        read(&pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect::<Vec<_>>())
    }

    fn chosen(query: &str) -> Profile {
        match asked(query).unwrap().choice {
            Choice::Person(profile) => *profile,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_address_is_a_person() {
        assert_eq!(asked("state=s").unwrap().choice, Choice::None);
        assert_eq!(asked("state=s&email_address=").unwrap().choice, Choice::None);
        assert_eq!(asked("state=s&deny=true&email_address=a@example.com").unwrap().choice, Choice::Deny);
        let ada = chosen("state=s&email_address=Ada@example.com&first_name=Ada&verified=false");
        assert_eq!(ada.email_address.as_deref(), Some("ada@example.com"));
        assert_eq!((ada.email_address_verified, ada.first_name.as_deref()), (Some(false), Some("Ada")));
        let again = chosen("state=t&email_address=ada@example.com");
        assert_eq!(
            (again.provider_user_id, again.email_address_verified),
            (ada.provider_user_id, Some(true))
        );
        assert_eq!(chosen("state=s&id=7").provider_user_id, "7");
    }

    #[test]
    fn nonsense_is_refused() {
        for query in ["", "state=", "email_address=a@example.com", &format!("state={}", "s".repeat(600))] {
            assert!(asked(query).is_err(), "{query}");
        }
        for query in ["state=s&email_address=nobody", "state=s&id=7&verified=maybe", "state=s&id=a\u{0}b"] {
            assert!(asked(query).is_err(), "{query}");
        }
    }
}
