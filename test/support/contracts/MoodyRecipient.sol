// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Accepts the native currency until it is switched to harm its senders.
contract MoodyRecipient {
    uint8 public constant ACCEPTS = 0;
    uint8 public constant REVERTS = 1;
    uint8 public constant LOOPS = 2;
    uint8 public constant DRAINS = 3;

    uint8 private _mood;
    string private _reason;

    constructor(uint8 mood, string memory reason) {
        _mood = mood;
        _reason = reason;
    }

    function turn(uint8 mood, string calldata reason) external {
        _mood = mood;
        _reason = reason;
    }

    function burn() external pure {
        while (true) {}
    }

    receive() external payable {
        answer();
    }

    /// Answers calls of any function alike.
    fallback() external payable {
        answer();
    }

    function answer() private {
        if (_mood == REVERTS) revert(_reason);
        if (_mood == LOOPS) this.burn();
        if (_mood == DRAINS) {
            // Almost all of the gas is used when it reverts.
            try this.burn{gas: gasleft() - 60_000}() {} catch { revert(_reason); }
        }
    }
}
