//! Whether a signature over a text was made with the key of an account. Pure: values in, yes or no out.

use aws_lc_rs::signature::{ED25519, UnparsedPublicKey};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use k256::ecdsa::{RecoveryId, Signature, VerifyingKey};
use latchkey_kernel::strategy::Strategy;
use sha3::{Digest, Keccak256};

/// The account that nobody has the key of; broken software takes failed recoveries for it.
const NO_ACCOUNT: [u8; 20] = [0; 20];

/// Keys of Ed25519 of small order, without the bit of the sign: what was signed hardly matters for these, so everybody
/// can make signatures that fit. The first is the address of Solana's system program.
const WEAK_KEYS: [&str; 7] = [
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
];

/// Whether a signature over a text proves the account of an address, in the way a strategy signs.
pub fn proves(strategy: Strategy, address: &str, text: &str, signature: &str) -> bool {
    let proven = match strategy {
        Strategy::SOLANA => solana(address, text, signature),
        _ if strategy.is_wallet() => ethereum(address, text, signature),
        _ => None,
    };
    proven.is_some()
}

/// A signature by EIP-191 as `personal_sign` makes it: `0x`, then r, s and v in hex digits. The key is found from it, and
/// its address must be the very one that is to be proven.
fn ethereum(address: &str, text: &str, signature: &str) -> Option<()> {
    let account: [u8; 20] = hex(address.strip_prefix("0x")?)?;
    let bytes: [u8; 65] = hex(signature.strip_prefix("0x")?)?;
    let (pair, v) = (&bytes[..64], bytes[64]);
    let recovery = match v {
        0 | 1 => RecoveryId::from_byte(v)?,
        27 | 28 => RecoveryId::from_byte(v - 27)?,
        _ => return None,
    };
    // Zero, and what lies outside of the order of the curve, is refused here.
    let pair = Signature::from_slice(pair).ok()?;
    if pair.normalize_s() != pair {
        // Everybody can turn a signature into a second one with the larger s.
        return None;
    }
    let key = VerifyingKey::recover_from_prehash(&personal_digest(text), &pair, recovery).ok()?;
    let found = account_of(&key)?;
    (found == account && found != NO_ACCOUNT).then_some(())
}

/// What a wallet really signs: the text behind a beginning that no transaction has.
fn personal_digest(text: &str) -> [u8; 32] {
    let beginning = format!("\x19Ethereum Signed Message:\n{}", text.len());
    Keccak256::new().chain_update(beginning).chain_update(text).finalize().into()
}

/// The address of a key: the end of its digest.
fn account_of(key: &VerifyingKey) -> Option<[u8; 20]> {
    let point = key.to_sec1_point(false);
    let digest = Keccak256::digest(point.as_bytes().get(1..)?);
    digest.get(12..)?.try_into().ok()
}

/// An address of Ethereum as EIP-55 writes it: some digits in capitals, by which mistakes are noticed. Wallets refuse
/// texts that name it otherwise. `None` if it is none.
pub fn checksummed(address: &str) -> Option<String> {
    let account: [u8; 20] = hex(address.strip_prefix("0x")?)?;
    let digits = hex_digits(&account);
    let digest = hex_digits(&Keccak256::digest(&digits));
    let cased = digits.chars().zip(digest.chars()).map(|(digit, by)| match by >= '8' {
        true => digit.to_ascii_uppercase(),
        false => digit,
    });
    Some(format!("0x{}", cased.collect::<String>()))
}

/// A signature by Ed25519 over the bytes of the text, in standard Base64. The address is the key, in base 58.
fn solana(address: &str, text: &str, signature: &str) -> Option<()> {
    let mut key = [0; 32];
    let length = bs58::decode(address).onto(&mut key).ok()?;
    // 64 bytes have 88 characters; decoding more would only take time.
    let signature = Some(signature).filter(|signature| signature.len() == 88)?;
    let signature: [u8; 64] = STANDARD.decode(signature).ok()?.try_into().ok()?;
    if length != key.len() || is_weak(key) {
        return None;
    }
    UnparsedPublicKey::new(&ED25519, key).verify(text.as_bytes(), &signature).ok()
}

fn is_weak(mut key: [u8; 32]) -> bool {
    key[31] &= 0x7f;
    WEAK_KEYS.contains(&hex_digits(&key).as_str())
}

