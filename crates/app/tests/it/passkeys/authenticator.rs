//! An authenticator in software, which also does what no honest one does.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use latchkey_base::rng::{Rng, SystemRng};
use latchkey_jose::digest::sha256;
use serde_json::{Value, json};

/// The owner touched it.
pub(crate) const PRESENT: u8 = 0x01;
/// The owner unlocked it.
pub(crate) const VERIFIED: u8 = 0x04;
/// It may be copied to other devices.
const BACKUP_ELIGIBLE: u8 = 0x08;
/// It was.
const BACKED_UP: u8 = 0x10;
const HAS_KEY: u8 = 0x40;

/// A device with one passkey, in a browser on a page.
pub(crate) struct Authenticator {
    pub(crate) key: EcdsaKeyPair,
    pub(crate) id: Vec<u8>,
    /// What it shows with the next use; one that copies its passkeys stays at 0.
    pub(crate) counter: u32,
    pub(crate) counts: bool,
    /// Whose passkey it is.
    pub(crate) handle: Option<String>,
    pub(crate) flags: u8,
    pub(crate) origin: String,
    /// Further fields of what the browser says.
    pub(crate) said: Value,
    /// The domain it signs for, if not the one it was asked for.
    pub(crate) rp_id: Option<String>,
}

impl Authenticator {
    pub(crate) fn new() -> Authenticator {
        let mut id = vec![0; 32];
        SystemRng.fill(&mut id);
        Authenticator {
            key: EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).unwrap(),
            id,
            counter: 1,
            counts: true,
            handle: None,
            flags: PRESENT | VERIFIED,
            origin: "http://localhost:3000".to_owned(),
            said: json!({"crossOrigin": false}),
            rp_id: None,
        }
    }

    /// One whose passkeys are copied to all devices of their owner, as those of phones are.
    pub(crate) fn synced() -> Authenticator {
        let flags = PRESENT | VERIFIED | BACKUP_ELIGIBLE | BACKED_UP;
        Authenticator { counter: 0, counts: false, flags, ..Authenticator::new() }
    }

    /// Makes the passkey, as `navigator.credentials.create` does: the answer as scripts write it.
    pub(crate) fn create(&mut self, options: &Value) -> Value {
        self.handle = Some(options["user"]["id"].as_str().unwrap().to_owned());
        let public = self.key.public_key().as_ref().to_vec();
        let mut data = self.data(options["rp"]["id"].as_str().unwrap(), HAS_KEY);
        data.extend([0; 16]);
        data.extend(u16::try_from(self.id.len()).unwrap().to_be_bytes());
        data.extend(&self.id);
        // A COSE key: EC2, ES256, P-256, x and y.
        data.extend([0xA5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20]);
        data.extend(&public[1..33]);
        data.extend([0x22, 0x58, 0x20]);
        data.extend(&public[33..65]);
        let mut object = vec![0xA3, 0x63];
        object.extend(b"fmt");
        object.push(0x64);
        object.extend(b"none");
        object.push(0x67);
        object.extend(b"attStmt");
        object.push(0xA0);
        object.push(0x68);
        object.extend(b"authData");
        object.push(0x59);
        object.extend(u16::try_from(data.len()).unwrap().to_be_bytes());
        object.extend(&data);
        json!({
            "type": "public-key", "id": text(&self.id), "rawId": text(&self.id),
            "authenticatorAttachment": "platform",
            "response": {
                "clientDataJSON": text(self.said("webauthn.create", options).as_bytes()),
                "attestationObject": text(&object), "transports": ["internal"],
            },
        })
    }

    /// Uses the passkey, as `navigator.credentials.get` does.
    pub(crate) fn get(&mut self, options: &Value) -> Value {
        let data = self.data(options["rpId"].as_str().unwrap(), 0);
        let said = self.said("webauthn.get", options);
        let signed = [data.as_slice(), &sha256(said.as_bytes())].concat();
        let signature = self.key.sign(&SystemRandom::new(), &signed).unwrap();
        json!({
            "type": "public-key", "id": text(&self.id), "rawId": text(&self.id),
            "authenticatorAttachment": "platform",
            "response": {
                "clientDataJSON": text(said.as_bytes()), "authenticatorData": text(&data),
                "signature": text(signature.as_ref()), "userHandle": self.handle,
            },
        })
    }

    fn data(&mut self, asked: &str, flags: u8) -> Vec<u8> {
        let mut data = sha256(self.rp_id.as_deref().unwrap_or(asked).as_bytes()).to_vec();
        data.push(self.flags | flags);
        data.extend(self.counter.to_be_bytes());
        self.counter += u32::from(self.counts);
        data
    }

    fn said(&self, kind: &str, options: &Value) -> String {
        let mut said = json!({"type": kind, "challenge": options["challenge"], "origin": self.origin});
        for (name, value) in self.said.as_object().unwrap() {
            said[name] = value.clone();
        }
        said.to_string()
    }
}

fn text(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
