// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

/// Wraps the native currency as WETH9 does: with events that are no Transfer.
contract Wrapper {
    string public constant symbol = "WETH";
    string public constant name = "Wrapped Ether";
    uint8 public constant decimals = 18;
    mapping(address => uint256) public balanceOf;

    event Deposit(address indexed dst, uint256 wad);
    event Withdrawal(address indexed src, uint256 wad);

    function deposit() external payable {
        balanceOf[msg.sender] += msg.value;
        emit Deposit(msg.sender, msg.value);
    }

    function withdraw(uint256 wad) external {
        balanceOf[msg.sender] -= wad;
        emit Withdrawal(msg.sender, wad);
        payable(msg.sender).transfer(wad);
    }
}
