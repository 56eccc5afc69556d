// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// A token with one unusual transfer behaviour at a time, selected by storage slot 0.
contract OddToken {
    uint256 public constant HONEST = 0;
    uint256 public constant REFUSES = 1;
    uint256 public constant RETURNS_NOTHING = 2;
    uint256 public constant CHARGES = 3;
    uint256 public constant SILENT = 4;
    uint256 public constant SHOUTS = 5;
    uint256 public constant REBASES = 6;

    event Transfer(address indexed from, address indexed to, uint256 value);

    uint256 public way;
    uint8 public immutable decimals;
    uint256 private _factor = 1;
    mapping(address => uint256) private _shares;

    constructor(uint8 decimals_) {
        decimals = decimals_;
    }

    function name() external pure returns (string memory) {
        return "Odd";
    }

    function symbol() external pure returns (string memory) {
        return "ODD";
    }

    function balanceOf(address owner) external view returns (uint256) {
        return _shares[owner] * _factor;
    }

    function mint(address to, uint256 amount) external {
        _shares[to] += amount;
        emit Transfer(address(0), to, amount);
    }

    /// Logs deposits that never happened.
    function announce(address to, uint256 amount) external {
        emit Transfer(address(0), to, amount);
    }

    function transfer(address to, uint256 amount) external returns (bool) {
        if (way == REFUSES) return false;
        uint256 fee = way == CHARGES ? amount / 10 : 0;
        _shares[msg.sender] -= amount;
        _shares[to] += amount - fee;
        if (way == REBASES) _factor = 2;
        if (fee > 0) emit Transfer(msg.sender, address(this), fee);
        if (way != SILENT) emit Transfer(msg.sender, to, amount - fee);
        for (uint256 i = 0; way == SHOUTS && i < 20; i++) emit Transfer(msg.sender, to, type(uint256).max);
        if (way == RETURNS_NOTHING) {
            assembly ("memory-safe") {
                return(0, 0)
            }
        }
        return true;
    }
}
