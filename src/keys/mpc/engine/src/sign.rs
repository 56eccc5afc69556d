//! Signing (Protocol 3.6 of DKLs23) in three rounds. One of the signers, the finisher, is sent the last messages, puts the
//! signature together and verifies it; the others have nothing more to do then. Nothing of a session is ever stored.

use std::collections::BTreeMap;
use std::rc::Rc;

use dkls23_core::protocols::signing::{
    Broadcast3to4, KeepPhase1to2, KeepPhase2to3, SignData, TransmitPhase1to2, TransmitPhase2to3, UniqueKeep1to2,
    UniqueKeep2to3,
};
use dkls23_core::protocols::PartyIndex;
use k256::Secp256k1;

use crate::messages::{read_all, write};
use crate::outcome::{Failure, Incoming, Outgoing, Step};
use crate::share::Share;

enum Due {
    First(UniqueKeep1to2<Secp256k1>, BTreeMap<PartyIndex, KeepPhase1to2<Secp256k1>>),
    Second(UniqueKeep2to3<Secp256k1>, BTreeMap<PartyIndex, KeepPhase2to3<Secp256k1>>),
    Last { x_coordinate: String, own: Broadcast3to4<Secp256k1> },
}

pub struct Signing {
    share: Rc<Share>,
    data: SignData,
    finisher: PartyIndex,
    due: Option<Due>,
}

impl Signing {
    /// `finisher` is this party or one of the counterparties.
    pub fn begin(share: Rc<Share>, data: SignData, finisher: PartyIndex) -> Result<(Self, Step), Failure> {
        if finisher != share.party.party_index && !data.counterparties.contains(&finisher) {
            return Err(Failure::Invalid("the finisher is not among the signers"));
        }
        let (unique, kept, messages) = share.party.sign_phase1(&data)?;
        let outgoing = messages.iter().map(|message| (message.parties.receiver, write(message))).collect();
        let signing = Signing { share, data, finisher, due: Some(Due::First(unique, kept)) };
        Ok((signing, Step::Continue(outgoing)))
    }

    pub fn advance(&mut self, incoming: &Incoming) -> Result<Step, Failure> {
        match self.due.take().ok_or(Failure::Invalid("the session has ended"))? {
            Due::First(unique, kept) => self.multiply(unique, kept, incoming),
            Due::Second(unique, kept) => self.verify(unique, kept, incoming),
            Due::Last { x_coordinate, own } => self.finish(&x_coordinate, own, incoming),
        }
    }

    fn counterparties(&self) -> impl Iterator<Item = PartyIndex> + '_ {
        self.data.counterparties.iter().copied()
    }

    fn multiply(
        &mut self,
        unique: UniqueKeep1to2<Secp256k1>,
        kept: BTreeMap<PartyIndex, KeepPhase1to2<Secp256k1>>,
        incoming: &Incoming,
    ) -> Result<Step, Failure> {
        let received: Vec<TransmitPhase1to2> = read_all(self.counterparties(), incoming)?.into_values().collect();
        let (unique, kept, messages) = self.share.party.sign_phase2(&self.data, unique, kept, &received)?;
        let outgoing = messages.iter().map(|message| (message.parties.receiver, write(message))).collect();
        self.due = Some(Due::Second(unique, kept));
        Ok(Step::Continue(outgoing))
    }

    fn verify(
        &mut self,
        unique: UniqueKeep2to3<Secp256k1>,
        kept: BTreeMap<PartyIndex, KeepPhase2to3<Secp256k1>>,
        incoming: &Incoming,
    ) -> Result<Step, Failure> {
        let received: Vec<TransmitPhase2to3<Secp256k1>> =
            read_all(self.counterparties(), incoming)?.into_values().collect();
        let (x_coordinate, own) = self.share.party.sign_phase3(&self.data, unique, kept, &received)?;
        if self.finisher != self.share.party.party_index {
            let outgoing = Outgoing::from([(self.finisher, write(&own))]);
            return Ok(Step::Done { outgoing, result: Vec::new() });
        }
        self.due = Some(Due::Last { x_coordinate, own });
        Ok(Step::Continue(Outgoing::new()))
    }

    fn finish(&self, x_coordinate: &str, own: Broadcast3to4<Secp256k1>, incoming: &Incoming) -> Result<Step, Failure> {
        let mut broadcasts: Vec<Broadcast3to4<Secp256k1>> =
            read_all(self.counterparties(), incoming)?.into_values().collect();
        broadcasts.push(own);
        let (s, recovery_id) = self.share.party.sign_phase4(&self.data, x_coordinate, &broadcasts, true)?;
        let mut result = Vec::with_capacity(65);
        for half in [x_coordinate, &s] {
            result.extend(from_hex(half).ok_or(Failure::Invalid("a half of the signature is not 32 bytes"))?);
        }
        result.push(recovery_id);
        Ok(Step::Done { outgoing: Outgoing::new(), result })
    }
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    if text.len() != 64 {
        return None;
    }
    (0..32).map(|at| u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()).collect()
}
