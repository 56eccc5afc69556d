//! Distributed key generation (Protocol 9.1 of ePrint 2023/602, as DKLs23 takes it), in four rounds: fragments, commitments,
//! openings, and a digest of all that was broadcast. The digest is what keeps a party from telling two others two things.

use std::collections::BTreeMap;

use dkls23_core::protocols::dkg::{
    BroadcastDerivationPhase2to4, BroadcastDerivationPhase3to4, ProofCommitment, TransmitInitMulPhase3to4,
    TransmitInitZeroSharePhase2to4, TransmitInitZeroSharePhase3to4,
};
use dkls23_core::protocols::{Parameters, PartyIndex};
use dkls23_core::DkgSession;
use dkls23_secp256k1::compute_eth_address;
use k256::{Scalar, Secp256k1};
use serde::{Deserialize, Serialize};

use crate::messages::{read_all, require_same, to_each, transcript, write};
use crate::outcome::{Failure, Incoming, Outgoing, Step};
use crate::share::{others, Share};

#[derive(Serialize, Deserialize)]
struct Committed {
    proof: [u8; 32],
    zero: TransmitInitZeroSharePhase2to4,
    derivation: BroadcastDerivationPhase2to4,
}

#[derive(Serialize, Deserialize)]
struct Opened {
    proof: ProofCommitment<Secp256k1>,
    zero: TransmitInitZeroSharePhase3to4,
    multiplication: TransmitInitMulPhase3to4<Secp256k1>,
    derivation: BroadcastDerivationPhase3to4,
}

type Broadcasts = BTreeMap<PartyIndex, ([u8; 32], BroadcastDerivationPhase2to4, ProofCommitment<Secp256k1>, BroadcastDerivationPhase3to4)>;

enum Due {
    Fragments { own: Scalar },
    Commitments { own: (ProofCommitment<Secp256k1>, BroadcastDerivationPhase2to4) },
    Openings { committed: BTreeMap<PartyIndex, Committed>, own: Own },
    Digests { digest: [u8; 32], share: Box<Share> },
}

struct Own {
    proof: ProofCommitment<Secp256k1>,
    committed: BroadcastDerivationPhase2to4,
    opened: BroadcastDerivationPhase3to4,
}

pub struct Generation {
    session: Option<DkgSession<Secp256k1>>,
    session_id: Vec<u8>,
    me: PartyIndex,
    share_count: u8,
    due: Option<Due>,
}

impl Generation {
    pub fn begin(parameters: Parameters, me: PartyIndex, session_id: &[u8]) -> Result<(Self, Step), Failure> {
        let share_count = parameters.share_count;
        if me.as_u8() > share_count {
            return Err(Failure::Invalid("the index of the party is larger than the number of parties"));
        }
        let session = DkgSession::new(parameters, me, session_id.to_vec());
        let fragments = session.phase1();
        let outgoing = others(share_count, me)
            .map(|party| (party, write(&fragments[usize::from(party.as_u8()) - 1])))
            .collect::<Outgoing>();
        let own = fragments[usize::from(me.as_u8()) - 1];
        let generation = Generation {
            session: Some(session),
            session_id: session_id.to_vec(),
            me,
            share_count,
            due: Some(Due::Fragments { own }),
        };
        Ok((generation, Step::Continue(outgoing)))
    }

    pub fn advance(&mut self, incoming: &Incoming) -> Result<Step, Failure> {
        match self.due.take().ok_or(Failure::Invalid("the session has ended"))? {
            Due::Fragments { own } => self.commit(own, incoming),
            Due::Commitments { own } => self.open(own, incoming),
            Due::Openings { committed, own } => self.assemble(committed, own, incoming),
            Due::Digests { digest, share } => {
                require_same(&digest, &read_all(others(self.share_count, self.me), incoming)?)?;
                Ok(Step::Done { outgoing: Outgoing::new(), result: share.encode().to_vec() })
            }
        }
    }

    fn session(&mut self) -> Result<&mut DkgSession<Secp256k1>, Failure> {
        self.session.as_mut().ok_or(Failure::Invalid("the session has ended"))
    }

