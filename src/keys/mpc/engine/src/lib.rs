//! DKLs23 threshold ECDSA behind three functions that a WebAssembly host can call: `reserve` memory, `call` with a request in
//! it, `release` the answer. Protocols and cryptography are those of the crate `dkls23-core`; here are only their rounds.
//!
//! The host is one thread, and gives randomness through the backend `wasm_js` of the crate `getrandom`.

mod engine;
mod generate;
mod messages;
mod outcome;
mod refresh;
mod repair;
mod share;
mod sign;
mod wire;

use std::cell::RefCell;

use zeroize::Zeroize;

use engine::Engine;

thread_local! {
    static ENGINE: RefCell<Engine> = RefCell::default();
}

/// Memory for a request of `length` bytes, to be written before `call` and used by it once.
#[no_mangle]
pub extern "C" fn reserve(length: u32) -> *mut u8 {
    Box::into_raw(vec![0u8; length as usize].into_boxed_slice()).cast()
}

/// Answers a request, wipes it, and gives the answer: its address in the upper half, its length in the lower.
///
/// # Safety
///
/// `address` is one that `reserve(length)` gave and that no call has used.
#[no_mangle]
pub unsafe extern "C" fn call(address: *mut u8, length: u32) -> u64 {
    let mut request = take(address, length);
    let answer = ENGINE.with_borrow_mut(|engine| engine.call(&request)).into_boxed_slice();
    request.zeroize();
    let length = answer.len() as u64;
    ((Box::into_raw(answer).cast::<u8>() as u64) << 32) | length
}

/// Wipes an answer and gives its memory back.
///
/// # Safety
///
/// Address and length are those of an answer that was not released.
#[no_mangle]
pub unsafe extern "C" fn release(address: *mut u8, length: u32) {
    take(address, length).zeroize();
}

unsafe fn take(address: *mut u8, length: u32) -> Box<[u8]> {
    Box::from_raw(std::ptr::slice_from_raw_parts_mut(address, length as usize))
}
