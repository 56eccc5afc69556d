// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// An ERC-20 token that is honest until it is switched to harm its readers.
contract HostileToken {
    uint8 public constant HONEST = 0;
    uint8 public constant LOOPS = 1;
    uint8 public constant BOMB = 2;
    uint8 public constant REVERTS = 3;
    uint8 public constant FORGES = 4;
    uint8 public constant FLOODS = 5;

    event Transfer(address indexed from, address indexed to, uint256 value);

    mapping(address => uint256) private _balances;
    uint8 private _reads;
    uint8 private _describes;
    address private _victim;
    uint8 private _decimals = 18;
    string private _symbol = "HST";

    constructor(uint8 reads, uint8 describes) {
        _reads = reads;
        _describes = describes;
    }

    function turn(uint8 reads, address victim) external {
        _reads = reads;
        _victim = victim;
    }

    function describe(string calldata symbol_, uint8 decimals_) external {
        _symbol = symbol_;
        _decimals = decimals_;
    }

    /// Gives `amount` to each of `count` addresses from `first` on, in one transaction.
    function mint(address first, uint256 count, uint256 amount) external {
        for (uint160 i = 0; i < count; i++) {
            address to = address(uint160(first) + i);
            _balances[to] += amount;
            emit Transfer(address(0), to, amount);
        }
    }

    function balanceOf(address owner) external returns (uint256) {
        if (_reads == FORGES) {
            // Within the call, the next address gets this contract's balance of the victim token.
            (bool moved,) = _victim.call(abi.encodeWithSignature("transfer(address,uint256)", address(uint160(owner) + 1), 1000));
            require(moved);
        }
        misbehave(_reads);
        return _balances[owner];
    }

    function name() external view returns (string memory) {
        return "Hostile";
    }

    function symbol() external view returns (string memory) {
        misbehave(_describes);
        return _symbol;
    }

    function decimals() external view returns (uint8) {
        return _decimals;
    }

    function misbehave(uint8 how) private view {
        require(how != REVERTS, "not today");
        if (how == BOMB || how == FLOODS) {
            uint256 size = how == BOMB ? 4194304 : 102400;
            assembly ("memory-safe") {
                return(0, size)
            }
        }
        while (how == LOOPS) {
            // Only reads a warm slot, so that gas runs out slowly.
            how = _victim == address(1) ? HONEST : how;
        }
    }
}