    fn commit(&mut self, own: Scalar, incoming: &Incoming) -> Result<Step, Failure> {
        let received: BTreeMap<PartyIndex, Scalar> = read_all(others(self.share_count, self.me), incoming)?;
        let fragments: Vec<Scalar> = received.into_values().chain([own]).collect();
        let (proof, zero, derivation) = self.session()?.phase2(&fragments)?;
        let outgoing = zero
            .into_iter()
            .map(|zero| {
                let receiver = zero.parties.receiver;
                (receiver, write(&Committed { proof: proof.commitment, zero, derivation: derivation.clone() }))
            })
            .collect();
        self.due = Some(Due::Commitments { own: (proof, derivation) });
        Ok(Step::Continue(outgoing))
    }

    fn open(
        &mut self,
        (proof, committed): (ProofCommitment<Secp256k1>, BroadcastDerivationPhase2to4),
        incoming: &Incoming,
    ) -> Result<Step, Failure> {
        let received: BTreeMap<PartyIndex, Committed> = read_all(others(self.share_count, self.me), incoming)?;
        let (zero, multiplication, opened) = self.session()?.phase3()?;
        let outgoing = zero
            .into_iter()
            .zip(multiplication)
            .map(|(zero, multiplication)| {
                let receiver = zero.parties.receiver;
                let message = Opened { proof: proof.clone(), zero, multiplication, derivation: opened.clone() };
                (receiver, write(&message))
            })
            .collect();
        self.due = Some(Due::Openings { committed: received, own: Own { proof, committed, opened } });
        Ok(Step::Continue(outgoing))
    }

    fn assemble(
        &mut self,
        committed: BTreeMap<PartyIndex, Committed>,
        own: Own,
        incoming: &Incoming,
    ) -> Result<Step, Failure> {
        let opened: BTreeMap<PartyIndex, Opened> = read_all(others(self.share_count, self.me), incoming)?;
        let mut broadcasts: Broadcasts = committed
            .iter()
            .zip(opened.values())
            .map(|((party, before), after)| {
                (*party, (before.proof, before.derivation.clone(), after.proof.clone(), after.derivation.clone()))
            })
            .collect();
        broadcasts.insert(self.me, (own.proof.commitment, own.committed, own.proof, own.opened));
        require_honest_senders(&broadcasts)?;
        let session = self.session.take().ok_or(Failure::Invalid("the session has ended"))?;
        let (party, package) = session.phase4(
            &broadcasts.values().map(|(_, _, proof, _)| proof.clone()).collect::<Vec<_>>(),
            &committed.into_values().map(|message| message.zero).collect::<Vec<_>>(),
            &opened.values().map(|message| message.zero.clone()).collect::<Vec<_>>(),
            &opened.values().map(|message| message.multiplication.clone()).collect::<Vec<_>>(),
            &broadcasts.iter().map(|(party, (_, committed, _, _))| (*party, committed.clone())).collect(),
            &broadcasts.iter().map(|(party, (_, _, _, opened))| (*party, opened.clone())).collect(),
            compute_eth_address,
        )?;
        let digest = transcript(&[b"bursar key generation ", &self.session_id[..]].concat(), &broadcasts);
        let share = Box::new(Share::new(party, package));
        self.due = Some(Due::Digests { digest, share });
        Ok(Step::Continue(to_each(others(self.share_count, self.me), &digest)))
    }
}

/// A broadcast speaks for its sender alone, and the opened commitment is the one that was made before.
fn require_honest_senders(broadcasts: &Broadcasts) -> Result<(), Failure> {
    for (party, (commitment, committed, proof, opened)) in broadcasts {
        let consistent = proof.index == *party
            && proof.commitment == *commitment
            && committed.sender_index == *party
            && opened.sender_index == *party;
        if !consistent {
            let reason = "it opened another commitment than it made".to_string();
            return Err(Failure::Refused { party: Some(*party), reason });
        }
    }
    Ok(())
}
