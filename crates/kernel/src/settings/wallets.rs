//! What goes together in the settings of wallets.

use super::Attribute;
use super::check::Faults;
use crate::strategy::Strategy;

/// A wallet is nothing but what its holder proves, so there must be a way to prove one, also when signing up.
pub(super) fn check(wallets: &Attribute, faults: &mut Faults) {
    if !wallets.enabled {
        return;
    }
    let mut say = |field: &str, text: String| faults.add(format!("attributes.web3_wallet.{field}"), text);
    let all = || Strategy::WALLETS.map(|strategy| strategy.name().to_owned()).join(", ");
    if wallets.verifications.is_empty() {
        say("verifications", format!("Nobody could prove a wallet: name one or more of {}.", all()));
    }
    if !wallets.verify_at_sign_up {
        say("verify_at_sign_up", "It must be true: a wallet that is not proven is nobody's.".to_owned());
    }
    if wallets.used_for_first_factor && wallets.first_factors.is_empty() {
        say("first_factors", format!("Nobody could sign in by a wallet: name one or more of {}.", all()));
    }
    let unproven = |strategy: &&Strategy| !wallets.verifications.contains(strategy);
    if let Some(strategy) = wallets.first_factors.iter().find(unproven) {
        let text = format!(
            "Pages that sign in by {0} also sign up by it, so {0} must stand in verifications too.",
            strategy.name()
        );
        say("first_factors", text);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Settings;
    use super::*;

    fn paths(change: impl FnOnce(&mut Settings)) -> Vec<String> {
        let mut settings = Settings::default();
        change(&mut settings);
        settings.problems().into_iter().map(|fault| fault.path).collect()
    }

    #[test]
    fn wallets_can_be_proven_wherever_they_are_used() {
        let wallets = |change: fn(&mut Attribute)| {
            paths(|settings| {
                let ways = vec![Strategy::METAMASK, Strategy::SOLANA];
                let wallets = &mut settings.attributes.web3_wallet;
                *wallets = Attribute {
                    enabled: true,
                    used_for_first_factor: true,
                    first_factors: ways.clone(),
                    verifications: ways,
                    verify_at_sign_up: true,
                    immutable: true,
                    ..Attribute::default()
                };
                change(wallets);
            })
        };
        let at = |field: &str| vec![format!("attributes.web3_wallet.{field}")];
        assert_eq!(wallets(|_| ()), [""; 0]);
        assert_eq!(wallets(|it| it.verify_at_sign_up = false), at("verify_at_sign_up"));
        assert_eq!(wallets(|it| it.first_factors.clear()), at("first_factors"));
        assert_eq!(wallets(|it| it.first_factors.push(Strategy::OKX)), at("first_factors"));
        assert_eq!(wallets(|it| it.verifications.push(Strategy::EmailCode)), at("verifications"));
        assert_eq!(wallets(|it| it.second_factors.push(Strategy::METAMASK)), at("second_factors"));
        let unproven = wallets(|it| it.verifications.clear());
        assert!(unproven.contains(&at("verifications")[0]), "{unproven:?}");
        assert_eq!(wallets(|it| *it = Attribute { required: true, ..Attribute::default() }), at("required"));
    }

    #[test]
    fn a_wallet_alone_is_a_way_in() {
        let alone = paths(|settings| {
            settings.attributes.email_address = Attribute::default();
            settings.attributes.phone_number = Attribute::default();
            settings.attributes.username = Attribute::default();
            settings.attributes.password = Attribute::default();
            settings.attributes.web3_wallet = Attribute {
                enabled: true,
                used_for_first_factor: true,
                first_factors: vec![Strategy::METAMASK],
                verifications: vec![Strategy::METAMASK],
                verify_at_sign_up: true,
                ..Attribute::default()
            };
        });
        assert_eq!(alone, [""; 0]);
    }
}
