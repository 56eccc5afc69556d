// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

/// A token that keeps 2 % of every transfer. The deployer gets a billion, and pays no fee.
contract FeeToken is ERC20 {
    address private immutable _deployer = msg.sender;

    constructor() ERC20("Fee", "FEE") {
        _mint(msg.sender, 10 ** 27);
    }

    function _update(address from, address to, uint256 value) internal override {
        uint256 fee = from == address(0) || from == _deployer ? 0 : value / 50;
        if (fee > 0) super._update(from, address(0), fee);
        super._update(from, to, value - fee);
    }
}
