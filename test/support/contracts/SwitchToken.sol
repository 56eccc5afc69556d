// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

/// A token with a fee for transfers that anybody can switch on, as the owner of USDT on Ethereum can. The deployer gets
/// 10^33 base units.
contract SwitchToken is ERC20 {
    /// Hundredths of a percent.
    uint256 public fee;

    constructor() ERC20("Switch", "SWI") {
        _mint(msg.sender, 10 ** 33);
    }

    function setFee(uint256 fee_) external {
        fee = fee_;
    }

    function _update(address from, address to, uint256 value) internal override {
        uint256 kept = from == address(0) || to == address(0) ? 0 : value * fee / 10_000;
        if (kept > 0) super._update(from, address(0), kept);
        super._update(from, to, value - kept);
    }
}
