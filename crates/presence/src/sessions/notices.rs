//! Telling people of their sessions.

use latchkey_base::Result;
use latchkey_db::Tx;
use latchkey_kernel::cx::Act;
use latchkey_people::notices::tell;
use latchkey_people::users::model::User;
use serde_json::{Map, json};

use super::model::Activity;

/// Somebody signed in on a client that did not know them.
pub async fn new_device(
    tx: &mut Tx,
    act: &Act,
    user: &User,
    seen: &Activity,
    method: Option<&str>,
) -> Result<()> {
    let text = |value: &Option<String>| json!(value.as_deref().unwrap_or_default());
    let data = [
        ("device_type".to_owned(), text(&seen.device_type)),
        ("browser_name".to_owned(), text(&seen.browser_name)),
        ("operating_system".to_owned(), text(&seen.device_type)),
        ("ip_address".to_owned(), text(&seen.ip_address)),
        ("location".to_owned(), json!("")),
        ("sign_in_method".to_owned(), json!(spoken_method(method))),
        ("session_created_at".to_owned(), json!(act.now.spoken())),
        ("revoke_session_url".to_owned(), json!("")),
    ];
    tell(tx, act, user, "new_device_sign_in", Map::from_iter(data)).await
}

/// A way to sign in, as people call it.
fn spoken_method(strategy: Option<&str>) -> String {
    let words = strategy.unwrap_or_default().replace('_', " ");
    let mut letters = words.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_written_as_people_say_them() {
        assert_eq!(
            (spoken_method(Some("email_code")).as_str(), spoken_method(None).as_str()),
            ("Email code", "")
        );
    }
}
