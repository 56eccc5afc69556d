//! Payloads of one round as bytes, and back. What cannot be read is refused in the name of its sender.

use std::collections::BTreeMap;

use dkls23_core::protocols::PartyIndex;
use serde::de::DeserializeOwned;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::outcome::{Failure, Incoming, Outgoing};

pub fn write<T: Serialize>(message: &T) -> Vec<u8> {
    postcard::to_allocvec(message).expect("a message in memory can be written")
}

/// Reads what every one of `senders` sent, and nothing else.
pub fn read_all<T: DeserializeOwned>(
    senders: impl Iterator<Item = PartyIndex>,
    incoming: &Incoming,
) -> Result<BTreeMap<PartyIndex, T>, Failure> {
    let messages = senders
        .map(|sender| {
            let bytes = incoming.get(&sender).ok_or(Failure::Invalid("a message of the round is missing"))?;
            Ok((sender, read(sender, bytes)?))
        })
        .collect::<Result<BTreeMap<_, _>, Failure>>()?;
    if messages.len() == incoming.len() {
        Ok(messages)
    } else {
        Err(Failure::Invalid("a message comes from one who takes no part"))
    }
}

fn read<T: DeserializeOwned>(sender: PartyIndex, bytes: &[u8]) -> Result<T, Failure> {
    let refused = || Failure::Refused { party: Some(sender), reason: "its message cannot be read".to_string() };
    let (message, rest) = postcard::take_from_bytes::<T>(bytes).map_err(|_| refused())?;
    if rest.is_empty() {
        Ok(message)
    } else {
        Err(refused())
    }
}

/// The same message for each of several parties.
pub fn to_each<T: Serialize>(receivers: impl Iterator<Item = PartyIndex>, message: &T) -> Outgoing {
    let bytes = write(message);
    receivers.map(|receiver| (receiver, bytes.clone())).collect()
}

/// A digest of what was broadcast, the same for all who saw the same.
pub fn transcript<T: Serialize>(domain: &[u8], broadcasts: &BTreeMap<PartyIndex, T>) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(domain);
    hash.update(write(broadcasts));
    hash.finalize().into()
}

/// Compares one's own digest with those of all others.
pub fn require_same(mine: &[u8; 32], theirs: &BTreeMap<PartyIndex, [u8; 32]>) -> Result<(), Failure> {
    match theirs.iter().find(|(_, digest)| *digest != mine) {
        None => Ok(()),
        Some((party, _)) => Err(Failure::TranscriptMismatch { party: *party }),
    }
}
