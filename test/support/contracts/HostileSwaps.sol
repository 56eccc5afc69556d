// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

/// What a router, a pool or a token does to the wallet that swaps.
enum Way {
    HONEST,
    RETURNS_LESS,
    RE_ENTERS,
    TAKES_BACK,
    SPENDS_GAS,
    SENDS_TO_ANOTHER,
    PAYS_CODE_ONLY,
    SWITCHES_FEE
}

address constant THIEF = address(0xdEaD);

abstract contract Hostile {
    Way public way;
    /// Whether the fee is on: it is off until a swap was accepted.
    bool public switched;
    address private place;
    bytes private call;

    function turn(Way way_, bool switched_) external {
        (way, switched) = (way_, switched_);
    }

    /// The call with which it re-enters.
    function reenterBy(address place_, bytes calldata call_) external {
        (place, call) = (place_, call_);
    }

    /// Whom it pays of an amount for a wallet, and how much.
    function paid(address wallet, uint256 amount) internal returns (address to, uint256 rest) {
        if (way == Way.RE_ENTERS && place != address(0)) {
            (bool success,) = place.call(call);
            success;
        }
        if (way == Way.SPENDS_GAS) while (true) {}
        bool stolen = way == Way.SENDS_TO_ANOTHER || (way == Way.PAYS_CODE_ONLY && wallet.code.length == 0);
        bool less = way == Way.RETURNS_LESS || (way == Way.SWITCHES_FEE && switched);
        return (stolen ? THIEF : wallet, less ? amount - amount / 10 : amount);
    }
}

/// A token of which nobody knows whether it answers.
interface Coin {
    function transfer(address to, uint256 amount) external;
    function transferFrom(address from, address to, uint256 amount) external;
    function allowance(address owner, address spender) external view returns (uint256);
}

/// Anybody may mint. `strict`: as USDT on Ethereum, it returns nothing and changes an allowance only from 0 or to 0.
contract HostileCoin is Hostile {
    event Transfer(address indexed from, address indexed to, uint256 value);

    bool private immutable strict;
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;

    constructor(bool strict_) {
        strict = strict_;
    }

    function mint(address to, uint256 amount) external {
        balanceOf[to] += amount;
    }

    function approve(address spender, uint256 amount) external returns (bool) {
        require(!strict || amount == 0 || allowance[msg.sender][spender] == 0, "allowance is not 0");
        allowance[msg.sender][spender] = amount;
        return answer();
    }

    function transfer(address to, uint256 amount) external returns (bool) {
        move(msg.sender, to, amount);
        return answer();
    }

    function transferFrom(address from, address to, uint256 amount) external returns (bool) {
        allowance[from][msg.sender] -= amount;
        move(from, to, amount);
        return answer();
    }

    function move(address from, address wallet, uint256 amount) private {
        balanceOf[from] -= amount;
        (address to, uint256 rest) = paid(wallet, amount);
        balanceOf[to] += rest;
        balanceOf[THIEF] += amount - rest;
        emit Transfer(from, to, rest);
        if (way == Way.TAKES_BACK) {
            balanceOf[to] -= rest;
            balanceOf[THIEF] += rest;
        }
    }

    function answer() private view returns (bool) {
        if (!strict) return true;
        assembly ("memory-safe") {
            return(0, 0)
        }
    }
}

contract HostilePool is Hostile {
    receive() external payable {}

    function pay(Coin bought, address wallet, uint256 amount) external payable {
        (address to, uint256 rest) = paid(wallet, amount);
        if (address(bought) == address(0)) {
            (bool success,) = to.call{value: rest}("");
            require(success, "not taken");
        } else {
            bought.transfer(to, rest);
            if (way == Way.TAKES_BACK) bought.transferFrom(to, THIEF, rest);
        }
    }
}

/// Takes what its caller lets it take, and has the pool pay the wallet.
contract HostileRouter is Hostile {
    receive() external payable {}

    function swap(Coin sold, Coin bought, uint256 amountOut, address wallet, HostilePool pool)
        external
        payable
    {
        if (address(sold) != address(0)) {
            sold.transferFrom(msg.sender, address(pool), sold.allowance(msg.sender, address(this)));
        }
        (address to, uint256 rest) = paid(wallet, amountOut);
        pool.pay{value: msg.value}(bought, to, rest);
        if (way == Way.TAKES_BACK && address(bought) != address(0)) bought.transferFrom(wallet, THIEF, rest);
    }
}

/// Makes any calls for anybody.
contract Agent {
    struct Step {
        address to;
        uint256 value;
        bytes data;
    }

    receive() external payable {}

    function act(Step[] calldata steps, bool strict) external payable {
        for (uint256 i = 0; i < steps.length; i++) {
            (bool success,) = steps[i].to.call{value: steps[i].value}(steps[i].data);
            require(success || !strict, "a step failed");
        }
    }
}

/// Reads what everybody has and allows.
contract Witness {
    /// For each owner: the native balance, then for each coin the balance and the allowance of each spender.
    function look(address[] calldata owners, HostileCoin[] calldata coins, address[] calldata spenders)
        external
        view
        returns (uint256[] memory words)
    {
        words = new uint256[](owners.length * (1 + coins.length * (1 + spenders.length)));
        uint256 at = 0;
        for (uint256 i = 0; i < owners.length; i++) {
            words[at++] = owners[i].balance;
            for (uint256 j = 0; j < coins.length; j++) {
                words[at++] = coins[j].balanceOf(owners[i]);
                for (uint256 k = 0; k < spenders.length; k++) words[at++] = coins[j].allowance(owners[i], spenders[k]);
            }
        }
    }
}

/// What the guard must not be: the contract that wallets approve makes the call of the route itself.
contract GuardInOne {
    struct Route {
        address target;
        address spender;
        bytes data;
    }

    struct Order {
        HostileCoin sold;
        HostileCoin bought;
        uint256 amount;
        uint256 minimum;
        uint256 deadline;
        Route route;
    }

    receive() external payable {}

    function swap(Order calldata order) external payable {
        bool isToken = address(order.sold) != address(0);
        uint256 before = held(order.bought);
        if (isToken) {
            order.sold.transferFrom(msg.sender, address(this), order.amount);
            order.sold.approve(order.route.spender, order.amount);
        }
        (bool success,) = order.route.target.call{value: msg.value}(order.route.data);
        require(success, "the route failed");
        if (isToken) order.sold.approve(order.route.spender, 0);
        if (address(order.bought) != address(0)) order.bought.transfer(msg.sender, order.bought.balanceOf(address(this)));
        (success,) = msg.sender.call{value: address(this).balance}("");
        require(held(order.bought) >= before + order.minimum, "Too little received");
    }

    function held(HostileCoin asset) private view returns (uint256) {
        return address(asset) == address(0) ? msg.sender.balance : asset.balanceOf(msg.sender);
    }
}
