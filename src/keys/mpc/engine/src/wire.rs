//! The bytes between host and engine: one byte, 32-bit little-endian numbers, and byte strings behind their length.

/// Reads fields in order. Every read past the end fails, so a short request is refused and never guessed at.
pub struct Reader<'a> {
    rest: &'a [u8],
}

#[derive(Debug)]
pub struct Malformed;

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader { rest: bytes }
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        if self.rest.len() < length {
            return Err(Malformed);
        }
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        Ok(taken)
    }

    pub fn byte(&mut self) -> Result<u8, Malformed> {
        Ok(self.take(1)?[0])
    }

    pub fn number(&mut self) -> Result<u32, Malformed> {
        let bytes: [u8; 4] = self.take(4)?.try_into().map_err(|_| Malformed)?;
        Ok(u32::from_le_bytes(bytes))
    }

    pub fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.number()?;
        self.take(usize::try_from(length).map_err(|_| Malformed)?)
    }

    pub fn end(self) -> Result<(), Malformed> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(Malformed)
        }
    }
}

/// Writes fields in order.
#[derive(Default)]
pub struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    pub fn byte(mut self, value: u8) -> Self {
        self.bytes.push(value);
        self
    }

    pub fn number(mut self, value: u32) -> Self {
        self.bytes.extend_from_slice(&value.to_le_bytes());
        self
    }

    pub fn bytes(self, value: &[u8]) -> Self {
        let mut with_length = self.number(u32::try_from(value.len()).expect("memory is 32 bits wide"));
        with_length.bytes.extend_from_slice(value);
        with_length
    }

    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }
}
