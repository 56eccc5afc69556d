// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Makes calls as a wallet, in one simulation. Never deployed: an `eth_call` from the wallet to itself overrides the
/// code at its address with this one, so that the called contracts see the wallet as their sender, and nothing is kept.
///
/// Each step and each read has bounded gas and bounded return data, so that no called contract can prevent the answer.
contract Rehearsal {
    struct Step {
        address to;
        uint256 value;
        bytes data;
    }

    /// A view function that returns one word.
    struct Read {
        address target;
        bytes data;
    }

    struct Outcome {
        bool success;
        uint256 gas;
        /// Bytes of the whole return data.
        uint256 size;
        /// Its first MAX_DATA bytes.
        bytes data;
    }

    /// A word before the first step and after the last one; unknown if the contract returned none either time.
    struct Change {
        bool known;
        uint256 before;
        uint256 afterwards;
    }

    uint256 private constant MAX_DATA = 16_384;
    uint256 private constant READ_GAS = 100_000;
    /// In addition to the gas of the reads after the steps: for the loop and for returning the answer.
    uint256 private constant REST_GAS = 500_000;

    /// Stops at the first step that fails: `outcomes` has the steps that were tried. The first change is the balance of
    /// the native currency, the others are those of the reads.
    function rehearse(Step[] calldata steps, Read[] calldata reads)
        external
        returns (Outcome[] memory outcomes, Change[] memory changes)
    {
        require(msg.sender == address(this), "only the wallet rehearses");
        changes = new Change[](reads.length + 1);
        changes[0].known = true;
        changes[0].before = address(this).balance;
        for (uint256 i = 0; i < reads.length; i++) {
            (changes[i + 1].known, changes[i + 1].before) = readWord(reads[i]);
        }
        uint256 reserve = REST_GAS + (reads.length * READ_GAS * 64) / 63;
        outcomes = new Outcome[](steps.length);
        uint256 tried = 0;
        bool ended = false;
        while (tried < steps.length && !ended) {
            outcomes[tried] = take(steps[tried], reserve);
            ended = !outcomes[tried].success;
            tried++;
        }
        assembly ("memory-safe") {
            mstore(outcomes, tried)
        }
        changes[0].afterwards = address(this).balance;
        for (uint256 i = 0; i < reads.length; i++) {
            bool known;
            (known, changes[i + 1].afterwards) = readWord(reads[i]);
            if (!known) changes[i + 1].known = false;
        }
    }

    function take(Step calldata step, uint256 reserve) private returns (Outcome memory outcome) {
        bytes memory input = step.data;
        address to = step.to;
        uint256 value = step.value;
        uint256 left = gasleft();
        uint256 limit = left > reserve ? left - reserve : 0;
        bool success;
        uint256 size;
        left = gasleft();
        assembly ("memory-safe") {
            success := call(limit, to, value, add(input, 32), mload(input), 0, 0)
            size := returndatasize()
        }
        outcome.gas = left - gasleft();
        outcome.success = success;
        outcome.size = size;
        outcome.data = new bytes(size < MAX_DATA ? size : MAX_DATA);
        bytes memory data = outcome.data;
        assembly ("memory-safe") {
            returndatacopy(add(data, 32), 0, mload(data))
        }
    }

    function readWord(Read calldata read) private view returns (bool known, uint256 word) {
        bytes memory input = read.data;
        address target = read.target;
        assembly ("memory-safe") {
            mstore(0, 0)
            let answered := staticcall(READ_GAS, target, add(input, 32), mload(input), 0, 32)
            known := and(answered, gt(returndatasize(), 31))
            word := mload(0)
        }
    }

    function onERC721Received(address, address, uint256, bytes calldata) external pure returns (bytes4) {
        return this.onERC721Received.selector;
    }

    function onERC1155Received(address, address, uint256, uint256, bytes calldata) external pure returns (bytes4) {
        return this.onERC1155Received.selector;
    }

    function onERC1155BatchReceived(address, address, uint256[] calldata, uint256[] calldata, bytes calldata)
        external
        pure
        returns (bytes4)
    {
        return this.onERC1155BatchReceived.selector;
    }

    /// An account without code accepts every call.
    receive() external payable {}

    fallback() external payable {}
}
