//! The text that a wallet is to sign, in the layout of EIP-4361, which wallets know: they show who asks, and warn when
//! that is another site than the one that is open.

use latchkey_base::Time;
use latchkey_kernel::strategy::Strategy;

use super::signatures::checksummed;

/// What the text is made from.
pub struct WalletText<'a> {
    /// The way of proof.
    pub strategy: Strategy,
    /// The address, in its stored form.
    pub address: &'a str,
    /// The origin of the page that asks.
    pub page: &'a str,
    /// What makes it differ from every other text.
    pub nonce: &'a str,
    /// When it was asked for.
    pub issued_at: Time,
    /// When it stops being good.
    pub expire_at: Time,
}

/// The text. It names the site, the account and the chain, so a signature that was given elsewhere is none here.
pub fn text(parts: &WalletText<'_>) -> String {
    let WalletText { strategy, address, page, nonce, issued_at, expire_at } = parts;
    let domain = page.split_once("://").map_or(*page, |(_, domain)| domain);
    let (chain, chain_id) = match *strategy {
        Strategy::SOLANA => ("Solana", "mainnet"),
        _ => ("Ethereum", "1"),
    };
    let address = checksummed(address).unwrap_or_else(|| (*address).to_owned());
    let (issued_at, expire_at) = (issued_at.rfc3339(), expire_at.rfc3339());
    format!(
        "{domain} wants you to sign in with your {chain} account:\n{address}\n\n\
         This proves that the account is yours. It moves no money and costs nothing.\n\n\
         URI: {page}\nVersion: 1\nChain ID: {chain_id}\nNonce: {nonce}\nIssued At: {issued_at}\n\
         Expiration Time: {expire_at}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(strategy: Strategy, address: &str) -> WalletText<'_> {
        let issued_at = Time::from_ms(1_700_000_000_000);
        WalletText {
            strategy,
            address,
            page: "https://app.example.com:8443",
            nonce: "0123456789abcdef",
            issued_at,
            expire_at: issued_at.plus_ms(600_000),
        }
    }

    #[test]
    fn the_text_is_laid_out_as_wallets_read_it() {
        let address = "0x19e7e376e7c213b7e7e7e46cc70a5dd086daff2a";
        let expected = "app.example.com:8443 wants you to sign in with your Ethereum account:\n\
            0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A\n\n\
            This proves that the account is yours. It moves no money and costs nothing.\n\n\
            URI: https://app.example.com:8443\nVersion: 1\nChain ID: 1\nNonce: 0123456789abcdef\n\
            Issued At: 2023-11-14T22:13:20.000Z\nExpiration Time: 2023-11-14T22:23:20.000Z";
        assert_eq!(text(&parts(Strategy::METAMASK, address)), expected);
        let solana = text(&parts(Strategy::SOLANA, "AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9"));
        assert!(solana.contains("your Solana account:\nAKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9\n\n"));
        assert!(solana.contains("\nChain ID: mainnet\n"));
    }
}
