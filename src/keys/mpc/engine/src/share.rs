//! What one party keeps of a key: its share, the correlations it holds with the others, and the public side of all shares.

use dkls23_core::protocols::{Party, PartyIndex, PublicKeyPackage};
use k256::elliptic_curve::group::GroupEncoding;
use k256::Secp256k1;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::outcome::Failure;
use crate::wire::Writer;

/// The format of the bytes. One that is not known is refused.
const VERSION: u8 = 1;

#[derive(Serialize, Deserialize)]
pub struct Share {
    version: u8,
    pub party: Party<Secp256k1>,
    pub package: PublicKeyPackage<Secp256k1>,
}

impl Share {
    pub fn new(party: Party<Secp256k1>, package: PublicKeyPackage<Secp256k1>) -> Self {
        Share { version: VERSION, party, package }
    }

    /// Refuses a share whose secret does not belong to the public side that it names.
    pub fn decode(bytes: &[u8]) -> Result<Self, Failure> {
        let share: Share = postcard::from_bytes(bytes).map_err(|_| Failure::Invalid("these are not the bytes of a share"))?;
        if share.version != VERSION {
            return Err(Failure::Invalid("the share is of a version that this engine does not know"));
        }
        let point = (k256::ProjectivePoint::GENERATOR * share.party.poly_point).to_affine();
        if share.package.verifying_key() != &share.party.pk || !share.package.verify_share(share.party.party_index, &point) {
            return Err(Failure::Invalid("the share does not belong to its public key"));
        }
        Ok(share)
    }

    pub fn encode(&self) -> Zeroizing<Vec<u8>> {
        Zeroizing::new(postcard::to_allocvec(self).expect("a share in memory can be written"))
    }

    /// Index, threshold, number of parties, and the compressed public key (SEC 1).
    pub fn facts(&self) -> Vec<u8> {
        Writer::default()
            .byte(self.party.party_index.as_u8())
            .byte(self.party.parameters.threshold)
            .byte(self.party.parameters.share_count)
            .bytes(&self.party.pk.to_bytes())
            .finish()
    }
}

/// Everybody but one.
pub fn others(share_count: u8, me: PartyIndex) -> impl Iterator<Item = PartyIndex> {
    (1..=share_count).filter_map(|index| PartyIndex::new(index).ok()).filter(move |index| *index != me)
}
