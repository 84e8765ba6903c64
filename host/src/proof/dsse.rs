//! Signed envelopes (DSSE) with ed25519.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

/// The type of the statements that `gate` signs.
pub const IN_TOTO: &str = "application/vnd.in-toto+json";

/// A signed payload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Envelope {
    /// The payload in base64.
    pub payload: String,
    /// The type of the payload.
    pub payload_type: String,
    /// The signatures.
    pub signatures: Vec<Signature>,
}

/// One signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signature {
    /// A hint at the key, which is not trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keyid: Option<String>,
    /// The signature in base64.
    pub sig: String,
}

/// Why an envelope is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadEnvelope {
    /// The payload has no type.
    #[error("the envelope names no payload type")]
    NoType,
    /// The payload has another type.
    #[error("expected a payload of type `{expected}`, found `{found}`")]
    OtherType {
        /// What was expected.
        expected: String,
        /// The type that was found.
        found: String,
    },
    /// It is not base64.
    #[error("{0} is not base64")]
    NotBase64(&'static str),
    /// Too few keys have signed it.
    #[error("signed by {valid} of {needed} required keys")]
    TooFew {
        /// How many valid signatures there are.
        valid: usize,
        /// How many are needed.
        needed: usize,
    },
}

/// Returns the signed bytes. Lengths make the encoding unambiguous.
pub fn pae(payload_type: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), body.len()).into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// A signing key.
pub struct SigningKey(Ed25519KeyPair);

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SigningKey({})", self.id())
    }
}

impl SigningKey {
    /// Returns the key of this seed.
    pub fn from_seed(seed: &[u8; 32]) -> Option<Self> {
        Ed25519KeyPair::from_seed_unchecked(seed).ok().map(Self)
    }

    /// Returns the key of a file: the 64 hexadecimal digits of its seed.
    pub fn from_text(text: &str) -> Option<Self> {
        Self::from_seed(&text.trim().parse::<crate::ledger::Hash>().ok()?.0)
    }

    /// Returns the public key.
    pub fn public(&self) -> Vec<u8> {
        self.0.public_key().as_ref().to_vec()
    }

    /// Returns SHA-256 of the public key.
    pub fn id(&self) -> String {
        key_id(&self.public())
    }

    /// Signs a payload.
    pub fn sign(&self, payload_type: &str, body: &[u8]) -> Signature {
        let sig = self.0.sign(&pae(payload_type, body));
        Signature { keyid: Some(self.id()), sig: STANDARD.encode(sig.as_ref()) }
    }

    /// Returns the envelope of a payload that this key signed.
    pub fn envelope(&self, payload_type: &str, body: &[u8]) -> Envelope {
        Envelope {
            payload: STANDARD.encode(body),
            payload_type: payload_type.to_owned(),
            signatures: vec![self.sign(payload_type, body)],
        }
    }
}

fn key_id(public: &[u8]) -> String {
    crate::text::hex(&Sha256::digest(public))
}

impl Envelope {
    /// Returns the payload, if it has this type and enough of these keys signed it. Each key counts once.
    pub fn verify(&self, payload_type: &str, keys: &[Vec<u8>], needed: usize) -> Result<Vec<u8>, BadEnvelope> {
        if self.payload_type.is_empty() {
            return Err(BadEnvelope::NoType);
        }
        if self.payload_type != payload_type {
            let (expected, found) = (payload_type.to_owned(), crate::text::clean_line(&self.payload_type, 200));
            return Err(BadEnvelope::OtherType { expected, found });
        }
        let body = decode(&self.payload).ok_or(BadEnvelope::NotBase64("the payload"))?;
        let signed = pae(&self.payload_type, &body);
        let mut valid = BTreeSet::new();
        for signature in &self.signatures {
            let sig = decode(&signature.sig).ok_or(BadEnvelope::NotBase64("a signature"))?;
            let key = keys.iter().find(|key| UnparsedPublicKey::new(&ED25519, key).verify(&signed, &sig).is_ok());
            valid.extend(key);
        }
        // Zero keys would accept anything.
        if valid.len() < needed.max(1) {
            return Err(BadEnvelope::TooFew { valid: valid.len(), needed: needed.max(1) });
        }
        Ok(body)
    }
}

/// Decodes base64 in both alphabets.
fn decode(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).or_else(|_| URL_SAFE.decode(text)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &[u8] = br#"{"_type":"https://in-toto.io/Statement/v1"}"#;

    fn key(seed: &str) -> SigningKey {
        SigningKey::from_text(seed).expect("a seed")
    }

    fn a() -> SigningKey {
        key("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    }

    fn b() -> SigningKey {
        key("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb")
    }

    #[test]
    fn signatures_are_those_of_the_published_vectors() {
        let hex = "445353457631203238206170706c69636174696f6e2f766e642e696e2d746f746f2b6a736f6e203433207b225f74797065223a\
                   2268747470733a2f2f696e2d746f746f2e696f2f53746174656d656e742f7631227d";
        assert_eq!(crate::text::hex(&pae(IN_TOTO, BODY)), hex);
        for (key, body, expected) in [
            (a(), BODY, "2WAfaHm5jluo0w+0rk8uVkluELJYWjSmU9x7EUzx+AyteDGJ4/nqyJXfmAUVFIAoQafWm7AxBZNw5M9ixNHiCA=="),
            (b(), BODY, "c1+67/aT0yqEpwx8PsVY3MLHsj9D0CZ014/Fv/QlG59P+9CobUZ7xECJ/V3USG0Ob9CiE5LjReEZUzNF2l7eBw=="),
            (a(), b"", "gSggCAaTLTYyRH6FIDBem6meyIynsYy8RTHVzwx9tnTb7Bg/1jMWnuVgI/gffqmbsC2VX5/jHfkkDqsj7CDbDg=="),
        ] {
            assert_eq!(key.sign(IN_TOTO, body).sig, expected);
        }
    }

    #[test]
    fn an_envelope_is_accepted_for_its_own_type_and_distinct_keys_only() {
        let envelope = a().envelope(IN_TOTO, BODY);
        let keys = [a().public(), b().public()];
        assert_eq!(envelope.verify(IN_TOTO, &keys, 1), Ok(BODY.to_vec()));
        let other = Envelope { payload_type: "text/plain".to_owned(), ..envelope.clone() };
        assert_eq!(other.verify("text/plain", &keys, 1), Err(BadEnvelope::TooFew { valid: 0, needed: 1 }));
        assert!(matches!(envelope.verify("text/plain", &keys, 1), Err(BadEnvelope::OtherType { .. })));
        let mut twice = envelope.clone();
        twice.signatures.push(twice.signatures[0].clone());
        assert_eq!(twice.verify(IN_TOTO, &keys, 2), Err(BadEnvelope::TooFew { valid: 1, needed: 2 }));
        twice.signatures[1] = b().sign(IN_TOTO, BODY);
        assert_eq!(twice.verify(IN_TOTO, &keys, 2), Ok(BODY.to_vec()));
        let untyped = a().envelope("", BODY);
        assert_eq!(untyped.verify("", &keys, 1), Err(BadEnvelope::NoType));
        assert_eq!(envelope.verify(IN_TOTO, &[], 0), Err(BadEnvelope::TooFew { valid: 0, needed: 1 }));
        let url_safe = Envelope { payload: URL_SAFE.encode(BODY), ..envelope };
        assert_eq!(url_safe.verify(IN_TOTO, &keys, 1), Ok(BODY.to_vec()));
    }
}
