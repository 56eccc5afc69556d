// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Reads balances of untrusted tokens. Never deployed: it is the data of an `eth_call` without `to`, so that it runs as
/// a constructor, and its return data is the result.
///
/// Each `balanceOf` gets a fixed amount of gas and cannot write (STATICCALL: a token cannot move another one to forge
/// its balance within the call), and 32 bytes of its return data are copied, however long they are.
///
/// The input follows the code, packed: for each read the token (20 bytes) and the owner (20 bytes), then the gas of one
/// read (32 bytes) and the number of reads (32 bytes). The result has two words for each read: the outcome in the
/// highest byte (0 not tried for lack of gas, 1 failed, 2 answered), the size of the return data in bits 64 to 127, the
/// gas used in bits 0 to 63; and the first word of the return data. The first byte is below 0xef, which deployed code
/// may not start with (EIP-3541).
contract TokenReads {
    constructor() {
        assembly {
            codecopy(0, sub(codesize(), 64), 64)
            let each := mload(0)
            let count := mload(32)
            let reads := sub(sub(codesize(), 64), mul(count, 40))
            // In addition to the forwarded gas (EIP-150): gas for returning 64 bytes per read at 200 gas a byte, and
            // for the loop.
            let needed := add(add(div(mul(each, 64), 63), mul(count, 13500)), 50000)
            let output := 128
            for { let i := 0 } lt(i, count) { i := add(i, 1) } {
                let outcome := 0
                mstore(64, 0)
                if gt(gas(), needed) {
                    codecopy(0, add(reads, mul(i, 40)), 40)
                    let token := shr(96, mload(0))
                    let owner := shr(96, mload(20))
                    mstore(0, 0x70a0823100000000000000000000000000000000000000000000000000000000)
                    mstore(4, owner)
                    let before := gas()
                    let answered := staticcall(each, token, 0, 36, 64, 32)
                    let used := sub(before, gas())
                    outcome := or(or(shl(248, add(answered, 1)), shl(64, returndatasize())), used)
                }
                mstore(output, outcome)
                mstore(add(output, 32), mload(64))
                output := add(output, 64)
            }
            return(128, sub(output, 128))
        }
    }
}
