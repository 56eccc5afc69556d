//! The shares and sessions that a host holds by number, and what it can ask of them.

use std::collections::BTreeMap;
use std::rc::Rc;

use dkls23_core::protocols::signing::SignData;
use dkls23_core::protocols::{Parameters, PartyIndex};

use crate::generate::Generation;
use crate::outcome::{encode, encode_answer, encode_failure, Failure, Incoming, Step};
use crate::refresh::Refresh;
use crate::repair;
use crate::share::Share;
use crate::sign::Signing;
use crate::wire::{Malformed, Reader, Writer};

enum Session {
    Generate(Box<Generation>),
    Sign(Box<Signing>),
    Refresh(Box<Refresh>),
}

#[derive(Default)]
pub struct Engine {
    shares: BTreeMap<u32, Rc<Share>>,
    sessions: BTreeMap<u32, Session>,
    last: u32,
}

const LOAD: u8 = 0;
const UNLOAD: u8 = 1;
const GENERATE: u8 = 2;
const SIGN: u8 = 3;
const REFRESH: u8 = 4;
const ADVANCE: u8 = 5;
const END: u8 = 6;
const HELP: u8 = 7;
const ASSEMBLE: u8 = 8;

impl From<Malformed> for Failure {
    fn from(_: Malformed) -> Self {
        Failure::Invalid("the request is malformed")
    }
}

impl Engine {
    /// Answers one request: an operation and its fields.
    pub fn call(&mut self, request: &[u8]) -> Vec<u8> {
        let mut fields = Reader::new(request);
        match fields.byte() {
            Ok(LOAD) => encode_answer(self.load(fields)),
            Ok(UNLOAD) => encode_answer(self.unload(fields)),
            Ok(GENERATE) => encode(self.generate(fields)),
            Ok(SIGN) => encode(self.sign(fields)),
            Ok(REFRESH) => encode(self.refresh(fields)),
            Ok(ADVANCE) => encode(self.advance(fields)),
            Ok(END) => encode_answer(self.end(fields)),
            Ok(HELP) => encode_answer(self.help(fields)),
            Ok(ASSEMBLE) => encode_answer(assemble(fields)),
            _ => encode_failure(Failure::Invalid("there is no such operation")),
        }
    }

    fn number(&mut self) -> u32 {
        self.last += 1;
        self.last
    }

    fn share(&self, number: u32) -> Result<Rc<Share>, Failure> {
        self.shares.get(&number).cloned().ok_or(Failure::Invalid("no such share is loaded"))
    }

    fn load(&mut self, mut fields: Reader) -> Result<Vec<u8>, Failure> {
        let share = Share::decode(fields.bytes()?)?;
        fields.end()?;
        let number = self.number();
        let facts = share.facts();
        self.shares.insert(number, Rc::new(share));
        Ok(Writer::default().number(number).bytes(&facts).finish())
    }

    fn unload(&mut self, mut fields: Reader) -> Result<Vec<u8>, Failure> {
        self.shares.remove(&fields.number()?);
        Ok(Vec::new())
    }

    fn generate(&mut self, mut fields: Reader) -> Result<(u32, Step), Failure> {
        let me = index(fields.byte()?)?;
        let parameters = Parameters::new(fields.byte()?, fields.byte()?)
            .map_err(|_| Failure::Invalid("a threshold is at least 2 and at most the number of parties"))?;
        let session_id = fields.bytes()?;
        fields.end()?;
        let (generation, step) = Generation::begin(parameters, me, session_id)?;
        Ok((self.open(Session::Generate(Box::new(generation))), step))
    }

    fn sign(&mut self, mut fields: Reader) -> Result<(u32, Step), Failure> {
        let share = self.share(fields.number()?)?;
        let finisher = index(fields.byte()?)?;
        let counterparties = indexes(fields.bytes()?)?;
        let sign_id = fields.bytes()?.to_vec();
        let message_hash = fields.bytes()?.try_into().map_err(|_| Failure::Invalid("a digest has 32 bytes"))?;
        fields.end()?;
        let data = SignData { sign_id, counterparties, message_hash };
        let (signing, step) = Signing::begin(share, data, finisher)?;
        Ok((self.open(Session::Sign(Box::new(signing))), step))
    }

    fn refresh(&mut self, mut fields: Reader) -> Result<(u32, Step), Failure> {
        let share = self.share(fields.number()?)?;
        let refresh_id = fields.bytes()?;
        fields.end()?;
        let (refresh, step) = Refresh::begin(share, refresh_id)?;
        Ok((self.open(Session::Refresh(Box::new(refresh))), step))
    }

    fn open(&mut self, session: Session) -> u32 {
        let number = self.number();
        self.sessions.insert(number, session);
        number
    }

    /// A session that fails or ends is gone.
    fn advance(&mut self, mut fields: Reader) -> Result<(u32, Step), Failure> {
        let number = fields.number()?;
        let incoming = read_incoming(fields)?;
        let mut session = self.sessions.remove(&number).ok_or(Failure::Invalid("no such session is open"))?;
        let step = match &mut session {
            Session::Generate(generation) => generation.advance(&incoming),
            Session::Sign(signing) => signing.advance(&incoming),
            Session::Refresh(refresh) => refresh.advance(&incoming),
        }?;
        if matches!(step, Step::Continue(_)) {
            self.sessions.insert(number, session);
        }
        Ok((number, step))
    }

    fn end(&mut self, mut fields: Reader) -> Result<Vec<u8>, Failure> {
        self.sessions.remove(&fields.number()?);
        Ok(Vec::new())
    }

    fn help(&mut self, mut fields: Reader) -> Result<Vec<u8>, Failure> {
        let share = self.share(fields.number()?)?;
        let target = index(fields.byte()?)?;
        let helpers = indexes(fields.bytes()?)?;
        let repair_id = fields.bytes()?;
        fields.end()?;
        repair::help(&share, &helpers, target, repair_id)
    }
}

fn assemble(mut fields: Reader) -> Result<Vec<u8>, Failure> {
    let target = index(fields.byte()?)?;
    let helpers = indexes(fields.bytes()?)?;
    repair::assemble(target, &helpers, &read_incoming(fields)?)
}

fn read_incoming(mut fields: Reader) -> Result<Incoming, Failure> {
    let mut incoming = Incoming::new();
    for _ in 0..fields.number()? {
        let sender = index(fields.byte()?)?;
        if incoming.insert(sender, fields.bytes()?.to_vec()).is_some() {
            return Err(Failure::Invalid("two messages come from the same party"));
        }
    }
    fields.end()?;
    Ok(incoming)
}

fn index(value: u8) -> Result<PartyIndex, Failure> {
    PartyIndex::new(value).map_err(|_| Failure::Invalid("the index of a party is at least 1"))
}

fn indexes(values: &[u8]) -> Result<Vec<PartyIndex>, Failure> {
    values.iter().map(|value| index(*value)).collect()
}