/// Small hex digits.
pub fn hex_digits(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// So many bytes from hex digits of either case, and nothing else.
fn hex<const N: usize>(digits: &str) -> Option<[u8; N]> {
    let digits = Some(digits.as_bytes()).filter(|digits| digits.len() == 2 * N)?;
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let value = |digit: u8| char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
        *byte = match pair {
            [high, low] => value(*high)? << 4 | value(*low)?,
            _ => return None,
        };
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
    use k256::ecdsa::SigningKey;

    use super::*;

    /// Made by others: key `0x11` × 32, and seed `0x01` × 32.
    const ACCOUNT: &str = "0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A";
    const SIGNED: &str = "0x9208d5f86a1f5d9c1908dbb42969925675ceb388616fc5b186c248e4967a03e0\
        2e9d28a1adcb8cce60ebcef9756dee20522a2987afea3055f4edd8380d425f891b";
    const SOLANA: &str = "AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9";
    const SOLANA_SIGNED: &str =
        "4UMMbr0NU1c7XIA0UhdPiZHvWVXgkGoJ6P3HMQRZ6cgqQCUmdIw0Mf5/Dl+q+/fnAyNHiXNAY+5CvhevFkONCA==";

    fn by_ethereum(address: &str, text: &str, signature: &str) -> bool {
        let ways = &Strategy::WALLETS[..4];
        let found: Vec<_> = ways.iter().map(|way| proves(*way, address, text, signature)).collect();
        assert!(found.iter().all(|it| *it == found[0]));
        found[0]
    }

    fn by_solana(address: &str, text: &str, signature: &str) -> bool {
        proves(Strategy::SOLANA, address, text, signature)
    }

    /// The signature with other bytes at its end.
    fn ending(v: u8) -> String {
        format!("{}{v:02x}", &SIGNED[..130])
    }

    #[test]
    fn signatures_of_other_programs_are_read() {
        assert!(by_ethereum(ACCOUNT, "hello", SIGNED));
        assert!(by_ethereum(&ACCOUNT.to_lowercase(), "hello", SIGNED));
        assert!(by_ethereum(ACCOUNT, "hello", &SIGNED.to_uppercase().replace("0X", "0x")));
        assert!(by_ethereum(ACCOUNT, "hello", &ending(0)));
        assert!(by_solana(SOLANA, "hello", SOLANA_SIGNED));
    }

    #[test]
    fn a_signature_is_good_for_one_text_and_one_account() {
        for text in ["Hello", "hello ", "", "hello\n"] {
            assert!(!by_ethereum(ACCOUNT, text, SIGNED) && !by_solana(SOLANA, text, SOLANA_SIGNED));
        }
        let other = "0x19e7e376e7c213b7e7e7e46cc70a5dd086daff2b";
        assert!(!by_ethereum(other, "hello", SIGNED));
        assert!(!by_solana("7EcDhSYGxXyscszYEp35KHN8vvw3svAuLKTzXwCFLtV", "hello", SOLANA_SIGNED));
        // Neither proves anything to the other chain.
        assert!(!by_solana(ACCOUNT, "hello", SIGNED) && !by_ethereum(SOLANA, "hello", SOLANA_SIGNED));
        assert!(!proves(Strategy::Password, ACCOUNT, "hello", SIGNED));
    }

    #[test]
    fn only_the_four_values_of_v_are_taken() {
        for v in (0..=u8::MAX).filter(|v| ![0, 27].contains(v)) {
            assert!(!by_ethereum(ACCOUNT, "hello", &ending(v)), "{v}");
        }
    }

    #[test]
    fn a_malleable_s_is_refused() {
        let bytes: [u8; 65] = hex(&SIGNED[2..]).unwrap();
        let low = Signature::from_slice(&bytes[..64]).unwrap();
        let high = Signature::from_scalars(low.r().to_bytes(), (-*low.s()).to_bytes()).unwrap();
        for v in [0, 1, 27, 28] {
            let turned = format!("0x{}{v:02x}", hex_digits(&high.to_bytes()));
            assert!(!by_ethereum(ACCOUNT, "hello", &turned), "{v}");
        }
        // The library itself takes it: this is ours to refuse.
        let flipped = RecoveryId::from_byte(1).unwrap();
        let found = VerifyingKey::recover_from_prehash(&personal_digest("hello"), &high, flipped).unwrap();
        assert_eq!(checksummed(&format!("0x{}", hex_digits(&account_of(&found).unwrap()))).unwrap(), ACCOUNT);
        // The same with the order of the curve added to s, for Solana.
        let mut bytes = STANDARD.decode(SOLANA_SIGNED).unwrap();
        let order = "edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010";
        let order: [u8; 32] = hex(order).unwrap();
        let mut carry = 0;
        for (byte, add) in bytes[32..].iter_mut().zip(order) {
            let sum = u16::from(*byte) + u16::from(add) + carry;
            *byte = (sum & 0xff) as u8;
            carry = sum >> 8;
        }
        assert!(!by_solana(SOLANA, "hello", &STANDARD.encode(bytes)));
    }

    #[test]
    fn signatures_of_another_length_or_alphabet_are_refused() {
        let contract = format!("0x{}", "ab".repeat(320));
        for bad in [
            "",
            "0x",
            &SIGNED[2..],
            &SIGNED[..130],
            &format!("{SIGNED}00"),
            &SIGNED.replace('9', "g"),
            &SIGNED.replacen("0x", "0X", 1),
            &format!("0x{}1b", "00".repeat(64)),
            &format!("0x{}1b", "ff".repeat(64)),
            &format!("0x{}", "é".repeat(65)),
            &contract,
        ] {
            assert!(!by_ethereum(ACCOUNT, "hello", bad), "{bad}");
        }
        let url_safe = SOLANA_SIGNED.replace('/', "_").replace('+', "-");
        let unpadded = SOLANA_SIGNED.trim_end_matches('=');
        let base58 = bs58_of(&STANDARD.decode(SOLANA_SIGNED).unwrap());
        for bad in ["", &url_safe, unpadded, &base58, &format!("{SOLANA_SIGNED}=="), &"é".repeat(44)] {
            assert!(!by_solana(SOLANA, "hello", bad), "{bad}");
        }
    }

    fn bs58_of(bytes: &[u8]) -> String {
        let mut text = [0; 100];
        let length = bs58::encode(bytes).onto(&mut text[..]).unwrap();
        String::from_utf8(text[..length].to_vec()).unwrap()
    }

    #[test]
    fn accounts_that_are_nobodys_prove_nothing() {
        let zero = format!("0x{}", "0".repeat(40));
        assert!(!by_ethereum(&zero, "hello", SIGNED));
        assert!(!by_ethereum(&zero, "hello", &format!("0x{}1b", "00".repeat(64))));
        // Signatures that anybody can make for keys of small order, whatever the text.
        let points: Vec<[u8; 32]> = WEAK_KEYS.iter().map(|key| hex(key).unwrap()).collect();
        let signed = |mut point: [u8; 32], sign: u8| {
            point[31] |= sign;
            [point, [0; 32]].concat()
        };
        let mut forged = 0;
        for key in &points {
            for (point, sign) in points.iter().flat_map(|point| [(point, 0), (point, 0x80)]) {
                let signature = signed(*point, sign);
                let text = "any text at all";
                let is_taken = UnparsedPublicKey::new(&ED25519, key).verify(text.as_bytes(), &signature);
                forged += usize::from(is_taken.is_ok());
                assert!(!by_solana(&bs58_of(key), text, &STANDARD.encode(signature)));
            }
        }
        assert!(forged > 0, "the library refuses them itself by now");
        assert!(!by_solana("11111111111111111111111111111111", "", SOLANA_SIGNED));
    }

    #[test]
    fn a_key_of_ones_own_signs() {
        let key = SigningKey::from_slice(&[7; 32]).unwrap();
        let account = format!("0x{}", hex_digits(&account_of(key.verifying_key()).unwrap()));
        let text = "a text\nof two lines, with an é";
        let (pair, recovery) = key.sign_prehash_recoverable(&personal_digest(text));
        let signature = format!("0x{}{:02x}", hex_digits(&pair.to_bytes()), 27 + recovery.to_byte());
        assert!(by_ethereum(&account, text, &signature));
        let key = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
        let address = bs58_of(key.public_key().as_ref());
        let signature = STANDARD.encode(key.sign(text.as_bytes()));
        assert!(by_solana(&address, text, &signature));
    }

    #[test]
    fn addresses_are_written_as_wallets_write_them() {
        // The examples of EIP-55.
        for address in [
            ACCOUNT,
            "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
            "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
            "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
            "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
            "0x52908400098527886E0F7030069857D2E4169EE7",
            "0xde709f2102306220921060314715629080e2fb77",
        ] {
            assert_eq!(checksummed(&address.to_lowercase()).unwrap(), address);
        }
        assert_eq!(checksummed(SOLANA), None);
    }
}
