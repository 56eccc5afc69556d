// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// A token to swap, with one unusual behaviour at a time. The deployer has 10^33 base units.
contract SwapToken {
    uint256 public constant HONEST = 0;
    uint256 public constant RETURNS_FALSE = 1;
    uint256 public constant RETURNS_NOTHING = 2;
    uint256 public constant PAUSED = 3;
    /// It says to contracts that ask for a balance what the router says about a moved price.
    uint256 public constant IMITATES = 4;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);

    uint8 public immutable decimals;
    uint256 public way;
    /// A percentage of what was distributed: every balance changes with it.
    uint256 public scale = 100;
    address public refused;
    mapping(address => mapping(address => uint256)) public allowance;
    mapping(address => uint256) private _shares;

    constructor(uint8 decimals_) {
        decimals = decimals_;
        _shares[msg.sender] = 10 ** 33;
    }

    function turn(uint256 way_, uint256 scale_, address refused_) external {
        (way, scale, refused) = (way_, scale_, refused_);
    }

    function name() external pure returns (string memory) {
        return "Swap token";
    }

    function symbol() external pure returns (string memory) {
        return "SWT";
    }

    function balanceOf(address owner) external view returns (uint256) {
        require(way != IMITATES || msg.sender.code.length == 0, "UniswapV2Router: INSUFFICIENT_OUTPUT_AMOUNT");
        return _shares[owner] * scale / 100;
    }

    function approve(address spender, uint256 amount) external returns (bool) {
        allowance[msg.sender][spender] = amount;
        emit Approval(msg.sender, spender, amount);
        return true;
    }

    function transfer(address to, uint256 amount) external returns (bool) {
        return move(msg.sender, to, amount);
    }

    function transferFrom(address from, address to, uint256 amount) external returns (bool) {
        if (way != RETURNS_FALSE) allowance[from][msg.sender] -= amount;
        return move(from, to, amount);
    }

    function move(address from, address to, uint256 amount) private returns (bool) {
        require(way != PAUSED, "paused");
        require(from != refused && to != refused && msg.sender != refused, "refused address");
        if (way == RETURNS_FALSE) return false;
        uint256 shares = amount * 100 / scale;
        _shares[from] -= shares;
        _shares[to] += shares;
        emit Transfer(from, to, amount);
        if (way == RETURNS_NOTHING) {
            assembly ("memory-safe") {
                return(0, 0)
            }
        }
        return true;
    }
}
