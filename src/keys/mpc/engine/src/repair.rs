//! A lost share, rebuilt from at least `t` others for the party that lost it and for nobody else. What it is given cannot
//! sign: a complete refresh of all parties follows, and only its shares count.

use dkls23_core::protocols::repair::{repair_assemble, RepairError, RepairTerm};
use dkls23_core::protocols::{PartyIndex, PublicKeyPackage};
use dkls23_secp256k1::compute_eth_address;
use k256::Secp256k1;
use serde::{Deserialize, Serialize};

use crate::messages::{read_all, write};
use crate::outcome::{Failure, Incoming};
use crate::share::Share;

#[derive(Serialize, Deserialize)]
struct Term {
    term: RepairTerm<Secp256k1>,
    package: PublicKeyPackage<Secp256k1>,
}

/// What one helper sends to the party that lost its share.
pub fn help(share: &Share, helpers: &[PartyIndex], target: PartyIndex, repair_id: &[u8]) -> Result<Vec<u8>, Failure> {
    let term = share.party.repair_term(helpers, target, repair_id)?;
    Ok(write(&Term { term, package: share.package.clone() }))
}

/// The share that the helpers' terms add up to, as bytes. All helpers must name the same public side.
pub fn assemble(target: PartyIndex, helpers: &[PartyIndex], incoming: &Incoming) -> Result<Vec<u8>, Failure> {
    let received: Vec<(PartyIndex, Term)> = read_all(helpers.iter().copied(), incoming)?.into_iter().collect();
    let (_, first) = received.first().ok_or(Failure::Invalid("a repair needs helpers"))?;
    let package = write(&first.package);
    for (sender, message) in &received {
        if message.term.helper != *sender || write(&message.package) != package {
            return Err(Failure::TranscriptMismatch { party: *sender });
        }
    }
    let terms: Vec<_> = received.iter().map(|(_, message)| message.term.clone()).collect();
    let party = repair_assemble(&first.package, target, &terms, compute_eth_address)?;
    Ok(Share::new(party, first.package.clone()).encode().to_vec())
}

impl From<RepairError> for Failure {
    fn from(error: RepairError) -> Self {
        Failure::Refused { party: None, reason: error.to_string() }
    }
}
