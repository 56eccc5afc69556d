//! The complete refresh: new shares and new correlations of the same key, in the rounds of key generation. Old shares are
//! worth nothing beside new ones. It ends the ban of a party, since what that party may have learnt is replaced.

use std::collections::BTreeMap;
use std::rc::Rc;

use dkls23_core::protocols::dkg::{
    KeepInitMulPhase3to4, KeepInitZeroSharePhase2to3, KeepInitZeroSharePhase3to4, ProofCommitment,
    TransmitInitMulPhase3to4, TransmitInitZeroSharePhase2to4, TransmitInitZeroSharePhase3to4,
};
use dkls23_core::protocols::PartyIndex;
use k256::{Scalar, Secp256k1};
use serde::{Deserialize, Serialize};

use crate::messages::{read_all, require_same, to_each, transcript, write};
use crate::outcome::{Failure, Incoming, Outgoing, Step};
use crate::share::{others, Share};

#[derive(Serialize, Deserialize)]
struct Committed {
    proof: [u8; 32],
    zero: TransmitInitZeroSharePhase2to4,
}

#[derive(Serialize, Deserialize)]
struct Opened {
    proof: ProofCommitment<Secp256k1>,
    zero: TransmitInitZeroSharePhase3to4,
    multiplication: TransmitInitMulPhase3to4<Secp256k1>,
}

struct Correction {
    value: Scalar,
    proof: ProofCommitment<Secp256k1>,
}

type Broadcasts = BTreeMap<PartyIndex, ([u8; 32], ProofCommitment<Secp256k1>)>;

enum Due {
    Fragments { own: Scalar },
    Commitments { own: Correction, kept: BTreeMap<PartyIndex, KeepInitZeroSharePhase2to3> },
    Openings {
        own: Correction,
        committed: BTreeMap<PartyIndex, Committed>,
        zero: BTreeMap<PartyIndex, KeepInitZeroSharePhase3to4>,
        multiplication: BTreeMap<PartyIndex, KeepInitMulPhase3to4<Secp256k1>>,
    },
    Digests { digest: [u8; 32], share: Box<Share> },
}

pub struct Refresh {
    share: Rc<Share>,
    refresh_id: Vec<u8>,
    due: Option<Due>,
}

impl Refresh {
    pub fn begin(share: Rc<Share>, refresh_id: &[u8]) -> Result<(Self, Step), Failure> {
        if refresh_id.is_empty() {
            return Err(Failure::Invalid("a refresh needs an id"));
        }
        let fragments = share.party.refresh_complete_phase1();
        let me = share.party.party_index;
        let outgoing = others(share.party.parameters.share_count, me)
            .map(|party| (party, write(&fragments[usize::from(party.as_u8()) - 1])))
            .collect();
        let own = fragments[usize::from(me.as_u8()) - 1];
        Ok((Refresh { share, refresh_id: refresh_id.to_vec(), due: Some(Due::Fragments { own }) }, Step::Continue(outgoing)))
    }

    pub fn advance(&mut self, incoming: &Incoming) -> Result<Step, Failure> {
        match self.due.take().ok_or(Failure::Invalid("the session has ended"))? {
            Due::Fragments { own } => self.commit(own, incoming),
            Due::Commitments { own, kept } => self.open(own, kept, incoming),
            Due::Openings { own, committed, zero, multiplication } => {
                self.assemble(own, committed, (zero, multiplication), incoming)
            }
            Due::Digests { digest, share } => {
                require_same(&digest, &read_all(self.others(), incoming)?)?;
                Ok(Step::Done { outgoing: Outgoing::new(), result: share.encode().to_vec() })
            }
        }
    }

    fn others(&self) -> impl Iterator<Item = PartyIndex> {
        others(self.share.party.parameters.share_count, self.share.party.party_index)
    }

    fn commit(&mut self, own: Scalar, incoming: &Incoming) -> Result<Step, Failure> {
        let received: BTreeMap<PartyIndex, Scalar> = read_all(self.others(), incoming)?;
        let fragments: Vec<Scalar> = received.into_values().chain([own]).collect();
        let (value, proof, kept, zero) = self.share.party.refresh_complete_phase2(&self.refresh_id, &fragments);
        let outgoing = zero
            .into_iter()
            .map(|zero| (zero.parties.receiver, write(&Committed { proof: proof.commitment, zero })))
            .collect();
        self.due = Some(Due::Commitments { own: Correction { value, proof }, kept });
        Ok(Step::Continue(outgoing))
    }

    fn open(
        &mut self,
        own: Correction,
        kept: BTreeMap<PartyIndex, KeepInitZeroSharePhase2to3>,
        incoming: &Incoming,
    ) -> Result<Step, Failure> {
        let committed: BTreeMap<PartyIndex, Committed> = read_all(self.others(), incoming)?;
        let (zero, zero_messages, multiplication, multiplication_messages) =
            self.share.party.refresh_complete_phase3(&self.refresh_id, &kept);
        let outgoing = zero_messages
            .into_iter()
            .zip(multiplication_messages)
            .map(|(zero, multiplication)| {
                (zero.parties.receiver, write(&Opened { proof: own.proof.clone(), zero, multiplication }))
            })
            .collect();
        self.due = Some(Due::Openings { own, committed, zero, multiplication });
        Ok(Step::Continue(outgoing))
    }

    fn assemble(
        &mut self,
        own: Correction,
        committed: BTreeMap<PartyIndex, Committed>,
        (zero, multiplication): (
            BTreeMap<PartyIndex, KeepInitZeroSharePhase3to4>,
            BTreeMap<PartyIndex, KeepInitMulPhase3to4<Secp256k1>>,
        ),
        incoming: &Incoming,
    ) -> Result<Step, Failure> {
        let opened: BTreeMap<PartyIndex, Opened> = read_all(self.others(), incoming)?;
        let mut broadcasts: Broadcasts = committed
            .iter()
            .zip(opened.values())
            .map(|((party, before), after)| (*party, (before.proof, after.proof.clone())))
            .collect();
        broadcasts.insert(self.share.party.party_index, (own.proof.commitment, own.proof));
        require_honest_senders(&broadcasts)?;
        let proofs: Vec<_> = broadcasts.values().map(|(_, proof)| proof.clone()).collect();
        let party = self.share.party.refresh_complete_phase4(
            &self.refresh_id,
            &own.value,
            &proofs,
            &zero,
            &committed.into_values().map(|message| message.zero).collect::<Vec<_>>(),
            &opened.values().map(|message| message.zero.clone()).collect::<Vec<_>>(),
            &multiplication,
            &opened.values().map(|message| message.multiplication.clone()).collect::<Vec<_>>(),
        )?;
        let package = self.share.package.refresh(&self.refresh_id, &proofs).map_err(|reason| Failure::Refused {
            party: None,
            reason: reason.to_string(),
        })?;
        let digest = transcript(&[b"bursar share refresh ", &self.refresh_id[..]].concat(), &broadcasts);
        self.due = Some(Due::Digests { digest, share: Box::new(Share::new(party, package)) });
        Ok(Step::Continue(to_each(self.others(), &digest)))
    }
}

/// The opened commitment is the one that was made before, and speaks for its sender alone.
fn require_honest_senders(broadcasts: &Broadcasts) -> Result<(), Failure> {
    for (party, (commitment, proof)) in broadcasts {
        if proof.index != *party || proof.commitment != *commitment {
            let reason = "it opened another commitment than it made".to_string();
            return Err(Failure::Refused { party: Some(*party), reason });
        }
    }
    Ok(())
}
