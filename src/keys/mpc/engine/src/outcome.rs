//! What a step of a ceremony comes to: messages to send, an end, or the reason why there is none.

use std::collections::BTreeMap;

use dkls23_core::protocols::{Abort, AbortKind, AbortReason, PartyIndex};

use crate::wire::Writer;

/// What each other party is to be sent, by its index.
pub type Outgoing = BTreeMap<PartyIndex, Vec<u8>>;
/// What each other party sent in the round before, by its index.
pub type Incoming = BTreeMap<PartyIndex, Vec<u8>>;

pub enum Step {
    /// Send these, and come back with what all others sent.
    Continue(Outgoing),
    /// Send these; this party has nothing more to do.
    Done { outgoing: Outgoing, result: Vec<u8> },
}

#[derive(Debug)]
pub enum Failure {
    /// The request itself is wrong: a defect of the host.
    Invalid(&'static str),
    /// What this party sent cannot be read, or belongs to another session. Nothing leaked.
    Refused { party: Option<PartyIndex>, reason: String },
    /// All were honest as far as one can tell, but not all saw the same messages.
    TranscriptMismatch { party: PartyIndex },
    /// This party failed a consistency check on which the secrecy of the shares rests (DKLs23, section 3.2).
    Cheated { party: PartyIndex, reason: String },
}

impl From<Abort> for Failure {
    fn from(abort: Abort) -> Self {
        let reason = abort.reason.to_string();
        match abort.kind {
            AbortKind::BanCounterparty(party) => Failure::Cheated { party, reason },
            AbortKind::Recoverable => match abort.reason {
                AbortReason::SessionBindingMismatch { counterparty } => {
                    Failure::TranscriptMismatch { party: counterparty }
                }
                _ => Failure::Refused { party: None, reason },
            },
        }
    }
}

const CONTINUE: u8 = 0;
const DONE: u8 = 1;
const INVALID: u8 = 2;
const REFUSED: u8 = 3;
const TRANSCRIPT_MISMATCH: u8 = 4;
const CHEATED: u8 = 5;

/// As bytes: a kind, and what belongs to it.
pub fn encode(outcome: Result<(u32, Step), Failure>) -> Vec<u8> {
    match outcome {
        Ok((session, Step::Continue(outgoing))) => {
            write_messages(Writer::default().byte(CONTINUE).number(session), outgoing).finish()
        }
        Ok((_, Step::Done { outgoing, result })) => {
            write_messages(Writer::default().byte(DONE), outgoing).bytes(&result).finish()
        }
        Err(failure) => encode_failure(failure),
    }
}

pub fn encode_failure(failure: Failure) -> Vec<u8> {
    let (kind, party, reason) = match failure {
        Failure::Invalid(reason) => (INVALID, 0, reason.to_string()),
        Failure::Refused { party, reason } => (REFUSED, party.map_or(0, |index| index.as_u8()), reason),
        Failure::TranscriptMismatch { party } => {
            (TRANSCRIPT_MISMATCH, party.as_u8(), "the parties did not see the same messages".to_string())
        }
        Failure::Cheated { party, reason } => (CHEATED, party.as_u8(), reason),
    };
    Writer::default().byte(kind).byte(party).bytes(reason.as_bytes()).finish()
}

/// A plain answer: bytes that are no step.
pub fn encode_answer(answer: Result<Vec<u8>, Failure>) -> Vec<u8> {
    match answer {
        Ok(result) => Writer::default().byte(DONE).number(0).bytes(&result).finish(),
        Err(failure) => encode_failure(failure),
    }
}

fn write_messages(writer: Writer, messages: Outgoing) -> Writer {
    let count = u32::try_from(messages.len()).expect("there are at most 255 parties");
    messages
        .into_iter()
        .fold(writer.number(count), |writer, (party, bytes)| writer.byte(party.as_u8()).bytes(&bytes))
}
