//! Decisions about suggestions. Pure: values in, values out.

use latchkey_base::text::domain_of;
use latchkey_kernel::settings::{EnrollmentMode, Settings};
use latchkey_people::users::model::User;

use crate::domains::model::OrganizationDomain;

/// The names of domains because of which organizations can be suggested to somebody: those of the addresses they have
/// proven; none where the settings allow no suggestions.
pub fn domain_names(user: &User, settings: &Settings) -> Vec<String> {
    let mut names: Vec<String> =
        addresses(user, settings).map(|address| domain_of(address).to_owned()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The address that still is a reason for a suggestion that was made because of a domain. The domain's mode does not
/// matter: what was made stays with another mode, unless it was taken back (`delete_pending`).
pub fn reason<'a>(domain: &OrganizationDomain, user: &'a User, settings: &Settings) -> Option<&'a str> {
    addresses(user, settings).find(|address| domain.is_verified() && domain_of(address) == domain.name)
}

fn addresses<'a>(user: &'a User, settings: &Settings) -> impl Iterator<Item = &'a str> {
    let on = &settings.organizations;
    let are_allowed = on.domains && on.domain_enrollment_modes.contains(&EnrollmentMode::AutomaticSuggestion);
    let proven = user.email_addresses.all.iter().filter(move |address| are_allowed && address.is_verified());
    proven.map(|address| address.value.as_str())
}
